"""Values with very many errors: only the first are reported.

Pydantic copies into each error the names of all members around it, so a message of some megabytes
could take seconds and gigabytes. The models of the protocol stop at the first error of a list.
"""

from typing import Any, Final, TypeAlias

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .errors import Problem
from .json import is_array, is_object
from .json_pointers import ABSENT, steps_of, value_at
from .models.base import Validate
from .models.validation_errors import problem_of, problems
from .options import MANY

# The sizes of the parts that are tried if there are more errors.
_PARTS: Final = (1_000, 2_000, 4_000, 8_000)
TOO_MUCH: Final = "There are too many errors to list"

_Steps: TypeAlias = tuple[int | str, ...]


def problems_within(
    error: ValidationError, value: Any, prefix: str, validate: Validate
) -> list[Problem]:
    """Return the problems that `error` reports about `value`, as `problems` does.

    If there are very many, `validate` looks for those of the first values.
    """
    if error.error_count() <= MANY:
        return problems(error, value, prefix)
    return first_problems(value, validate, prefix) or [Problem(prefix, TOO_MUCH)]


def first_problems(
    value: Any, validate: Validate, prefix: str = "", *, certain: bool = False
) -> list[Problem]:
    """Return the problems of the first part of a value, if it has any.

    With `certain`, try only a small part, and return only problems that the whole value must have
    too: the rest of a container may fit another arm of a union.
    """
    for size in _PARTS[:1] if certain else _PARTS:
        part, end = _first_part(value, size)
        try:
            validate(part)
        except ValidationError as error:
            if error.error_count() > MANY:
                break
            lines: list[ErrorDetails] = []
            for line in error.errors(include_url=False):
                place = steps_of(problem_of(line, part, "").pointer, value)
                if not _is_cut(place, value, part, end):
                    lines.append(line)
                    # Locations also contain the names of union arms.
                    inside = next(at for at, _ in enumerate(place, 1) if place[:at] != end[:at])
                    certain &= line["loc"][:inside] != place[:inside]
            if lines and not certain:
                return problems(error, part, prefix, lines)
    return []


def _first_part(value: Any, size: int) -> tuple[Any, _Steps]:
    """Return a copy with about `size` values, and the path of the innermost cut container."""
    left, ends = size, list[_Steps]()

    def copy(inner: Any, place: _Steps) -> Any:
        nonlocal left
        left -= 1
        if not (is_object(inner) or is_array(inner)):
            return inner
        copies: dict[int | str, Any] = {}
        for step, item in inner.items() if is_object(inner) else enumerate(inner):
            if left <= 0:
                ends.append(place)
                break
            copies[step] = copy(item, (*place, step))
        return copies if is_object(inner) else [*copies.values()]

    part = copy(value, ())
    return part, ends[0] if ends else ()


def _is_cut(place: _Steps, value: Any, part: Any, end: _Steps) -> bool:
    is_around = place == end[: len(place)]
    return is_around or (value_at(part, place) is ABSENT and value_at(value, place) is not ABSENT)
