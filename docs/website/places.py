"""Where things are in this checkout."""

from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
DOCS: Final = ROOT / "docs"
ASSETS: Final = HERE / "assets"
SITE: Final = ROOT / "build" / "site"
