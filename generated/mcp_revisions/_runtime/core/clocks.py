"""The time of day for what one process alone keeps."""

from time import monotonic, time
from typing import Final

_BEGAN: Final = time() - monotonic()


def steady_time() -> float:
    """Return the seconds since the epoch, by a clock that nobody sets while the process runs.

    It differs from the time of day by as much as that was set since this module was imported, so
    it is not for what several processes compare.
    """
    return _BEGAN + monotonic()
