"""Validation errors as RFC 6901 pointers into the JSON that was refused.

Pydantic's locations mix members of the input with names of union arms and of validators. Which is
which shows when the location is walked along the input: a pointer has to end at the very value the
error is about. Neither values nor documentation links are repeated, for they leave the process.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .jsonvalue import is_array, is_object

# Pydantic speaks of Python where the sender of a message needs to hear of JSON.
_IN_JSON: Final = {
    "model_type": "Input should be an object",
    "model_attributes_type": "Input should be an object",
    "dict_type": "Input should be an object",
    "list_type": "Input should be an array",
}
# Whoever sends a long message with a mistake everywhere must not keep this side busy with it, nor
# get an answer that is many times as long.
_MOST: Final = 1000
_LONGEST: Final = 64 * 1024


# Pydantic puts words of its own before what a validator says.
_SAID_BY_VALIDATORS: Final = frozenset({"value_error", "assertion_error"})


class Problem(NamedTuple):
    """One thing that is wrong with a message."""

    pointer: str
    message: str


def problems(error: ValidationError, value: Any, prefix: str = "") -> list[Problem]:
    """What `error` says about `value`, the JSON value that was validated.

    `prefix` is the pointer of `value` inside the whole message. What several arms of a union say
    alike is said once, and arms of another JSON type than the input are not heard at all. Of very
    many mistakes, only the first are told.
    """
    lines = error.errors(include_url=False)
    found: dict[Problem, str] = {}
    left = _LONGEST
    for line in lines[:_MOST]:
        problem = _problem(line, value, prefix)
        left -= len(problem.pointer)
        # Also what they have in common is repeated for each.
        if left < 0 and found:
            break
        found.setdefault(problem, line["type"])
    outer = _outer(problem.pointer for problem in found)
    return [
        problem
        for problem, type in found.items()
        if not (type.endswith("_type") and problem.pointer in outer)
    ]


def message_of(line: ErrorDetails) -> str:
    """What is wrong, for somebody who knows neither Python nor Pydantic."""
    if line["type"] in _SAID_BY_VALIDATORS:
        return str(line.get("ctx", {}).get("error", "")) or "Input is not valid"
    return _IN_JSON.get(line["type"], line["msg"])


def _outer(pointers: Iterable[str]) -> set[str]:
    """The pointers of all values that the values at some pointers stand in."""
    found: set[str] = set()
    for pointer in pointers:
        outer, slash, _ = pointer.rpartition("/")
        # What holds a value that was found before was found with it.
        while slash and outer not in found:
            found.add(outer)
            outer, slash, _ = outer.rpartition("/")
    return found


def _problem(line: ErrorDetails, value: Any, prefix: str) -> Problem:
    location, about, message = line["loc"], line["input"], message_of(line)
    if line["type"] == "missing":
        # Its input is the object that lacks the member.
        steps = [*_path(location[:-1], value, about), location[-1]]
    elif line["type"] in ("union_tag_not_found", "union_tag_invalid"):
        context = line.get("ctx", {})
        steps = [*_path(location, value, about), str(context["discriminator"]).strip("'")]
        expected = context.get("expected_tags")
        message = f"Input should be one of {expected}" if expected else "Field required"
    else:
        steps = _path(location, value, about)
    return Problem(prefix + _pointer(steps), message)


def _path(location: Sequence[int | str], value: Any, target: Any) -> list[int | str]:
    steps = _steps(location, value, target, set())
    return _longest(location, value) if steps is None else steps


def _steps(
    location: Sequence[int | str], value: Any, target: Any, dead: set[tuple[int, int]]
) -> list[int | str] | None:
    """The part of `location` that leads from `value` to `target`, or None.

    `dead` holds where the search has failed before, as the length that was left and the value that
    was reached: members named like union arms would otherwise double the work at every level.
    """
    if not location:
        return [] if _same(value, target) else None
    if (len(location), id(value)) in dead:
        return None
    step, rest = location[0], location[1:]
    if _has(value, step):
        further = _steps(rest, value[step], target, dead)
        if further is not None:
            return [step, *further]
    further = _steps(rest, value, target, dead)
    if further is None:
        dead.add((len(location), id(value)))
    return further


def _longest(location: Sequence[int | str], value: Any) -> list[int | str]:
    steps: list[int | str] = []
    for step in location:
        if _has(value, step):
            value = value[step]
            steps.append(step)
    return steps


def _has(value: Any, step: int | str) -> bool:
    if isinstance(step, int):
        return is_array(value) and step < len(value)
    return is_object(value) and step in value


def _same(value: Any, target: Any) -> bool:
    # Text that was read twice gives equal, not identical, values; 1, 1.0 and true are not the same.
    return value is target or (type(value) is type(target) and value == target)


def _pointer(steps: Sequence[int | str]) -> str:
    return "".join("/" + escaped(str(step)) for step in steps)


def escaped(step: str) -> str:
    """The name of a member as it stands in a pointer."""
    return step.replace("~", "~0").replace("/", "~1")
