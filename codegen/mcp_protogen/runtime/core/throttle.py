"""A throttle for log entries that a peer can cause without limit."""

from time import monotonic
from typing import Final

# As in `logging`, whose import is slow.
_INFO: Final = 20
_WARNING: Final = 30

_FIRST: Final = 5
_PERIOD: Final = 60.0


class Throttle:
    """A named logger that passes on the first five entries with the same text in a minute.

    After these come the tenth, the hundredth and so on, with their number.
    """

    __slots__ = ("_kinds", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._kinds: dict[str, tuple[float, int]] = {}

    def info(self, text: str, *args: object) -> None:
        self._log(_INFO, text, args)

    def warning(self, text: str, *args: object) -> None:
        self._log(_WARNING, text, args)

    def _log(self, level: int, text: str, args: tuple[object, ...]) -> None:
        from logging import getLogger

        logger = getLogger(self._name)
        if not logger.isEnabledFor(level):
            return
        now = monotonic()
        began, before = self._kinds.get(text, (now, 0))
        if now - began >= _PERIOD:
            began, before = now, 0
        self._kinds[text] = began, before + 1
        # This level of the stack is the caller.
        if before < _FIRST:
            logger.log(level, text, *args, stacklevel=3)
        elif str(before + 1).strip("0") == "1":
            summed = f"{text} (%d of these within a minute; most are not logged)"
            logger.log(level, summed, *args, before + 1, stacklevel=3)
