"""The places of the data files: inside an installed wheel, or at the top of a checkout."""

from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parents[1]


@cache
def folder(name: str) -> Path:
    """Return the `schema` or `templates` folder that belongs to this installation."""
    packaged = _HERE / name
    return packaged if packaged.is_dir() else _HERE.parents[1] / name


def schema_folder() -> Path:
    """Return the folder of pins, snapshots, patches, facts and descriptions."""
    return folder("schema")


def templates_folder() -> Path:
    """Return the Jinja templates of generated packages."""
    return folder("templates")


def runtime_folder() -> Path:
    """Return the runtime that is copied, byte for byte, into every generated package."""
    return _HERE / "runtime"


def runtime_files() -> list[Path]:
    """Return the files of a copy of the runtime: its modules, licence and notice."""
    runtime = runtime_folder()
    modules = (path for path in runtime.rglob("*.py") if "__pycache__" not in path.parts)
    return sorted([*modules, runtime / "LICENSE", runtime / "NOTICE"])
