"""Files that several processes share: one writes at a time, and readers see whole files."""

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkstemp
from typing import Final

# For the user alone.
FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700


@contextmanager
def hold_lock(path: Path) -> Generator[None, None, None]:
    """Hold a lock that is of one thread of all processes; raise `OSError`."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, FILE_MODE)
    try:
        if sys.platform != "win32":
            from fcntl import LOCK_EX, flock

            # It ends when the file is closed, or the process is gone.
            flock(descriptor, LOCK_EX)
        else:
            from msvcrt import LK_LOCK, locking

            locking(descriptor, LK_LOCK, 1)
        yield
    finally:
        os.close(descriptor)


def replace_file(path: Path, content: bytes, *, modified: float | None = None) -> None:
    """Write a file, for the user alone, in place of one of that name; raise `OSError`.

    `modified` is the time of its last change, if it is to be another than now. A process that is
    killed meanwhile leaves the old file, and maybe one more whose name begins with a dot.
    """
    # A new file has the mode 0600.
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
