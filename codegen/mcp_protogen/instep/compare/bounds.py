"""The constraints of two schemas side by side, each at its place.

Constraints are compared between alternatives of the same kind. If both sides have only one, its
kind may have changed.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.instep.compare.plain_schemas import essence, plain
from mcp_protogen.instep.compare.readable_schema import EMBEDDED
from mcp_protogen.instep.compare.spelling import spell
from mcp_protogen.pipeline.normalise.intersection import is_equal

Json = dict[str, Any]

# Other parts of a schema, which are compared separately, and a text.
_NOT_A_BOUND = frozenset(
    {"const", "deprecated", "enum", "required", "title", "type"}
    | {"$defs", "$ref", "anyOf", "items", "properties", EMBEDDED}
)
CHOICE = "choice"
"""The label of alternatives of the same kind that only one side has."""

_STRICT: Mapping[str, tuple[str, int]] = {
    "exclusiveMinimum": ("minimum", 1),
    "exclusiveMaximum": ("maximum", -1),
}


class Bound(NamedTuple):
    """One constraint as written; `limit` is comparable with that of the other side."""

    keyword: str
    value: Any
    limit: Any


class BoundPair(NamedTuple):
    """A constraint on both sides; None on a side without it.

    `label` has the keywords that lead to it, and `pointer` the place in the schema after.
    """

    label: str
    before: Bound | None
    after: Bound | None
    pointer: str


def bound_pairs(before: Json, after: Json, label: str = "", at: str = "") -> Iterator[BoundPair]:
    """Yield the constraints of two schemas that differ, also those of items and map values."""
    if is_equal(before, after):
        return
    yield from _own_pairs(_beside(before), _beside(after), label, at)
    was, now = _by_kind(before), _by_kind(after)
    kinds = [(kind, kind) for kind in was if kind in now]
    if len(was) == 1 and len(now) == 1:
        kinds = list(zip(was, now, strict=True))
    for old, new in kinds:
        yield from _arms(was[old], now[new], label, at)


def _beside(schema: Json) -> Json:
    return {"default": schema["default"]} if "default" in schema else {}


def _by_kind(schema: Json) -> Mapping[str, list[tuple[str, Json]]]:
    """Return the alternatives other than null by their kind, with the steps that lead to them."""
    found: dict[str, list[tuple[str, Json]]] = defaultdict(list)
    for steps, arm in _alternatives(schema, ""):
        if (kind := spell(arm)) != "null":
            found[kind].append((steps, arm))
    return found


def _alternatives(schema: Json, steps: str, *, nested: bool = False) -> Iterator[tuple[str, Json]]:
    rest = schema if nested else {key: schema[key] for key in schema if key != "default"}
    if "anyOf" in schema and "properties" not in schema:
        for number, arm in enumerate(schema["anyOf"]):
            yield from _alternatives(arm, f"{steps}/anyOf/{number}", nested=True)
    elif is_array(schema.get("type")):
        yield from ((steps, plain({**rest, "type": kind})) for kind in schema["type"])
    else:
        yield steps, rest


def _arms(
    before: list[tuple[str, Json]], after: list[tuple[str, Json]], label: str, at: str
) -> Iterator[BoundPair]:
    """Yield the differences between alternatives of one kind; equal ones have none."""
    was, now = [_restrictions(arm) for _, arm in before], [_restrictions(arm) for _, arm in after]
    old = [arm for (_, arm), key in zip(before, was, strict=True) if key not in now]
    new = [pair for pair, key in zip(after, now, strict=True) if key not in was]
    for arm, (steps, counterpart) in zip(old, new, strict=False):
        yield from _own_pairs(arm, counterpart, label, at + steps)
        for keyword in ("items", "additionalProperties"):
            was_inside, now_inside = (
                schema[keyword] if is_object(schema.get(keyword)) else dict[str, Any]()
                for schema in (arm, counterpart)
            )
            inside = f"{at}{steps}/{keyword}"
            yield from bound_pairs(was_inside, now_inside, f"{label}{keyword}/", inside)
    if len(old) != len(new) and (len(before) > 1 or len(after) > 1):
        more = [arm for _, arm in new[len(old) :]]
        yield BoundPair(f"{label}{CHOICE}", _choice(old[len(new) :]), _choice(more), at)


def _choice(arms: Sequence[Json]) -> Bound | None:
    return Bound(CHOICE, list(arms), list(arms)) if arms else None


def _restrictions(arm: Json) -> bytes:
    """Return the same bytes for schemas with the same constraints, whatever members they have."""
    return essence({key: arm[key] for key in arm if key not in ("properties", "required")})


def _own_pairs(before: Json, after: Json, label: str, at: str) -> Iterator[BoundPair]:
    was, now = dict(_bounds(before)), dict(_bounds(after))
    for keyword in sorted({*was, *now}):
        old, new = was.get(keyword), now.get(keyword)
        if old is None or new is None or not is_equal(old.limit, new.limit):
            pointer = f"{at}/{new.keyword}" if new else ""
            yield BoundPair(label + keyword, old, new, pointer)


def _bounds(schema: Json) -> Iterator[tuple[str, Bound]]:
    for keyword, value in schema.items():
        if keyword == "x-any-of-required":
            bound = Bound("anyOf", value, value)
            yield bound.keyword, bound
        elif keyword == "additionalProperties":
            if value is False or schema.get("properties"):
                text = value if value is False else spell(value)
                yield keyword, Bound(keyword, text, text)
        elif keyword in _STRICT:
            closed, sign = _STRICT[keyword]
            yield closed, Bound(keyword, value, _next_number(value, sign, schema.get("type")))
        elif keyword not in _NOT_A_BOUND:
            yield keyword, Bound(keyword, value, value)


def _next_number(value: float, sign: int, kind: object) -> float:
    """Return the first number that a strict bound leaves."""
    if kind == "integer":
        return math.floor(value) + 1 if sign > 0 else math.ceil(value) - 1
    return math.nextafter(value, sign * math.inf)
