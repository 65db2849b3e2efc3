"""Pages for programs that read text: `llms.txt`, `llms-full.txt`, and each page as Markdown.

The formats are those of https://llmstxt.org; the order is that of the navigation.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from website.links import outside_code
from website.navigation import EXPLORER, START, SUMMARY, Page, sections

_PAGE: Final = re.compile(r"(?<=\]\()(?P<name>[\w-]+)\.md(?=[#)])")


def write(folder: Path, pages: Mapping[str, str]) -> None:
    """Write all of them into the folder of the site, from the pages by name."""
    texts = {name: _add_links(text) for name, text in pages.items()}
    for name, text in texts.items():
        (folder / f"{name}.html.md").write_text(text, encoding="utf-8")
    (folder / "llms.txt").write_text(_overview(), encoding="utf-8")
    (folder / "llms-full.txt").write_text(_everything(texts), encoding="utf-8")


def _add_links(text: str) -> str:
    """Return a page with links to the Markdown of others."""
    return outside_code(text, lambda prose: _PAGE.sub(r"\g<name>.html.md", prose))


def _overview() -> str:
    tool = f"- [{EXPLORER.title}]({EXPLORER.address}): {EXPLORER.about}"
    lines = ["# mcp-gen\n", f"> {SUMMARY}\n", "## Start\n", _line(START), f"{tool}\n"]
    for section in sections():
        lines.append(f"## {section.title}\n")
        lines += map(_line, section.pages)
        lines.append("")
    return "\n".join(lines)


def _line(page: Page) -> str:
    return f"- [{page.title}]({page.name}.html.md): {page.about}"


def _everything(texts: Mapping[str, str]) -> str:
    parts = (f"<!-- {name}.html -->\n\n{text.strip()}\n" for name, text in texts.items())
    return "\n".join(parts)
