"""Paths to values inside decoded JSON, as the tables of a revision name them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, TypeAlias

from .json import is_array, is_object, is_same


@dataclass(frozen=True)
class PathEntry:
    """An entry of an array or map, found by its constants; in a map, a new one is called `key`."""

    constants: Mapping[str, Any] = field(hash=False)
    key: str | None = None


ValuePath: TypeAlias = tuple[str | PathEntry, ...]


class ToolPlaces(NamedTuple):
    """The places of content, structured value and error flag in the result of a tool."""

    content: ValuePath | None = ("content",)
    structured: ValuePath | None = ("structuredContent",)
    error: ValuePath | None = ("isError",)


USUAL_PLACES: Final = ToolPlaces()
NOWHERE: Final = ToolPlaces(None, None, None)


def find(value: Any, path: ValuePath) -> Any:
    """Return the value at a path; raise `LookupError` for a missing one."""
    for step in path:
        value = value[key_of(value, step)]
    return value


def key_of(value: Any, step: str | PathEntry) -> Any:
    for key in keys_at(value, step):
        return key
    raise LookupError(step)


def keys_at(value: Any, step: str | PathEntry) -> Iterator[Any]:
    """Yield the index or the name of each value that a step leads to."""
    if isinstance(step, str):
        if is_object(value) and step in value:
            yield step
        return
    entries = enumerate(value if is_array(value) else ())
    for key, entry in value.items() if is_object(value) else entries:
        if is_object(entry) and all(
            name in entry and is_same(entry[name], value) for name, value in step.constants.items()
        ):
            yield key
