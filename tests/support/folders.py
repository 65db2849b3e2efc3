"""Folders of this checkout, and the environment for processes that import from them."""

import os
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
TESTS: Final = ROOT / "tests"
GENERATED: Final = ROOT / "generated"
# Of this checkout, which may differ from the installed one.
_IMPORTED: Final = (ROOT / "codegen", GENERATED, TESTS)


def environment() -> dict[str, str]:
    """Return the environment of a process that imports our packages."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, _IMPORTED))}
