"""Places where values of one schema may not be values of another, keyword by keyword."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import Any, Final

from mcp_protogen.servers.clients.keywords import ANNOTATIONS, TOGETHER, identities, values_of
from mcp_protogen.servers.clients.ranges import EDGES, LENGTHS, divides, measure, tighter
from mcp_protogen.servers.clients.wording import schema_text, short_text, spelled_keyword

Json = dict[str, Any]

_DYNAMIC: Final = ("$dynamicRef", "$recursiveRef")
# The other keywords that refuse values: the type of those values, if it is one, and the settings
# without effect.
_KEYWORDS: Final[Mapping[str, tuple[str, tuple[Any, ...]]]] = {
    **dict.fromkeys(("if", "then", "else", *_DYNAMIC), ("", ())),
    "not": ("", (False,)),
    "pattern": ("string", ("", ".*")),
    **dict.fromkeys(("contains", "minContains", "maxContains"), ("array", ())),
    "uniqueItems": ("array", (False,)),
    "unevaluatedItems": ("array", (True, {})),
    **dict.fromkeys(("dependencies", "dependentRequired", "dependentSchemas"), ("object", ({},))),
    "patternProperties": ("object", ({},)),
    "propertyNames": ("object", (True, {}, {"type": "string"})),
    "unevaluatedProperties": ("object", (True, {})),
}


class FaultKind(StrEnum):
    """The difference at a place."""

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
    """A member is no longer declared, so that it may be anything, or missing."""
    EXTRA = "extra"
    """An unknown member is accepted; this is not a fault."""
    FORMAT = "format"
    """The format differs, which readers need not check; this is not a fault."""
    RULE = "rule"
    """Another keyword differs, with unknown effects."""
    UNKNOWN = "unknown"
    """The meaning is unclear, or the comparison too large."""


@dataclass(frozen=True, slots=True)
class SchemaFault:
    """A place at which values of one schema may not be values of the other.

    `path` leads there by members: `hours[].at`. `narrow` and `wide` are the two sides as short
    text.
    """

    kind: FaultKind
    path: str
    narrow: str = ""
    wide: str = ""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two schemas at a place, with the keywords of either in one object."""

    narrow: Json
    wide: Json
    path: str

    def fault(self, kind: FaultKind, narrow: object = "", wide: object = "") -> SchemaFault:
        return SchemaFault(kind, self.path, short_text(narrow), short_text(wide))

    def differing(self, kind: FaultKind, keyword: str) -> SchemaFault:
        sides = spelled_keyword(self.narrow, keyword), spelled_keyword(self.wide, keyword)
        return self.fault(kind, *sides)


def weight(found: Sequence[SchemaFault], path: str) -> tuple[int, int]:
    """Return the distance of an alternative: another type at its own place is the farthest."""
    refused = refusals(found)
    other_kind = any(
        fault.kind in (FaultKind.TYPE, FaultKind.VALUE) and fault.path == path for fault in refused
    )
    return int(other_kind), len(refused)


def refusals(found: Sequence[SchemaFault]) -> list[SchemaFault]:
    """Return the faults that refuse a value."""
    return [fault for fault in found if fault.kind not in (FaultKind.EXTRA, FaultKind.FORMAT)]


def beside_constants(pair: Pair, kind: str) -> Iterator[SchemaFault]:
    """Yield a fault if a type has values besides the constants of the other schema."""
    values = values_of(pair.wide)
    if values is None:
        return
    all_of = {"boolean": {b"true", b"false"}, "null": {b"null"}}.get(kind)
    if all_of is None or not all_of <= identities(values):
        yield pair.fault(FaultKind.VALUE, schema_text(pair.narrow), schema_text(pair.wide))


def bounds(pair: Pair, kind: str) -> Iterator[SchemaFault]:
    """Yield the bounds of the wide schema for a type that the narrow one may break."""
    if kind in ("integer", "number"):
        yield from _ranges(pair, whole=kind == "integer")
        return
    if kind in LENGTHS:
        least, most = LENGTHS[kind]
        if measure(pair.narrow, least, 0) < measure(pair.wide, least, 0):
            yield pair.differing(FaultKind.BOUND, least)
        if measure(pair.narrow, most, inf) > measure(pair.wide, most, inf):
            yield pair.differing(FaultKind.BOUND, most)


def _ranges(pair: Pair, *, whole: bool) -> Iterator[SchemaFault]:
    for edge in EDGES:
        ours, theirs = (tighter(side, edge, whole=whole) for side in (pair.narrow, pair.wide))
        if ours < theirs:
            yield pair.fault(
                FaultKind.BOUND,
                *(spelled_keyword(side, edge.keyword(side)) for side in (pair.narrow, pair.wide)),
            )
    step = pair.wide.get("multipleOf")
    if step is not None and not divides(step, pair.narrow.get("multipleOf", 1 if whole else None)):
        yield pair.differing(FaultKind.BOUND, "multipleOf")


def missing_keywords(
    pair: Pair, kind: str, alike: Callable[[Json, Json], bool]
) -> Iterator[SchemaFault]:
    """Yield the other keywords of the wide schema that the narrow one lacks."""
    for keyword in sorted(pair.wide.keys() & _KEYWORDS.keys()):
        type_, idle = _KEYWORDS[keyword]
        if type_ not in ("", kind) or pair.wide[keyword] in idle:
            continue
        group = next(
            (keywords for keywords in TOGETHER if keyword in keywords), frozenset({keyword})
        )
        if keyword.startswith("unevaluated"):
            group = frozenset({*pair.wide, *pair.narrow}) - ANNOTATIONS
        sides = [
            {key: side[key] for key in group if key in side} for side in (pair.narrow, pair.wide)
        ]
        if not alike(*sides):
            yield pair.differing(
                FaultKind.UNKNOWN if keyword in _DYNAMIC else FaultKind.RULE, keyword
            )
