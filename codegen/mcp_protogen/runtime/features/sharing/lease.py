"""The lease of a worker, as it knows it itself."""

import time
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final


def _clock() -> Callable[[], float]:
    """Return a clock that nobody sets, and that goes on while the process or the machine stops."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    return time.monotonic


now: Final = _clock()


class Lease:
    """Whether others count on being heard by this worker, which they do at least so long."""

    def __init__(self, seconds: float) -> None:
        self.seconds: Final = seconds
        self._renewed = -inf

    @property
    def current(self) -> bool:
        return now() - self._renewed < self.seconds

    @property
    def wait(self) -> float:
        """The seconds until it has to be renewed, which is at a third of its time."""
        return max(self._renewed + self.seconds / 3 - now(), 0.0)

    def renew(self, asked: float) -> None:
        self._renewed = asked

    def end(self) -> None:
        self._renewed = -inf
