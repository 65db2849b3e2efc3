"""What can be wrong with the input, as values.

Stages return or collect `Problem`s instead of stopping at the first one, so that a run shows
everything it found at once. This module knows no stage and prints nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How much a problem matters: a warning is shown, an error also stops the run."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding: what is wrong, where, and what to do about it.

    `code` is stable and known to `mcp-gen explain`; `place` is the file (or method) at fault and
    `pointer` an RFC 6901 JSON Pointer inside it, when there is one.
    """

    code: str
    message: str
    place: str = ""
    pointer: str = ""
    hint: str = ""
    level: Level = Level.ERROR

    @property
    def where(self) -> str:
        """The place, with the pointer into it."""
        return self.place + (f"#{self.pointer}" if self.pointer else "")

    @property
    def lines(self) -> tuple[str, ...]:
        """What is wrong, in a line, and in another what to do about it."""
        where = f"{self.where}: " if self.where else ""
        line = f"{self.level}[{self.code}]: {where}{self.message}"
        return (line, f"  hint: {self.hint}") if self.hint else (line,)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class ProblemError(Exception):
    """Stops a run whose input is at fault; carries every problem found so far."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def raise_errors(problems: Iterable[Problem]) -> None:
    """Raise `ProblemError` with all of `problems` if at least one of them is an error."""
    found = tuple(problems)
    if any(problem.level is Level.ERROR for problem in found):
        raise ProblemError(*found)
