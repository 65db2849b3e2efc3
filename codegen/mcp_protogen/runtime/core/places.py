"""Places in JSON values, and the pointers to them (RFC 6901)."""

from collections.abc import Iterable
from typing import Any, Final

from .json import is_array
from .models.validation_errors import has_step

ABSENT: Final = object()
"""The value at a place that does not exist."""


def unescape_step(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def steps_of(pointer: str, value: Any) -> tuple[int | str, ...]:
    """Return the members and indices of a pointer to a part of `value`."""
    steps: list[int | str] = []
    for text in pointer.split("/")[1:]:
        is_index = is_array(value) and text.isdecimal()
        steps.append(int(text) if is_index else unescape_step(text))
        value = value_at(value, steps[-1:])
    return tuple(steps)


def value_at(value: Any, steps: Iterable[int | str]) -> Any:
    """Return the part of a value at a place, or `ABSENT`."""
    for step in steps:
        if not has_step(value, step):
            return ABSENT
        value = value[step]
    return value
