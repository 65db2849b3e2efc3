"""Files shared by processes: one process writes at a time, and readers see whole files."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Final

# Only the user may read or write.
FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


@contextmanager
def hold_lock(path: Path) -> Generator[None, None, None]:
    """Hold a lock across all threads and processes, in a folder for it; raise `OSError`."""
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        if sys.platform != "win32":
            from fcntl import LOCK_EX, flock

            # Closing the file, or the end of the process, releases it.
            flock(descriptor, LOCK_EX)
        else:
            from msvcrt import LK_LOCK, locking

            locking(descriptor, LK_LOCK, 1)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, *, modified: float | None = None) -> None:
    """Replace a file atomically, readable only by the user; raise `OSError`.

    `modified` sets its modification time. If the process is killed meanwhile, the old file stays,
    perhaps with a temporary file whose name begins with a dot.
    """
    # mkstemp creates files with mode 0600.
    descriptor, name = mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        if modified is not None:
            os.utime(name, (modified, modified))
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
