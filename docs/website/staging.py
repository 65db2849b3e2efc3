"""The folder that zensical builds from: pages with the links of the site, and what they need."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from website.libraries import installed
from website.links import FILES_PAGE, Links
from website.made import MADE, files
from website.navigation import START, Page, pages, sections
from website.places import HERE, ROOT

PAGES: Final = "pages"
"""The folder of pages in a staging folder, beside the settings."""


def stage(folder: Path) -> None:
    """Fill a new folder; raise `DeadLinkError` if a page links to what is not there."""
    links = Links()
    staged = folder / PAGES
    staged.mkdir(parents=True)
    for page in pages():
        (staged / f"{page.name}.md").write_text(_text(page, links), encoding="utf-8")
    for file in sorted(links.files):
        copied = staged / "files" / file
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copied)
    scripts = staged / "assets" / "libraries"
    scripts.mkdir(parents=True)
    shutil.copy(installed() / "iframe-worker/shim/index.js", scripts / "iframe-worker.js")
    (folder / "zensical.toml").write_text(_settings(), encoding="utf-8")


def _text(page: Page, links: Links) -> str:
    """The text of a page; the one that lists files is the last to be asked for."""
    if page.name == FILES_PAGE:
        return files(links)
    if page.made:
        return MADE[page.name]()
    return links.changed((ROOT / page.file).read_text(encoding="utf-8"), page.file)


def _settings() -> str:
    """The settings of zensical with the navigation; strings and lists of JSON are also TOML."""
    entries = [_entry(START), *(_section(one.title, one.pages) for one in sections() if one.pages)]
    text = (HERE / "zensical.toml").read_text(encoding="utf-8")
    return text.replace("nav = []\n", f"nav = [{', '.join(entries)}]\n")


def _section(title: str, pages: Iterable[Page]) -> str:
    return f"{{{json.dumps(title)} = [{', '.join(map(_entry, pages))}]}}"


def _entry(page: Page) -> str:
    return f"{{{json.dumps(page.title)} = {json.dumps(page.name + '.md')}}}"
