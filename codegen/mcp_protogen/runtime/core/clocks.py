"""The time of day within one process."""

from time import monotonic, time
from typing import Final

_BEGAN: Final = time() - monotonic()


def steady_time() -> float:
    """Return the seconds since the epoch, by a clock that never jumps while the process runs.

    If the system time was set since this module was imported, the two differ. Do not compare this
    time across processes.
    """
    return _BEGAN + monotonic()
