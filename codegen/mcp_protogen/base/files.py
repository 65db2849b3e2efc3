"""Files that are written completely or not at all, even after a loss of power."""

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError


def write_new(path: Path, content: bytes) -> None:
    """Create a file that must not exist yet; its bytes are on the disk when this returns."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        os.fsync(handle)
    finally:
        os.close(handle)


def replace_files(contents: Mapping[Path, bytes]) -> None:
    """Write each content to its path, creating folders, so that readers see old or new files.

    Everything is on the disk before the first name changes, so that a lack of space or permissions
    fails before that. The names then change one after another, in the given order.
    """
    staged = {path.with_name(f".{path.name}.{os.getpid()}"): path for path in contents}
    try:
        for temporary, path in staged.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            # In containers, a killed run may have had the same process id as this one.
            temporary.unlink(missing_ok=True)
            write_new(temporary, contents[path])
        for temporary, path in staged.items():
            os.replace(temporary, path)
    finally:
        for temporary in staged:
            temporary.unlink(missing_ok=True)
    for folder in {path.parent for path in contents}:
        sync_folder(folder)


@contextmanager
def writing(place: Path, hint: str = "") -> Generator[None, None, None]:
    """Turn a refusal of the operating system into one problem that names the file."""
    try:
        yield
    except OSError as error:
        name = str(error.filename2 or error.filename or place)
        message = f"{error.strerror or error}; nothing was changed"
        raise ProblemError(Problem("cannot-write", message, name, hint=hint)) from error


def sync_folder(folder: Path) -> None:
    """Make renames and new names in `folder` durable, if the system can do that."""
    if os.name != "nt":  # a folder cannot be opened there; NTFS journals its names by itself
        sync(folder)


def sync(path: Path) -> None:
    """Wait until the file (or folder, on POSIX) at `path` is on the disk."""
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
