"""Log entries about what a peer may do without end, of which not all are worth keeping."""

from collections.abc import Callable
from logging import INFO, WARNING, Logger
from time import monotonic
from typing import Final

# So many entries of a kind are logged in a period, whatever comes.
_FIRST: Final = 5
_PERIOD: Final = 60.0


class Throttle:
    """Passes entries on to `logger`: of each kind, which is its text, the first few in a minute.

    After these the tenth, the hundredth and so on, which say how many there were.
    """

    __slots__ = ("_clock", "_kinds", "_logger")

    def __init__(self, logger: Logger, clock: Callable[[], float] = monotonic) -> None:
        self._logger = logger
        self._clock = clock
        # When the period of a kind began, and how many have come since. Most peers behave.
        self._kinds: dict[str, tuple[float, int]] | None = None

    def info(self, text: str, *args: object) -> None:
        """See `Logger.info`."""
        self._log(INFO, text, args)

    def warning(self, text: str, *args: object) -> None:
        """See `Logger.warning`."""
        self._log(WARNING, text, args)

    def _log(self, level: int, text: str, args: tuple[object, ...]) -> None:
        if not self._logger.isEnabledFor(level):
            return
        now = self._clock()
        kinds = self._kinds = {} if self._kinds is None else self._kinds
        began, before = kinds.get(text, (now, 0))
        if now - began >= _PERIOD:
            began, before = now, 0
        kinds[text] = began, before + 1
        # The entry is that of whoever calls this.
        if before < _FIRST:
            self._logger.log(level, text, *args, stacklevel=3)
        elif str(before + 1).strip("0") == "1":
            summed = f"{text} (%d of these within a minute, most of which are not logged)"
            self._logger.log(level, summed, *args, before + 1, stacklevel=3)
