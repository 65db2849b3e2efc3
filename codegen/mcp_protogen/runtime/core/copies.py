"""Copies of decoded JSON with another value at a path."""

from typing import Any

from .json import is_array
from .value_paths import PathEntry, ValuePath, key_of


def put(value: Any, path: ValuePath, new: Any) -> Any:
    """Return a copy with `new` at a path; missing objects and entries are added."""
    if not path:
        return new
    step, rest = path[0], path[1:]
    if not rest and isinstance(step, str):
        return {**value, step: new}
    out = value.copy()
    try:
        key = key_of(value, step)
    except LookupError:
        start: Any = [] if rest and isinstance(rest[0], PathEntry) and rest[0].key is None else {}
        inner = put(dict(step.constants) if isinstance(step, PathEntry) else start, rest, new)
        if is_array(out):
            out.append(inner)
        else:
            out[step.key if isinstance(step, PathEntry) else step] = inner
    else:
        out[key] = put(value[key], rest, new)
    return out
