"""One run at a time in a folder, by a lock that ends with its process.

A record lock on a file keeps processes apart. Unlike `flock`, worker processes, which may outlive
a killed run, do not inherit it. It has no effect inside one process, so a lock in memory keeps
threads apart.
"""

import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from errno import EPERM
from pathlib import Path

from mcp_protogen.base.private_files import is_own
from mcp_protogen.base.problems import Problem, ProblemError

WAIT_SECONDS = 60.0
_POLL_SECONDS = 0.05
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)

_threads: dict[Path, threading.Lock] = {}


@contextmanager
def exclusive_lock(folder: Path) -> Generator[None, None, None]:
    """Create `folder` if needed and hold it; remove it afterwards if nothing else is in it.

    Wait for another holder. Raise `ProblemError` (`folder-busy`) after 60 seconds, and `OSError` if
    the folder or its lock file cannot be made.
    """
    deadline = time.monotonic() + WAIT_SECONDS
    thread = _threads.setdefault(Path(os.path.realpath(folder)), threading.Lock())
    if not thread.acquire(timeout=WAIT_SECONDS):
        raise _busy(folder)
    try:
        handle = _acquire(folder, deadline)
        try:
            yield
        finally:
            _release(folder, handle)
    finally:
        thread.release()


def _acquire(folder: Path, deadline: float) -> int:
    while time.monotonic() < deadline:
        with suppress(FileExistsError):
            folder.mkdir()
        with suppress(FileNotFoundError):
            if not is_own(folder.lstat()):  # others could exchange the prepared files
                raise OSError(EPERM, "this is a link, or belongs to another user", str(folder))
        try:
            handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | _NO_LINK, 0o666)
        except FileNotFoundError:  # its holder has just removed the folder
            continue
        if _try_lock(handle) and _still_there(folder / "lock", handle):
            return handle
        os.close(handle)
        time.sleep(_POLL_SECONDS)
    raise _busy(folder)


def _release(folder: Path, handle: int) -> None:
    try:
        if os.name != "nt":
            (folder / "lock").unlink(missing_ok=True)
    finally:
        os.close(handle)
    with suppress(OSError):  # another run holds it now, or left files in it
        if os.name == "nt":  # where an open file cannot be removed
            (folder / "lock").unlink(missing_ok=True)
        folder.rmdir()


def _try_lock(handle: int) -> bool:
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _still_there(path: Path, handle: int) -> bool:
    """Return whether the locked file still has this path: its last holder may have removed it."""
    with suppress(FileNotFoundError):
        return os.path.samestat(path.stat(), os.fstat(handle))
    return False


def _busy(folder: Path) -> ProblemError:
    message = f"another run has been busy here for {WAIT_SECONDS:.0f} seconds"
    return ProblemError(Problem("folder-busy", message, str(folder)))
