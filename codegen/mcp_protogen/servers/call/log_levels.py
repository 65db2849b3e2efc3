"""The levels of log entries, from the least to the most severe (RFC 5424, section 6.2.1)."""

from enum import StrEnum
from typing import Final


class LogLevel(StrEnum):
    """The severity of a log entry."""

    DEBUG = "debug"
    INFO = "info"
    NOTICE = "notice"
    WARNING = "warning"
    ERROR = "error"
    CRITICAL = "critical"
    ALERT = "alert"
    EMERGENCY = "emergency"


_ORDER: Final = tuple(map(str, LogLevel))


def is_as_severe(level: object, least: str) -> bool:
    """Return whether a log entry is severe enough; one of an unknown level is."""
    return level not in _ORDER or _ORDER.index(str(level)) >= _ORDER.index(least)
