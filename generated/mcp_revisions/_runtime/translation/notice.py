"""Telling about losses: to a callback and to the log, each kind once."""

import re
from collections.abc import Callable, Iterable
from logging import getLogger
from typing import Final, NamedTuple

from .losses import Loss

_log: Final = getLogger(__name__)

_LONGEST: Final = 200
_KINDS: Final = 1000

_INDEX: Final = re.compile(r"/\d+(?=/|$)")


class Lost(NamedTuple):
    """A loss on a connection: which revisions it lies between, and in which message."""

    own: str
    wire: str
    method: str
    loss: Loss


class Notice:
    """Is told of losses, and tells others of each kind once.

    Losses are of one kind if method, reason and place are the same, wherever in an array it is.
    """

    def __init__(
        self, own: str, wire: str, callback: Callable[[Lost], object] | None = None
    ) -> None:
        self._own = own
        self._wire = wire
        self._callback = callback
        self._seen: set[tuple[str, str, str]] = set()

    def take(self, method: str, losses: Iterable[Loss]) -> None:
        """Take note of what one message has lost."""
        for loss in losses:
            place = _INDEX.sub("/*", loss.pointer)[:_LONGEST]
            kind = (method, place, loss.why)
            # A peer chooses some of the names, so that there is no end of them.
            if kind not in self._seen and len(self._seen) < _KINDS:
                self._seen.add(kind)
                self._tell(method, place, loss)

    def _tell(self, method: str, place: str, loss: Loss) -> None:
        parts = (method, place, loss.what, self._own, self._wire, loss.why)
        # Names are the peer's: whatever is in them stays within the line.
        _log.warning("%s: %r was %s between %s and %s: %s", *parts)
        if self._callback is not None:
            try:
                self._callback(Lost(self._own, self._wire, method, loss))
            except Exception:
                _log.exception("the callback for losses failed")
