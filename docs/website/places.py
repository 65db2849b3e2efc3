"""Places in this checkout."""

import tomllib
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
DOCS: Final = ROOT / "docs"
ASSETS: Final = HERE / "assets"
SITE: Final = ROOT / "build" / "site"


def address(name: str, project: Path = ROOT / "pyproject.toml") -> str:
    """Return an address of the project, or nothing without it in `[project.urls]`.

    `Documentation` is the address of the site, and `Source` that of the repository. Labels:
    https://packaging.python.org/en/latest/specifications/well-known-project-urls/.
    """
    settings = tomllib.loads(project.read_text(encoding="utf-8"))
    found: str = settings["project"].get("urls", {}).get(name, "")
    return found.rstrip("/")
