"""What built pages get that zensical does not write."""

import re
from typing import Final

_COLUMN: Final = re.compile(r"<th(?=[ >])(?! scope)")
_ROW: Final = re.compile(r"(?P<row><tr>\s*)<td(?P<attributes>[^>]*)>(?P<text>.*?)</td>", re.S)


def finished(name: str, page: str) -> str:
    """Return a page with the heads of its columns and rows, and with where its Markdown is.

    Readers of screens say what heads a cell (WAI, "Tables Tutorial", scope).
    """
    page = _COLUMN.sub('<th scope="col"', page)
    page = _ROW.sub(r'\g<row><th scope="row"\g<attributes>>\g<text></th>', page)
    link = f'<link rel="alternate" type="text/markdown" href="{name}.md">'
    return page.replace("</head>", f"{link}</head>", 1)
