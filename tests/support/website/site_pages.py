"""The site, built once in a run, and the content of its pages.

Most pages are built with only headings and links, except in a run of everything: rendering a page
takes long. Pages in `WHOLE` are complete.
"""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import pytest
from support import tables
from support.made_once import once
from support.website.explorer import explorer
from website import navigation
from website.building import build
from website.staging import stage

_LOOKED_INTO: Final = (
    *("index", "negotiation", "protocol"),
    *("reference-commands", "reference-settings"),
)
"""Pages that tests have something to say of."""
_OTHERS: Final = [
    page.name
    for page in navigation.pages()
    if page.name not in _LOOKED_INTO and page.name != "files"
]
WHOLE: Final = (*_LOOKED_INTO, *tables.some(_OTHERS, 8, "pages"))
_FENCED: Final = re.compile(r"^ *(```+|~~~+).*?^ *\1 *$", re.M | re.S)
_KEPT: Final = re.compile(r"^#.*$|!?\[[^\[\]]*\]\([^)\s]*\)", re.M)

_LOADED: Final = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}


def site() -> Path:
    """Return the folder of the site, built by the first process of a run that needs it."""
    made_before = explorer("the site")

    def make() -> str:
        folder = Path(os.environ["MADE_ONCE"]) / "site"
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("website.building.stage", _stage_site)
            build(folder, write_explorer=lambda place: shutil.copytree(made_before, place))
        return str(folder)

    return Path(once("site", make))


def _stage_site(folder: Path, url: str) -> Mapping[str, str]:
    """Stage the site, keeping only headings and links in pages outside `WHOLE`."""
    pages = stage(folder, url)
    for name in pages.keys() - {*WHOLE}:
        file = folder / "pages" / f"{name}.md"
        head, mark, text = file.read_text(encoding="utf-8").partition("\n---\n")
        kept = "\n\n".join(_KEPT.findall(_FENCED.sub("", text)))
        file.write_text(f"{head}{mark}{kept}\n", encoding="utf-8")
    return pages


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.tags: list[str] = []
        self.code: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("code", "pre"):
            self._inside.append(tag)
        given = {name: value or "" for name, value in attrs}
        self.ids.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        address = given.get(_LOADED.get(tag, ""))
        if address and given.get("rel") not in ("alternate", "canonical", "prev", "next"):
            self.loaded.append(address)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("code", "pre"):
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside == ["code"]:
            self.code.append(" ".join(data.split()))


@dataclass(frozen=True, slots=True)
class Built:
    """The parts of a page that tests look at."""

    ids: frozenset[str]
    links: tuple[str, ...]
    loaded: tuple[str, ...]
    """The addresses of what a browser loads with it."""
    tags: tuple[str, ...]
    code: tuple[str, ...]
    """The pieces of code in its text."""


@cache
def page(file: Path) -> Built:
    return _read(file.read_text(encoding="utf-8"))


@cache
def content(file: Path) -> Built:
    """Return the content of a page without navigation and search."""
    text = file.read_text(encoding="utf-8")
    found = re.search(r'<a id="__skip".*?</a>(.*?)</article>', text, re.S)
    assert found is not None, file
    return _read(found[1])


def content_of(html: str) -> Built:
    return _read(html)


def search_index() -> list[dict[str, Any]]:
    """The entries of the search index, from the script that pages load it with."""
    text = (site() / "search.js").read_text(encoding="utf-8")
    entries: list[dict[str, Any]] = json.loads(text.partition("=")[2].strip().rstrip(";"))["items"]
    return entries


def dead(file: Path) -> list[str]:
    """Return the links of a page to missing files or places."""
    return [link for link in content(file).links if not _leads_somewhere(file, link)]


def _leads_somewhere(file: Path, link: str) -> bool:
    if re.match(r"[a-z][a-z0-9+.-]*:", link):
        return True
    path, _, anchor = link.partition("#")
    linked_file = (file.parent / unquote(path)).resolve() if path else file
    if linked_file.is_dir():
        linked_file = linked_file / "index.html"
    if not linked_file.is_file():
        return False
    return (
        not anchor or linked_file.suffix != ".html" or unquote(anchor) in content(linked_file).ids
    )


def _read(html: str) -> Built:
    reader = _Reader()
    reader.feed(html)
    read = (reader.links, reader.loaded, reader.tags, reader.code)
    return Built(frozenset(reader.ids), *map(tuple, read))
