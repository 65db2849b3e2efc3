"""The options for the log of a program, on standard error."""

from enum import StrEnum


class LogThreshold(StrEnum):
    """The lowest level that is logged."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    """The format of the log."""

    TEXT = "text"
    JSON = "json"
