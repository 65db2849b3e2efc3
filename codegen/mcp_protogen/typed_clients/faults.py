"""Where the values of one schema need not be values of another, keyword by keyword."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final

from mcp_protogen.base.canonical import canonical
from mcp_protogen.typed_clients.keywords import (
    ANNOTATIONS,
    EDGES,
    OF_ARRAYS,
    OF_OBJECTS,
    TOGETHER,
    divides,
    is_idle,
    measure,
    shown,
    spelled,
    spelled_keyword,
    tighter,
    values_of,
)
from mcp_protogen.typed_clients.splitting import LENGTHS

Json = dict[str, Any]

# The keywords that are compared one by one, by the type of values that they restrict.
_COMPARED: Final = frozenset(
    {"$ref", "additionalItems", "additionalProperties", "allOf", "anyOf", "const", "enum"}
    | {"exclusiveMaximum", "exclusiveMinimum", "items", "maxItems", "maxLength", "maxProperties"}
    | {"maximum", "minItems", "minLength", "minProperties", "minimum", "multipleOf", "oneOf"}
    | {"prefixItems", "properties", "required", "type"}
)
_OF_STRINGS: Final = frozenset({"pattern"})
_DYNAMIC: Final = frozenset({"$dynamicRef", "$recursiveRef"})


class Kind(StrEnum):
    """What is different at a place."""

    TYPE = "type"
    """A type of values is not accepted."""
    VALUE = "value"
    """A single value is not accepted."""
    BOUND = "bound"
    """A value may be beyond a bound."""
    REQUIRED = "required"
    """A declared member may be missing."""
    MISSING = "missing"
    """A required member is not declared."""
    UNDECLARED = "undeclared"
    """A member is not accepted at all."""
    REMOVED = "removed"
    """A member is not declared any more, so that it may be anything, or be missing."""
    EXTRA = "extra"
    """A member is accepted, but nothing is known of it; no fault."""
    FORMAT = "format"
    """Another format is meant, which nothing has to check; no fault."""
    RULE = "rule"
    """Another keyword differs, and nobody can say what that refuses."""
    UNKNOWN = "unknown"
    """Nobody can say what is meant, or it is too much to look at."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A place at which values of the one schema need not be values of the other.

    `path` leads there by members: `hours[].at`. `narrow` and `wide` are the two sides as short
    text.
    """

    kind: Kind
    path: str
    narrow: str = ""
    wide: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two schemas at a place, with the keywords of either in one object."""

    narrow: Json
    wide: Json
    path: str

    def fault(self, kind: Kind, narrow: object = "", wide: object = "") -> Fault:
        return Fault(kind, self.path, shown(narrow), shown(wide))

    def differing(self, kind: Kind, keyword: str) -> Fault:
        sides = spelled_keyword(self.narrow, keyword), spelled_keyword(self.wide, keyword)
        return self.fault(kind, *sides)


def weight(found: Sequence[Fault], path: str) -> tuple[int, int]:
    """Return how far an alternative is away: another type at its own place is the farthest."""
    refused = refusals(found)
    other_kind = any(one.kind in (Kind.TYPE, Kind.VALUE) and one.path == path for one in refused)
    return int(other_kind), len(refused)


def refusals(found: Sequence[Fault]) -> list[Fault]:
    """Return the faults for which a value is refused."""
    return [one for one in found if one.kind not in (Kind.EXTRA, Kind.FORMAT)]


def beside_constants(pair: Pair, kind: str) -> Iterator[Fault]:
    """Yield a fault if a type has values besides the constants of the other schema."""
    values = values_of(pair.wide)
    if values is None:
        return
    known = [canonical(one) for one in values]
    all_of = {"boolean": (b"true", b"false"), "null": (b"null",)}.get(kind)
    if all_of is None or not set(all_of) <= set(known):
        yield pair.fault(Kind.VALUE, spelled(pair.narrow), spelled(pair.wide))


def bounds(pair: Pair, kind: str) -> Iterator[Fault]:
    """Yield the bounds of the wide schema for a type that the narrow one does not keep."""
    if kind in ("integer", "number"):
        yield from _ranges(pair, whole=kind == "integer")
        return
    if kind in LENGTHS:
        least, most = LENGTHS[kind]
        if measure(pair.narrow, least, 0) < measure(pair.wide, least, 0):
            yield pair.differing(Kind.BOUND, least)
        if measure(pair.narrow, most, inf) > measure(pair.wide, most, inf):
            yield pair.differing(Kind.BOUND, most)


def _ranges(pair: Pair, *, whole: bool) -> Iterator[Fault]:
    for edge in EDGES:
        ours, theirs = (tighter(one, edge, whole=whole) for one in (pair.narrow, pair.wide))
        if ours < theirs:
            yield pair.differing(
                Kind.BOUND, edge.closed if edge.closed in pair.wide else edge.opened
            )
    step = pair.wide.get("multipleOf")
    if step is not None and not divides(step, pair.narrow.get("multipleOf", 1 if whole else None)):
        yield pair.differing(Kind.BOUND, "multipleOf")


def rules(pair: Pair, kind: str, alike: Callable[[Json, Json], bool]) -> Iterator[Fault]:
    """Yield the other keywords of the wide schema that the narrow one does not have as well."""
    for keyword in sorted(pair.wide.keys() - _COMPARED - ANNOTATIONS):
        if not _concerns(keyword, kind) or is_idle(keyword, pair.wide[keyword]):
            continue
        group = next((one for one in TOGETHER if keyword in one), frozenset({keyword}))
        if keyword.startswith("unevaluated"):
            group = frozenset({*pair.wide, *pair.narrow}) - ANNOTATIONS
        sides = [{key: one[key] for key in group if key in one} for one in (pair.narrow, pair.wide)]
        if not alike(*sides):
            yield pair.differing(Kind.UNKNOWN if keyword in _DYNAMIC else Kind.RULE, keyword)


def _concerns(keyword: str, kind: str) -> bool:
    """Return whether a keyword restricts values of a type; an unknown one restricts nothing."""
    if keyword in OF_ARRAYS or keyword == "unevaluatedItems":
        return kind == "array"
    if keyword in _OF_STRINGS:
        return kind == "string"
    if keyword in OF_OBJECTS:
        return kind == "object"
    return keyword in ("if", "then", "else", "not", *_DYNAMIC)
