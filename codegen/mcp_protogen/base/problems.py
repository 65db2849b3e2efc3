"""Problems of the input, as values.

Stages collect `Problem`s and do not stop at the first one, so that a run shows all at once.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from enum import StrEnum
from functools import wraps
from typing import NamedTuple, ParamSpec

P = ParamSpec("P")

_GROUP, _LISTED = 3, 10
"""The number of problems of a kind that are shown as one, and how many of them are listed."""


class Level(StrEnum):
    """The weight of a problem: a warning is shown, an error also stops the run."""

    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """One finding: the fault, its place, and a hint.

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
        """The problem on one line, and the hint on a second one."""
        where = f"{self.where}: " if self.where else ""
        line = f"{self.level}[{self.code}]: {where}{self.message}"
        return (line, f"  hint: {self.hint}") if self.hint else (line,)

    def __str__(self) -> str:
        return "\n".join(self.lines)


class ProblemError(Exception):
    """Raised to stop a run with wrong input; it has every problem found so far."""

    def __init__(self, *problems: Problem) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def raise_errors(problems: Iterable[Problem]) -> None:
    """Raise `ProblemError` with all `problems` if one of them is an error."""
    found = tuple(problems)
    if any(problem.level is Level.ERROR for problem in found):
        raise ProblemError(*found)


def raising(check: Callable[P, Iterable[Problem]]) -> Callable[P, None]:
    """Turn a check that yields problems into one that raises them as `raise_errors` does."""

    @wraps(check)
    def refuse(*args: P.args, **kwargs: P.kwargs) -> None:
        raise_errors(check(*args, **kwargs))

    return refuse


def did_you_mean(name: str, known: Iterable[str], otherwise: str = "") -> str:
    """Return a hint with the known names nearest to `name`; else `otherwise`, or a list of all."""
    from difflib import get_close_matches  # only needed on the way to an error

    names = sorted(known)
    if near := get_close_matches(name, names, n=2, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    return otherwise or (f"known: {', '.join(names)}" if names else "")


def summarize_problems(
    problems: Iterable[Problem], together: Container[Level]
) -> Iterator[tuple[Level, tuple[str, ...]]]:
    """Yield the lines of problems, with their level.

    Several problems of one kind in one file become one entry if their level is in `together`.
    """
    groups: dict[object, list[Problem]] = {}
    for number, problem in enumerate(problems):
        key = (problem.level, problem.code, problem.place)
        groups.setdefault(key if problem.level in together else number, []).append(problem)
    for group in groups.values():
        for lines in [entry.lines for entry in group] if len(group) < _GROUP else [_as_one(group)]:
            yield group[0].level, lines


def _as_one(group: Sequence[Problem]) -> tuple[str, ...]:
    first = group[0]
    items = [problem._replace(place="") for problem in group[:_LISTED]]
    listed = [
        f"  {item.where}: {item.message}" if item.where else f"  {item.message}" for item in items
    ]
    if len(group) > _LISTED:
        listed.append(f"  and {len(group) - _LISTED} more; --format json lists all")
    same = {problem.hint for problem in group} == {first.hint}
    hint = first.hint if same else f"mcp-gen explain {first.code}"
    message = f"{len(group)} {first.level}s"
    head = first._replace(message=message, pointer="", hint=hint)
    return (head.lines[0], *listed, *head.lines[1:])
