"""Small changes to a JSON value, each at one place.

A mutant may still be valid: that is the question for both sides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from mcp_protogen.base.jsonvalue import is_array, is_object

# A wrong type for every place: null for absent, 1.0 and true for an integer, 1 for a string.
REPLACEMENTS: tuple[Any, ...] = (
    None,
    True,
    0,
    1,
    1.0,
    1.5,
    -1,
    "",
    "1",
    "unknown",
    [],
    [None],
    [{}],
    {},
    {"type": "unknown"},
    {"type": "text"},
)

# Undeclared members: meaningless ones, Python names of declared ones, and names Pydantic uses.
EXTRA_MEMBERS: tuple[str, ...] = (
    "undeclared",
    "is_error",
    "next_cursor",
    "progress_token",
    "input_schema",
    "mime_type",
    "meta",
    "model_fields",
    "to_wire",
    "__class__",
    "self",
)

# One more than the greatest number of items that any schema sets as a limit.
LONGER = 101


def value_of_each_type(random: Random) -> list[Any]:
    """Return one replacement of each type, so that every wrong type is among them."""
    types: dict[str, list[Any]] = {}
    for replacement in REPLACEMENTS:
        types.setdefault(type(replacement).__name__, []).append(replacement)
    return [random.choice(same) for same in types.values()]


class _Drop:
    """Stands for the absence of a member."""


DROP = _Drop()
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One change: `value` replaces the value at `path`, or removes it if it is `DROP`."""

    path: Path
    value: Any

    def of(self, value: Any) -> Any:
        """Return `value` with this change; the rest is shared."""
        return _change_at(value, self.path, self.value)


def edits(value: Any, depth: int, replacements: Sequence[Any] = REPLACEMENTS) -> Iterator[Edit]:
    """All changes to `value` down to `depth` steps below its root."""
    for path, found in _places(value, depth, ()):
        for replacement in replacements:
            yield Edit(path, replacement)
        if is_object(found):
            for member in found:
                yield Edit((*path, member), DROP)
            for member in EXTRA_MEMBERS:
                yield Edit((*path, member), None)
                yield Edit((*path, member), [1.0])
        elif is_array(found) and found and isinstance(found[0], str):
            yield Edit(path, found[:1] * LONGER)


def _places(value: Any, depth: int, path: Path) -> Iterator[tuple[Path, Any]]:
    yield path, value
    if depth == 0:
        return
    steps: list[tuple[str | int, Any]] = []
    if is_object(value):
        steps.extend(value.items())
    elif is_array(value):
        steps.extend(enumerate(value))
    for step, inner in steps:
        yield from _places(inner, depth - 1, (*path, step))


def _change_at(value: Any, path: Path, new: Any) -> Any:
    if not path:
        return new
    copy: Any = value.copy()
    step, rest = int(path[0]) if is_array(value) else path[0], path[1:]
    if new is DROP and not rest:
        del copy[step]
    else:
        # The last step may lead to a member that is not there yet.
        copy[step] = _change_at(copy[step], rest, new) if rest else new
    return copy
