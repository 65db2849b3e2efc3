"""The explorer as files in a folder."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import templates_folder

from website.explorer.data import all_data
from website.scripts import bundle

ASSETS: Final = Path(__file__).parents[1] / "assets" / "explorer"
_COPIED: Final = (ASSETS / "index.html", ASSETS.parent / "favicon.svg")
_STYLES: Final = (templates_folder() / "compare" / "base.css", ASSETS / "explorer.css")
_SCRIPTS: Final = {"main.js": "explorer.js", "judging/page.js": "judge.js"}
"""Our modules from which a script is made, and the script: the page, and the judge of messages."""


def write(folder: Path) -> None:
    """Write the page, its scripts and its data into a folder, which is made if needed.

    Raise `RuntimeError` if the libraries of others cannot be installed, and they are not yet.
    """
    shutil.rmtree(folder / "data", ignore_errors=True)  # an earlier one may have had more
    (folder / "data").mkdir(parents=True)
    for file in _COPIED:
        shutil.copyfile(file, folder / file.name)
    style = "\n".join(file.read_text(encoding="utf-8") for file in _STYLES)
    (folder / "explorer.css").write_text(style, encoding="utf-8")
    bundle({ASSETS / module: folder / script for module, script in _SCRIPTS.items()})
    for name, value in all_data():
        (folder / "data" / f"{name}.js").write_text(script_of(name, value), encoding="utf-8")


def script_of(name: str, value: Any) -> str:
    """Return a script that hands a value to the page, which may be opened as a file."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # Parsing a text is faster than a literal of that size, and cannot run anything.
    return f"mcpExplorer.receive({json.dumps(name)}, {json.dumps(text, ensure_ascii=False)});\n"
