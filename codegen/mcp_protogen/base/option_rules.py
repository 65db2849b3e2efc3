"""Rules about options that go together, as data, and the check that reads them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from mcp_protogen.base.problems import Problem, ProblemError


class OptionRule(NamedTuple):
    """An option that needs one of `needs`, and cannot be used with any of `excludes`.

    `why` and `hint` are for the problem; with `is_file`, its place is the value of the option.
    """

    option: str
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    why: str = ""
    hint: str = ""
    is_file: bool = False


def refuse_conflicts(given: Mapping[str, object], rules: Iterable[OptionRule]) -> None:
    """Raise `ProblemError` (`conflicting-options`) for the first rule that given options break."""
    for rule in rules:
        if rule.option not in given:
            continue
        beside = [name for name in rule.excludes if name in given]
        if rule.needs and given.keys().isdisjoint(rule.needs):
            message = f"{rule.option} needs {' or '.join(rule.needs)}"
        elif beside:
            message = f"{' and '.join([rule.option, *beside])} exclude each other"
        else:
            continue
        message += f": {rule.why}" if rule.why else ""
        place = str(given[rule.option]) if rule.is_file else ""
        raise ProblemError(Problem("conflicting-options", message, place, hint=rule.hint))
