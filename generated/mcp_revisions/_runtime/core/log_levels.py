"""Log levels of the protocol, which are those of syslog (RFC 5424, section 6.2.1)."""

from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

Level: TypeAlias = Literal[
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"
]

LEVELS: Final[tuple[Level, ...]] = get_args(Level)
"""The levels, from the least to the most severe."""

_SEVERITY: Final[Mapping[str, int]] = {level: place for place, level in enumerate(LEVELS)}


def passes(level: str, threshold: str) -> bool:
    """Return whether an entry of `level` is at least as severe as `threshold`."""
    return _SEVERITY[level] >= _SEVERITY[threshold]
