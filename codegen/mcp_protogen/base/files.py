"""Files that are written completely or not at all, even after a loss of power."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError


def write_new(path: Path, content: bytes, *, mode: int = 0o666, durable: bool = True) -> None:
    """Create a file that must not exist yet; `durable` waits until its bytes are on the disk."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(handle, rest) :]
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


def link_or_copy(source: Path, destination: Path) -> None:
    """Give a file a second name, or copy it where that is impossible; a link stays a link."""
    if source.is_symlink():
        os.symlink(os.readlink(source), destination)
        return
    try:
        os.link(source, destination)
    except OSError:  # a file system without hard links, or a file of another user
        from shutil import copy2

        copy2(source, destination)
        sync(destination)


@contextmanager
def writing(place: Path, hint: str = "") -> Generator[None, None, None]:
    """Turn `OSError` into a problem (`cannot-write`) that names the file."""
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
