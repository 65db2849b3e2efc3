"""Constraints on options that go together, as data, and the check that reads them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp_protogen.base.problems import Problem, ProblemError


class OptionConstraint(NamedTuple):
    """An option that needs one of `needs`, and cannot be used with any of `excludes`.

    `why` and `hint` are for the problem; with `is_file`, its place is the value of the option.
    """

    option: str
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    why: str = ""
    hint: str = ""
    is_file: bool = False


def refuse_conflicts(given: Mapping[str, object], constraints: Iterable[OptionConstraint]) -> None:
    """Raise `ProblemError` (`conflicting-options`) for the first constraint that `given` breaks."""
    for constraint in constraints:
        if constraint.option not in given:
            continue
        beside = [name for name in constraint.excludes if name in given]
        if constraint.needs and given.keys().isdisjoint(constraint.needs):
            message = f"{constraint.option} needs {' or '.join(constraint.needs)}"
        elif beside:
            message = f"{' and '.join([constraint.option, *beside])} exclude each other"
        else:
            continue
        message += f": {constraint.why}" if constraint.why else ""
        place = str(given[constraint.option]) if constraint.is_file else ""
        raise ProblemError(Problem("conflicting-options", message, place, hint=constraint.hint))


def conflict(message: str, hint: str = "") -> ProblemError:
    """Return the error for options that exclude or need each other."""
    return ProblemError(Problem("conflicting-options", message, hint=hint))
