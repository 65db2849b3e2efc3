"""The structural snapshot of a published schema: its content without its prose.

It is the same JSON Schema with `definitions` renamed to `$defs`, with references as pointers, and
without descriptions, titles, comments and examples. Only keywords are removed: a property called
`title` stays.

The snapshot of a draft-07 schema is labelled 2020-12, because `$defs` is a keyword only there,
unless the schema has one of the few keywords that changed: then it keeps its dialect.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from mcp_protogen.base.canonical import canonical, parse_json
from mcp_protogen.base.jsonpointer import escape
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.subschemas import LISTS, MAPS, PROSE, SINGLE, subschemas, with_pointers

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_DRAFT_07 = "http://json-schema.org/draft-07/schema"

# https://json-schema.org/draft/2020-12/release-notes and 2019-09/release-notes.
_CHANGED = frozenset({"$id", "$recursiveRef", "additionalItems", "dependencies", "id"})

_ABSENT = object()


def structure_in(content: bytes, place: str) -> dict[str, Any]:
    """Return the snapshot of a published file; raise `ProblemError`: `not-json`, `not-a-schema`."""
    return snapshot_of(parse_json(content, place), place)


def snapshot_of(published: Any, place: str = "") -> dict[str, Any]:
    """Return the snapshot of a published schema.

    Raise `ProblemError` (`not-a-schema`) if it is not one.
    """
    schema: dict[str, Any] = published if is_object(published) else {}
    if not {"$defs", "definitions"} & schema.keys():
        message = "this schema has neither $defs nor definitions"
        raise ProblemError(Problem("not-a-schema", message, place))
    try:
        dialect = dialect_of(schema)
        snapshot = _members(with_pointers(schema), "")
    except _Misshapen as error:
        raise ProblemError(Problem("not-a-schema", error.message, place, error.pointer)) from None
    except RecursionError:
        message = "its schemas are nested too deeply to be read"
        raise ProblemError(Problem("not-a-schema", message, place)) from None
    except TypeError as error:
        message = f"a keyword has a value that is not a schema: {error}"
        raise ProblemError(Problem("not-a-schema", message, place)) from error
    if dialect.startswith(_DRAFT_07) and not _uses_changed_keywords(snapshot):
        snapshot["$schema"] = DIALECT
    return snapshot


def dialect_of(published: Mapping[str, Any]) -> str:
    """Return the dialect of a schema, by default 2020-12; raise `TypeError` for a wrong type."""
    dialect = published.get("$schema", DIALECT)
    if not isinstance(dialect, str):
        raise TypeError("$schema is not a string")
    return dialect


def differences(before: Any, after: Any, pointer: str = "") -> Iterator[str]:
    """Yield JSON Pointers to the smallest values that differ, in order."""
    if is_object(before) and is_object(after):
        for name in sorted(before.keys() | after.keys()):
            yield from differences(
                before.get(name, _ABSENT), after.get(name, _ABSENT), f"{pointer}/{escape(name)}"
            )
    elif before is _ABSENT or after is _ABSENT or canonical(before) != canonical(after):
        yield pointer  # canonical, because in Python 1 == True and 1 == 1.0


class _Misshapen(Exception):
    """Raised for a malformed keyword; the metaschema finds all other faults."""

    def __init__(self, pointer: str, expected: str, actual: Any) -> None:
        super().__init__(pointer)
        self.pointer = pointer
        self.message = f"expected {expected}, found {json.dumps(actual):.80}"


def _structure(schema: Any, pointer: str) -> Any:
    return schema if isinstance(schema, bool) else _members(schema, pointer)


def _members(schema: Any, pointer: str) -> dict[str, Any]:
    if not is_object(schema):
        raise _Misshapen(pointer, "a schema", schema)
    if {"$defs", "definitions"} <= schema.keys():
        raise _Misshapen(pointer, "either $defs or definitions", ["$defs", "definitions"])
    structure: dict[str, Any] = {}
    for keyword, value in schema.items():
        if keyword not in PROSE:
            name = "$defs" if keyword == "definitions" else keyword
            structure[name] = _value(keyword, value, f"{pointer}/{escape(keyword)}")
    return structure


def _value(keyword: str, value: Any, pointer: str) -> Any:
    if keyword in MAPS:
        if not is_object(value):
            raise _Misshapen(pointer, "an object of schemas", value)
        return {
            name: _structure(schema, f"{pointer}/{escape(name)}") for name, schema in value.items()
        }
    if keyword in LISTS or (keyword == "items" and is_array(value)):
        if not is_array(value):
            raise _Misshapen(pointer, "an array of schemas", value)
        return [_structure(schema, f"{pointer}/{index}") for index, schema in enumerate(value)]
    if keyword in SINGLE:
        return _structure(value, pointer)
    if keyword == "$ref":
        if not isinstance(value, str):
            raise _Misshapen(pointer, "a string", value)
        return "/".join(_new_steps(value.split("/")))
    return value


def _new_steps(steps: Iterable[str]) -> Iterator[str]:
    """Yield the steps of a pointer, with `$defs` for each keyword `definitions`."""
    remaining = iter(steps)
    for step in remaining:
        yield "$defs" if step == "definitions" else step
        if step in MAPS | LISTS:
            yield from islice(remaining, 1)
        elif not (step in SINGLE or step == "#" or step.isdigit()):
            yield from remaining  # into the value of another keyword


def _uses_changed_keywords(snapshot: dict[str, Any]) -> bool:
    return any(
        bool(_CHANGED & schema.keys())
        or ("$ref" in schema and len(schema) > 1)  # siblings were ignored up to draft-07
        or is_array(schema.get("items"))
        for schema in subschemas(snapshot)
    )
