"""The lease of a worker, in its own view."""

import time
from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

now: Final[Callable[[], float]] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)
"""A clock that cannot be set, and that goes on while the machine sleeps, if it has one."""


class Lease:
    """Whether other workers still expect this one to receive messages."""

    def __init__(self, seconds: float) -> None:
        self.seconds: Final = seconds
        self._renewed = -inf

    @property
    def current(self) -> bool:
        return now() - self._renewed < self.seconds

    @property
    def wait(self) -> float:
        """The seconds until it must be renewed, at a third of its time."""
        return max(self._renewed + self.seconds / 3 - now(), 0.0)

    def renew(self, asked: float) -> None:
        self._renewed = asked

    def end(self) -> None:
        self._renewed = -inf
