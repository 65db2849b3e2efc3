"""Paths to values inside decoded JSON, as the tables of a revision name them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .json import JSONObject, is_array, is_object


@dataclass(frozen=True, slots=True)
class Entry:
    """The first entry of an array or map that has these constants.

    A new one gets them, and in a map, `key` as its name.
    """

    constants: Mapping[str, Any]
    key: str | None = None


ValuePath: TypeAlias = tuple[str | Entry, ...]


def find(value: Any, path: ValuePath) -> Any:
    """Return the value at a path; raise `LookupError` if there is none."""
    for step in path:
        value = value[_key(value, step)]
    return value


def keys_of(value: Any, path: ValuePath) -> Iterator[tuple[str | int, ...]]:
    """Yield the names and indices on the way to each value that a path leads to."""
    if not path:
        yield ()
        return
    for key in _keys(value, path[0]):
        yield from ((key, *rest) for rest in keys_of(value[key], path[1:]))


def put(value: Any, path: ValuePath, new: Any) -> Any:
    """Return a copy with `new` at a path; missing objects and entries are added."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    out = value.copy()
    try:
        key = _key(value, step)
    except LookupError:
        inner = put(_start(step, rest), rest, new)
        if is_array(out):
            out.append(inner)
        else:
            out[step.key if isinstance(step, Entry) else step] = inner
    else:
        out[key] = put(value[key], rest, new)
    return out


def _key(value: Any, step: str | Entry) -> Any:
    """Return the index or the name of a step."""
    for key in _keys(value, step):
        return key
    raise LookupError(step)


def _keys(value: Any, step: str | Entry) -> Iterator[Any]:
    if isinstance(step, str):
        yield from (step,) if is_object(value) and step in value else ()
        return
    items: Iterable[tuple[Any, Any]]
    items = value.items() if is_object(value) else enumerate(value if is_array(value) else ())
    for key, item in items:
        if is_object(item) and step.constants.items() <= item.items():
            yield key


def _start(step: str | Entry, rest: ValuePath) -> JSONObject | list[Any]:
    """Return the empty value that a new step holds."""
    if isinstance(step, Entry):
        return dict(step.constants)
    following = rest[0] if rest else None
    return [] if isinstance(following, Entry) and following.key is None else {}
