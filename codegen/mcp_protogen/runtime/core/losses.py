"""Losses of a translation, and their reports."""

import re
from collections.abc import Callable, Iterable
from logging import getLogger
from typing import Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

What: TypeAlias = Literal["dropped", "moved", "replaced", "refused"]

_log: Final = getLogger(__name__)

_LONGEST: Final = 200
_KINDS: Final = 1000

_INDEX: Final = re.compile(r"/\d+(?=/|$)")


class Loss(NamedTuple):
    """A part of the input that the output lacks or expresses differently.

    `pointer` is a JSON pointer into the input. A `harmless` loss removes no information: the
    destination says the same in another way, or implies it. On a connection, `method` is that of
    the message, `own` the revision of this side and `wire` that of the peer; both are empty for
    repairs by a lenient client (`Options.lenient`).
    """

    pointer: str
    what: What
    why: str
    harmless: bool = False
    method: str = ""
    own: str = ""
    wire: str = ""


class Translated(NamedTuple, Generic[T]):
    """A translated value, with the losses."""

    value: T
    losses: tuple[Loss, ...] = ()


class LossReport:
    """A reporter of the losses of one connection, to a callback and the log, each kind once.

    Losses that differ only in array indices are one kind, except entries removed by repairs.
    """

    def __init__(
        self, own: str, wire: str, callback: Callable[[Loss], object] | None = None
    ) -> None:
        self._own = own
        self._wire = wire
        self._callback = callback
        self._seen: set[tuple[str, str, str]] = set()

    def take(self, method: str, losses: Iterable[Loss]) -> None:
        for loss in losses:
            translated = bool(self._wire)
            alike = translated or loss.harmless
            place = (_INDEX.sub("/*", loss.pointer) if alike else loss.pointer)[:_LONGEST]
            kind = (method, place, loss.why)
            if kind in self._seen or len(self._seen) >= _KINDS:
                continue
            self._seen.add(kind)
            # The peer chooses the names: repr keeps line breaks in them out of the log.
            between = f" between {self._own} and {self._wire}" if translated else ""
            _log.warning("%s: %r was %s%s: %s", method, place, loss.what, between, loss.why)
            if self._callback is not None:
                try:
                    self._callback(loss._replace(method=method, own=self._own, wire=self._wire))
                except Exception:
                    _log.exception("the callback for losses failed")
