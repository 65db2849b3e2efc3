"""Files that only this user can have written."""

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# A pipe is opened without waiting for its writer, and then refused.
_ENTRY = _FLAGS | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_IS_WINDOWS = sys.platform == "win32"
_BY_NAME = os.open not in os.supports_dir_fd  # as on Windows
_OTHERS = stat.S_IWGRP | stat.S_IWOTH


def read_private(path: Path, *, used: bool = False) -> bytes | None:
    """Return the content of a file that only this user can have put there; None otherwise.

    Folder and file are opened once and then checked and read through their handles, because names
    may lead elsewhere a moment later. With `used`, the file's time becomes the present.
    """
    try:
        handle = _open(path)
    except OSError:
        return None
    with open(handle, "rb") as file:
        if not _is_private(os.fstat(handle), stat.S_IFREG):
            return None
        if used:
            with suppress(OSError):
                os.utime(handle if os.utime in os.supports_fd else path)
        return file.read()


def _open(path: Path) -> int:
    """Open the file; raise `OSError`, also if other users can write to its folder."""
    if _BY_NAME:
        return os.open(path, _ENTRY)
    folder = os.open(path.parent, _FLAGS | os.O_DIRECTORY)
    try:
        if not _is_private(os.fstat(folder), stat.S_IFDIR):
            raise PermissionError(path.parent)
        return os.open(path.name, _ENTRY, dir_fd=folder)
    finally:
        os.close(folder)


def is_own(found: os.stat_result) -> bool:
    """Return whether this is a file or folder of this user, and not a link."""
    own = _IS_WINDOWS or found.st_uid == os.geteuid()
    return own and (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def _is_private(found: os.stat_result, kind: int) -> bool:
    # A profile of Windows belongs to its user alone, and files have no modes.
    private = _IS_WINDOWS or not found.st_mode & _OTHERS
    return private and is_own(found) and stat.S_IFMT(found.st_mode) == kind
