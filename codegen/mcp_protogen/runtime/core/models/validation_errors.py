"""Validation errors as RFC 6901 pointers into the invalid JSON.

Pydantic's locations mix members of the input with names of union arms; a pointer must end at the
value that the error is about. The messages go to the peer, so they contain no values.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ..errors import Problem, escape_step
from ..json import is_array, is_object

_OBJECT: Final = "Input should be an object"
_IN_JSON: Final = {
    "model_type": _OBJECT,
    "model_attributes_type": _OBJECT,
    "dict_type": _OBJECT,
    "list_type": "Input should be an array",
}

# Bounds for a long message that is wrong everywhere.
_MOST: Final = 1000
_LONGEST: Final = 64 * 1024


def problems(
    error: ValidationError, value: Any, prefix: str = "", lines: list[ErrorDetails] | None = None
) -> list[Problem]:
    """Return the first problems of `error`, or of its `lines`, in the `value` at `prefix`.

    Arms of a union for another JSON type than the input are ignored.
    """
    lines = lines or error.errors(include_url=False)
    texts: dict[Problem, str] = {}
    room = _LONGEST
    for line in lines[:_MOST]:
        problem = problem_of(line, value, prefix)
        room -= len(problem.pointer)
        if room < 0 and texts:
            break
        texts.setdefault(problem, line["type"])
    outer: set[str] = set()
    for pointer, _ in texts:
        around, slash, _ = pointer.rpartition("/")
        # The containers of a pointer found before are in the set already.
        while slash and around not in outer:
            outer.add(around)
            around, slash, _ = around.rpartition("/")
    return [
        problem
        for problem, type in texts.items()
        if not (type.endswith("_type") and problem.pointer in outer)
    ]


def message_of(line: ErrorDetails) -> str:
    if line["type"] in ("value_error", "assertion_error"):
        # Pydantic puts a prefix before the message of a validator.
        return str(line.get("ctx", {}).get("error", "")) or "Input is not valid"
    return _IN_JSON.get(line["type"], line["msg"])


def problem_of(line: ErrorDetails, value: Any, prefix: str) -> Problem:
    location, message = line["loc"], message_of(line)
    further: tuple[int | str, ...] = ()
    if line["type"] == "missing":
        # The input of such an error is the object that lacks the member.
        location, further = location[:-1], location[-1:]
    elif line["type"] in ("union_tag_not_found", "union_tag_invalid"):
        context = line.get("ctx", {})
        further = (str(context["discriminator"]).strip("'"),)
        expected = context.get("expected_tags")
        message = f"Input should be one of {expected}" if expected else "Field required"
    steps = _steps(location, value, line["input"], set())
    steps = _longest(location, value) if steps is None else steps
    return Problem(prefix + pointer_to((*steps, *further)), message)


def _steps(
    location: Sequence[int | str], value: Any, wanted: Any, dead: set[tuple[int, int]]
) -> list[int | str] | None:
    """Return the part of `location` that leads from `value` to `wanted`, or None."""
    # The search failed at `dead`: members named like arms would double the work per level.
    if not location:
        # A value that was read twice is equal, but not identical; 1, 1.0 and true differ.
        same = value is wanted or (type(value) is type(wanted) and value == wanted)
        return [] if same else None
    if (len(location), id(value)) in dead:
        return None
    step, tail = location[0], location[1:]
    if has_step(value, step):
        further = _steps(tail, value[step], wanted, dead)
        if further is not None:
            return [step, *further]
    further = _steps(tail, value, wanted, dead)
    if further is None:
        dead.add((len(location), id(value)))
    return further


def _longest(location: Sequence[int | str], value: Any) -> list[int | str]:
    steps: list[int | str] = []
    for step in location:
        if has_step(value, step):
            value = value[step]
            steps.append(step)
    return steps


def has_step(value: Any, step: int | str) -> bool:
    if isinstance(step, int):
        return is_array(value) and step < len(value)
    return is_object(value) and step in value


def pointer_to(steps: Iterable[int | str]) -> str:
    return "".join("/" + escape_step(str(step)) for step in steps)
