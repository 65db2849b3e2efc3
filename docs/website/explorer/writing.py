"""The explorer as files in a folder."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import templates_folder

from website.explorer.data import all_data
from website.navigation import sections
from website.scripts import bundle

ASSETS: Final = Path(__file__).parents[1] / "assets" / "explorer"
_STYLES: Final = (templates_folder() / "compare" / "base.css", ASSETS / "explorer.css")
_SCRIPTS: Final = {"main.js": "explorer.js", "judging/page.js": "judge.js"}
"""The scripts of the page and of the judge of messages, by their modules."""


def write(folder: Path) -> None:
    """Write the page, its scripts and its data into a folder; create it if needed.

    Raise `RuntimeError` if libraries are missing and cannot be installed.
    """
    shutil.rmtree(folder / "data", ignore_errors=True)  # an earlier one may have had more
    (folder / "data").mkdir(parents=True)
    page = (ASSETS / "index.html").read_text(encoding="utf-8")
    page = page.replace("<!-- sections -->", _section_links())
    (folder / "index.html").write_text(page, encoding="utf-8")
    shutil.copy(ASSETS.parent / "favicon.svg", folder)
    style = "\n".join(file.read_text(encoding="utf-8") for file in _STYLES)
    (folder / "explorer.css").write_text(style, encoding="utf-8")
    bundle({ASSETS / module: folder / script for module, script in _SCRIPTS.items()})
    for name, value in all_data():
        (folder / "data" / f"{name}.js").write_text(script_of(name, value), encoding="utf-8")


def _section_links() -> str:
    """Return links to the first pages of the site's sections."""
    return "".join(
        f'<li><a href="../{section.pages[0].name}.html">{section.title}</a></li>'
        for section in sections()
        if section.pages
    )


def script_of(name: str, value: Any) -> str:
    """Return a script that gives a value to the page, which may be opened as a file."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Parsing a text is faster than a literal of that size, and cannot run anything.
    return f"mcpExplorer.receive({json.dumps(name)}, {json.dumps(text, ensure_ascii=False)});\n"
