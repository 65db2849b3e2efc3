"""What built pages get that zensical does not write."""

import re
from typing import Final

_COLUMN: Final = re.compile(r"<th(?=[ >])(?! scope)")
_HEAD: Final = re.compile(
    r'<meta name="description" content="(?P<about>[^"]*)">.*?<title>(?P<title>[^<]*)</title>', re.S
)
_ROW: Final = re.compile(r"(?P<row><tr>\s*)<td(?P<attributes>[^>]*)>(?P<text>.*?)</td>", re.S)
_ROWS: Final = re.compile(
    r'<th scope="row">(?P<text><strong>[^<]*</strong>)</th>'
    r"(?P<rest>(?:\s*<td[^>]*></td>)+)(?=\s*</tr>)"
)


def finish_page(name: str, page: str, edit: str = "") -> str:
    """Return a page with the heads of its columns and rows, and with what others show of it.

    `edit` is where its text can be edited, if that is known.

    Readers of screens say what heads a cell (WAI, "Tables Tutorial", scope). Sites that show a link
    read its Open Graph properties (https://ogp.me), and programs the Markdown of the page.
    """
    page = _COLUMN.sub('<th scope="col"', page)
    page = _ROW.sub(r'\g<row><th scope="row"\g<attributes>>\g<text></th>', page)
    page = _ROWS.sub(_across, page)
    if edit:
        page = page.replace("</article>", f'<p><a rel="edit" href="{edit}">Edit</a></p></article>')
    link = f'<link rel="alternate" type="text/markdown" href="{name}.md">'
    return page.replace("</head>", f"{_link_preview(page)}{link}</head>", 1)


def _across(row: re.Match[str]) -> str:
    """The only cell of a row that says what the rows below it are about."""
    columns = 1 + row["rest"].count("<td")
    return f'<th scope="rowgroup" colspan="{columns}">{row["text"]}</th>'


def _link_preview(page: str) -> str:
    """The properties by which others show a link to the page."""
    head = _HEAD.search(page)
    if head is None:
        raise ValueError("a page has no title, or does not say what it is about")
    said = {"title": head["title"], "description": head["about"], "type": "website"}
    return "".join(f'<meta property="og:{name}" content="{text}">' for name, text in said.items())
