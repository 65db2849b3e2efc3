"""The ranges of numbers, and of the lengths of strings, arrays and objects."""

from fractions import Fraction
from math import ceil, floor, inf
from typing import Any, Final, NamedTuple

from mcp_protogen.base.canonical import canonical

Json = dict[str, Any]

LENGTHS: Final = {
    "string": ("minLength", "maxLength"),
    "array": ("minItems", "maxItems"),
    "object": ("minProperties", "maxProperties"),
}
"""The keywords of the least and the greatest length of a value, by its type."""


class Edge(NamedTuple):
    """The keywords of one end of a range, and 1 for the lower end."""

    closed: str
    opened: str
    sign: int

    def keyword(self, schema: Json) -> str:
        """Return the keyword of the tighter bound of a schema."""
        opened = tighter({self.opened: schema.get(self.opened)}, self, whole=False)
        closed = tighter({self.closed: schema.get(self.closed)}, self, whole=False)
        return self.opened if opened > closed else self.closed


EDGES: Final = (Edge("minimum", "exclusiveMinimum", 1), Edge("maximum", "exclusiveMaximum", -1))


def tighter(schema: Json, edge: Edge, *, whole: bool) -> tuple[float, bool]:
    """Return the tighter of two bounds, as if both were lower ones; true if it is excluded."""
    edges: list[tuple[float, bool]] = []
    for keyword, excluded in ((edge.closed, False), (edge.opened, True)):
        bound = edge.sign * measure(schema, keyword, -edge.sign * inf)
        if whole and abs(bound) < inf:
            bound, excluded = floor(bound) + 1 if excluded else ceil(bound), False
        edges.append((bound, excluded))
    return max(edges)


def measure(schema: Json, keyword: str, otherwise: float) -> float:
    """Return the number that a keyword has."""
    value = schema.get(keyword)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else otherwise


def divides(step: Any, by: Any) -> bool:
    """Return whether all multiples of `by` are multiples of `step`, in floating point."""
    are_numbers = all(
        isinstance(number, int | float) and number is not True for number in (step, by)
    )
    if not are_numbers or not step:
        return canonical([step]) == canonical([by])
    return (Fraction(by) / Fraction(step)).denominator == 1


def ranges_are_disjoint(one: Json, other: Json, kind: str) -> bool:
    """Return whether no value of a type is in the ranges of both schemas."""
    if kind in LENGTHS:
        least, most = LENGTHS[kind]
        low = max(measure(side, least, 0) for side in (one, other))
        return low > min(measure(side, most, inf) for side in (one, other))
    if kind not in ("integer", "number"):
        return False
    ends = [
        max(tighter(side, edge, whole=kind == "integer") for side in (one, other)) for edge in EDGES
    ]
    (low, low_is_out), (high, high_is_out) = ends
    return low > -high or (low == -high and (low_is_out or high_is_out))
