"""The splitting of a schema into several that together accept the same values, or more.

Neither `1 to 5` nor `6 to 9` accepts `1 to 9`, but their union does. So before a union counts as
refusing a schema, the schema is split where the alternatives begin and end.
"""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.servers.clients.keywords import (
    kinds_of,
    may_be,
    properties_of,
    required_of,
    types_of,
    values_of,
)
from mcp_protogen.servers.clients.ranges import EDGES, LENGTHS, measure, tighter

Json = dict[str, Any]

_MOST: Final = 200
_NUMBERS: Final = ("minimum", "maximum")


def pieces(schema: Json, arms: Sequence[Json]) -> list[Json]:
    """Return a schema split once, along the differences of the alternatives of a union.

    It stays whole if it has a single value, or if they do not differ.
    """
    values = values_of(schema)
    kinds = types_of(schema)
    if values is not None:
        found = [{"const": value} for value in values if may_be(schema, value)]
        return found if len(found) <= _MOST else [schema]
    if len(kinds) > 1:
        return [{**schema, "type": kind} for kind in kinds]
    if kinds == ["boolean"]:
        return [{"const": False}, {"const": True}]
    found = [*_by_range(schema, kinds, arms)]
    return found or [*_by_member(schema, arms)] or [schema]


def _by_range(schema: Json, kinds: Sequence[str], arms: Sequence[Json]) -> Iterator[Json]:
    """Yield two or three ranges that meet where a range of an alternative begins or ends."""
    if kinds == ["number"]:
        yield from _by_number(schema, arms)
        return
    least, most = LENGTHS.get(kinds[0], _NUMBERS) if kinds else _NUMBERS
    low, high = _whole_range(schema, least, most)
    for arm in arms:
        start, end = _whole_range(arm, least, most)
        for cut in (start, end + 1):
            if low < cut <= high and cut < inf:
                yield {**schema, most: cut - 1}
                yield {**schema, least: cut}
                return


def _whole_range(schema: Json, least: str, most: str) -> tuple[float, float]:
    if least in _NUMBERS:
        low, high = (edge.sign * tighter(schema, edge, whole=True)[0] for edge in EDGES)
        return low, high
    return measure(schema, least, 0), measure(schema, most, inf)


def _by_number(schema: Json, arms: Sequence[Json]) -> Iterator[Json]:
    (low, _), (high, _) = (tighter(schema, edge, whole=False) for edge in EDGES)
    for arm in arms:
        for edge in EDGES:
            cut = edge.sign * tighter(arm, edge, whole=False)[0]
            if low < cut < -high:
                yield from ({**schema, end.opened: cut} for end in EDGES)
                yield {"const": cut}
                return


def _by_member(schema: Json, arms: Sequence[Json]) -> Iterator[Json]:
    """Yield schemas by the values of a member that tells alternatives apart, such as `kind`."""
    members, required = properties_of(schema), required_of(schema)
    for name, member in members.items():
        theirs = [properties_of(arm).get(name) for arm in arms]
        if not is_object(member) or not any(
            is_object(candidate) and values_of(candidate) for candidate in theirs
        ):
            continue
        parts = [{"const": value} for value in values_of(member) or ()]
        parts = parts or pieces(member, ()) if types_of(member) == ["boolean"] else parts
        if not 1 < len(parts) + (name not in required) <= _MOST or not parts:
            continue
        for part in parts:
            inner = {**members, name: part}
            yield {**schema, "properties": inner, "required": [*{*required, name}]}
        if name not in required:
            yield {**schema, "properties": {**members, name: False}}
        return


def constant_schema(value: Any) -> Json:
    """Return a schema of one value without `const`."""
    kind = kinds_of(value)[0]
    schema: Json = {"type": kind}
    for keyword in LENGTHS.get(kind, ()):
        schema[keyword] = len(value)
    match kind:
        case "boolean":
            schema["const"] = value
        case "integer" | "number":
            schema |= {"minimum": value, "maximum": value, "multipleOf": value}
        case "array":
            schema |= {"prefixItems": [{"const": item} for item in value], "items": False}
        case "object":
            members = {name: {"const": member} for name, member in value.items()}
            schema |= {"properties": members, "required": [*value], "additionalProperties": False}
        case _:
            pass
    return schema
