"""JSON pointers (RFC 6901), and the values at them."""

from collections.abc import Iterable
from typing import Any, Final

from .json import is_array
from .models.validation_errors import pointer_to
from .value_paths import ValuePath, key_of

ABSENT: Final = object()


def unescape_step(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")


def steps_of(pointer: str, value: Any) -> tuple[int | str, ...]:
    """Return the members and indices of a pointer into `value`."""
    steps: list[int | str] = []
    for text in pointer.split("/")[1:]:
        is_index = is_array(value) and text.isdecimal()
        steps.append(int(text) if is_index else unescape_step(text))
        value = value_at(value, steps[-1:])
    return tuple(steps)


def pointer_along(value: Any, path: ValuePath) -> str:
    """Return the pointer to a path, as far as a value has it."""
    steps: list[int | str] = []
    for step in path:
        try:
            key = key_of(value, step)
        except LookupError:
            steps += [step] if isinstance(step, str) else []
            break
        value = value[key]
        steps.append(key)
    return pointer_to(steps)


def value_at(value: Any, steps: Iterable[int | str]) -> Any:
    for step in steps:
        if is_array(value) is not isinstance(step, int):
            return ABSENT
        try:
            value = value[step]
        except (LookupError, TypeError):
            return ABSENT
    return value
