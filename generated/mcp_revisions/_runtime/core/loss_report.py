"""Reports of losses, to a callback and to the log, each kind once."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from logging import getLogger
from typing import Final

from .losses import Loss

_log: Final = getLogger(__name__)

_LONGEST: Final = 200
_KINDS: Final = 1000

_INDEX: Final = re.compile(r"/\d+(?=/|$)")


class LossReport:
    """A reporter of losses, which reports each kind once.

    Losses are of the same kind if method, reason and place are the same; array indices do not
    count.
    """

    def __init__(
        self, own: str, wire: str, callback: Callable[[Loss], object] | None = None
    ) -> None:
        self._own = own
        self._wire = wire
        self._callback = callback
        self._seen: set[tuple[str, str, str]] = set()

    def take(self, method: str, losses: Iterable[Loss]) -> None:
        """Report the losses of one message, if they are of a new kind."""
        for loss in losses:
            place = _INDEX.sub("/*", loss.pointer)[:_LONGEST]
            kind = (method, place, loss.why)
            # The peer chooses some of the names, so there may be any number of kinds.
            if kind not in self._seen and len(self._seen) < _KINDS:
                self._seen.add(kind)
                self._tell(method, place, loss)

    def _tell(self, method: str, place: str, loss: Loss) -> None:
        parts = (method, place, loss.what, self._own, self._wire, loss.why)
        # The peer chooses the names: repr keeps line breaks in them out of the log.
        _log.warning("%s: %r was %s between %s and %s: %s", *parts)
        if self._callback is not None:
            try:
                self._callback(replace(loss, method=method, own=self._own, wire=self._wire))
            except Exception:
                _log.exception("the callback for losses failed")
