"""Folders of this checkout, and the environment for processes that import from them."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from fcntl import LOCK_EX, flock
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


@contextmanager
def alone(place: Path) -> Generator[None, None, None]:
    """Let one process after the other make what belongs in a place."""
    with place.with_suffix(".lock").open("w") as lock:
        flock(lock, LOCK_EX)
        yield
