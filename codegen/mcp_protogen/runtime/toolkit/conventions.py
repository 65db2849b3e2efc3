"""What servers of the revisions do differently, though no schema says so."""

from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from ..errors import INVALID_PARAMS

_RESOURCE_NOT_FOUND: Final = -32002


@dataclass(frozen=True, slots=True)
class Conventions:
    """How failures are told; `since` is the first revision that does it so."""

    since: str
    bad_arguments: Literal["error", "result"]
    """Whether arguments that do not fit a tool are an error, or a result that a model reads."""
    resource_not_found: int
    """The code for a resource that is not there."""
    source: str


_ROWS: Final = (
    Conventions(
        "2024-11-05",
        "error",
        _RESOURCE_NOT_FOUND,
        "server/tools#error-handling lists invalid arguments among protocol errors",
    ),
    Conventions(
        "2025-11-25",
        "result",
        _RESOURCE_NOT_FOUND,
        "server/tools#error-handling lists input validation among tool execution errors",
    ),
    Conventions(
        "2026-07-28",
        "result",
        INVALID_PARAMS,
        "server/resources#error-handling wants -32602, and no server may send -32002",
    ),
)


@cache
def conventions(revision: str) -> Conventions:
    """What holds in a revision: what held in the newest one of the table that is not newer."""
    # Revisions are named by dates, so names sort; a draft has no date, and comes after all.
    return max((row for row in _ROWS if row.since <= revision), key=lambda row: row.since)
