"""Changes to built pages: heads of tables, shell numbers, link previews and edit links."""

import re
from typing import Final

_SHELL_NUMBER: Final = re.compile(r'<span class="m">([^<]*)</span>')
"""Numbers of shells, which have no types: other languages have the classes `mi` and `mf`."""
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
    """Return a page with heads for columns and rows, and with properties for previews of links.

    In commands, dates and versions lose the colour of numbers. `edit` is the address for editing
    the text of the page, if known.

    Screen readers announce the head of a cell (WAI, "Tables Tutorial", scope). Sites that show a
    link read its Open Graph properties (https://ogp.me), and programs the Markdown of the page.
    """
    # Pages that are files cannot load it, and their redirects are pages anyway.
    page = page.replace('"redirect":"./redirect.json"', '"redirect":null')
    page = _SHELL_NUMBER.sub(r"\1", page)
    page = _COLUMN.sub('<th scope="col"', page)
    page = _ROW.sub(r'\g<row><th scope="row"\g<attributes>>\g<text></th>', page)
    page = _ROWS.sub(_across, page)
    if edit:
        page = page.replace("</article>", f'<p><a rel="edit" href="{edit}">Edit</a></p></article>')
    link = f'<link rel="alternate" type="text/markdown" href="{name}.md">'
    return page.replace("</head>", f"{_link_preview(page)}{link}</head>", 1)


def _across(row: re.Match[str]) -> str:
    """Return the only cell of a row that heads the rows below it."""
    columns = 1 + row["rest"].count("<td")
    return f'<th scope="rowgroup" colspan="{columns}">{row["text"]}</th>'


def _link_preview(page: str) -> str:
    """Return the Open Graph properties of a page."""
    head = _HEAD.search(page)
    if head is None:
        raise ValueError("a page has no title or no description")
    said = {"title": head["title"], "description": head["about"], "type": "website"}
    return "".join(f'<meta property="og:{name}" content="{text}">' for name, text in said.items())
