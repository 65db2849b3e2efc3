"""The folder that zensical builds from: pages with the links of the site, and their files."""

import json
import re
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from website.dialect import for_zensical, plain
from website.drawings.svg import with_drawings
from website.links import FILES_PAGE, DeadLinkError, Links
from website.made import MADE, files
from website.navigation import EXPLORER, RENAMED, START, SUMMARY, Page, pages, sections
from website.places import ASSETS, HERE, ROOT
from website.scripts import libraries

_PAGES: Final = "pages"
_HEADING: Final = re.compile(r"^# (.+?)(?: \{ #\S+ \})?$", re.M)


def stage(folder: Path, url: str) -> Mapping[str, str]:
    """Fill a new folder, and return the pages by name, as Markdown for readers.

    Raise `DeadLinkError` for dead links, `UndrawnError` for drawings that are not made from tables,
    and `RuntimeError` without the libraries.
    """
    links = Links()
    staged = folder / _PAGES
    staged.mkdir(parents=True)
    texts = {page.name: _text(page, links) for page in pages()}
    if links.dead:
        raise DeadLinkError("\n".join(links.dead))
    for page in pages():
        text = for_zensical(with_drawings(texts[page.name]))
        (staged / f"{page.name}.md").write_text(f"{_about(page, text)}{text}", encoding="utf-8")
    for file in sorted(links.files):
        copied = staged / "files" / file
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copied)
    scripts = staged / "assets" / "libraries"
    scripts.mkdir(parents=True)
    for name in ("site.css", "favicon.svg", "search-on-demand.js"):
        shutil.copy(ASSETS / name, staged / "assets")
    shutil.copy(libraries() / "iframe-worker/shim/index.js", scripts / "iframe-worker.js")
    (folder / "zensical.toml").write_text(_settings(url), encoding="utf-8")
    return {name: plain(text) for name, text in texts.items()}


def _text(page: Page, links: Links) -> str:
    """Return the text of a page; call it for the page of files last."""
    if page.name == FILES_PAGE:
        return files(links)
    if page.made:
        return MADE[page.name]()
    return links.rewrite((ROOT / page.file).read_text(encoding="utf-8"), page.file)


def _about(page: Page, text: str) -> str:
    """Return the head of a page, for tabs, search engines and previews of links."""
    heading = _HEADING.findall(text)[0].replace("`", "")
    said = {"title": heading, "description": f"{heading}: {page.about.replace('`', '')}."}
    if page == START:
        said = {"title": "Typed Python for the Model Context Protocol", "description": SUMMARY}
    lines = (f"{name}: {json.dumps(value)}\n" for name, value in said.items())
    return f"---\n{''.join(lines)}---\n\n"


def _settings(url: str) -> str:
    """Return the settings of zensical with navigation and redirects.

    JSON of strings and lists is TOML.
    """
    tool = f"{{{json.dumps(EXPLORER.title)} = {json.dumps(EXPLORER.address)}}}"
    entries = [
        _entry(START),
        tool,
        *(_section(section.title, section.pages) for section in sections() if section.pages),
    ]
    text = (HERE / "zensical.toml").read_text(encoding="utf-8")
    place = f"site_url = {json.dumps(url)}\n" if url else ""
    text = text.replace("nav = []\n", f"{place}nav = [{', '.join(entries)}]\n")
    renamed = (f'"{old}.md" = "{new}.md"' for old, new in RENAMED.items())
    return text.replace("redirect_maps = {}", f"redirect_maps = {{{', '.join(renamed)}}}")


def _section(title: str, pages: Iterable[Page]) -> str:
    return f"{{{json.dumps(title)} = [{', '.join(map(_entry, pages))}]}}"


def _entry(page: Page) -> str:
    return f"{{{json.dumps(page.title)} = {json.dumps(page.name + '.md')}}}"
