"""What a run of the command line leaves behind."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Ran:
    """How a run of the command line ended."""

    code: int
    out: str
    err: str
