"""Links of pages, changed for the site.

In the checkout, pages link to files beside them. In the site, all pages are in one flat folder, and
other files are copied to `files/`. The page of files has a heading for each folder, with its files.
A link whose text is the file of a page gets the title of the page.
"""

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from website.navigation import EXPLORER, pages
from website.places import ROOT

FILES_PAGE: Final = "files"
_EXPLORER: Final = "docs/website/explorer"
"""The target of links to the explorer, which has no page in the checkout."""
_CODE: Final = re.compile(r"^ *(?P<fence>```+|~~~+).*?^ *(?P=fence) *$|`+[^`]+`+", re.M | re.S)
_LINK: Final = re.compile(r"(?<=\]\()(?P<target>[^)\s]+)(?=[)\s])")
_NAMED: Final = re.compile(r"\[[\w./-]+\.md\]\((?P<path>[^)#\s]+)")
_ELSEWHERE: Final = re.compile(r"[a-z][a-z0-9+.-]*:|#")


class DeadLinkError(Exception):
    """Pages have dead links; the text has each of them on a line."""


@dataclass(slots=True)
class Links:
    """Changes links, and notes their files, their folders and dead links."""

    files: set[str] = field(default_factory=set[str])
    folders: set[str] = field(default_factory=set[str])
    dead: list[str] = field(default_factory=list[str])

    def rewrite(self, text: str, file: str) -> str:
        """Return the text of a file with the links of the site."""

        def add_title(link: re.Match[str]) -> str:
            page = _PAGES.get(_place(link["path"], file))
            return f"[{page.title}]({link['path']}" if page else link[0]

        def change(prose: str) -> str:
            return _LINK.sub(
                lambda link: self._resolve(link[0], file), _NAMED.sub(add_title, prose)
            )

        return outside_code(text, change)

    def _resolve(self, link: str, file: str) -> str:
        if _ELSEWHERE.match(link):
            return link
        path, mark, anchor = link.partition("#")
        place = _place(path, file)
        if place in _PAGES:
            return f"{_PAGES[place].name}.md{mark}{anchor}"
        if place == _EXPLORER:
            return EXPLORER.address
        if (ROOT / place).is_dir():
            self.folders.add(place)
            return f"{FILES_PAGE}.md#{heading_id(place)}"
        if not (ROOT / place).is_file() or place.endswith(".md"):
            self.dead.append(f"{file} links to {link}, which is not on the site")
        self.files.add(place)
        return f"files/{place}"


def outside_code(text: str, change: Callable[[str], str]) -> str:
    """Return a text of Markdown with all parts outside code changed."""
    return "".join(part if code else change(part) for code, part in _parts(text))


def heading_id(heading: str) -> str:
    """Return the anchor of a heading, on git hosts and in the site."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _parts(text: str) -> Iterator[tuple[bool, str]]:
    end = 0
    for code in _CODE.finditer(text):
        yield False, text[end : code.start()]
        yield True, code[0]
        end = code.end()
    yield False, text[end:]


def _place(path: str, file: str) -> str:
    """Return where a path in a file leads, both from the root of the checkout."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


_PAGES: Final = {page.file: page for page in pages() if not page.made}
