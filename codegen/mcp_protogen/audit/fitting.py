"""The check whether a type of the target can hold the values of a type of the schema.

Both sides are split into alternatives. An alternative of the schema is accepted by one of the
target that is the same or looser; the rest on either side is the difference. A looser type is no
difference: an SDK may have `str` for a URI, or a plain dictionary for an object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_protogen.audit.description import Description
from mcp_protogen.audit.expected import Expected
from mcp_protogen.audit.matching import Matching
from mcp_protogen.audit.shapes import (
    NULL,
    Anything,
    ListOf,
    Literals,
    MapOf,
    Named,
    Scalar,
    Shape,
    kind_of,
    leaves,
)

# The kinds that a member of the target with this kind accepts.
_TAKES: Mapping[str, frozenset[str]] = {
    "number": frozenset({"number", "integer"}),
}


@dataclass(frozen=True, slots=True)
class Sides:
    """The revision, the target, and the matches between their types."""

    wanted: Expected
    target: Description
    matching: Matching

    def ours(self, shape: Shape) -> tuple[Shape, ...]:
        """Return the alternatives of a shape of the schema, without null."""
        return tuple(leaf for leaf in leaves(shape, self.wanted.meaning) if leaf != NULL)

    def theirs(self, shape: Shape) -> tuple[Shape, ...]:
        """Return the alternatives of a shape of the target, without null."""
        return tuple(leaf for leaf in leaves(shape, self.target.meaning) if leaf != NULL)


@dataclass(slots=True)
class Fit:
    """The result of comparing two shapes.

    `missing` and `extra` are alternatives that only the schema, or only the target, has; with
    `disjoint` there is nothing in common. `inside` are pairs to compare further, with the end of
    their path; `objects` are pairs of an object and the class in its place. `untyped` are objects
    that the target does not check, `used` the classes that hold something.
    """

    missing: list[Shape] = field(default_factory=list[Shape])
    extra: list[Shape] = field(default_factory=list[Shape])
    values_missing: list[object] = field(default_factory=list[object])
    values_extra: list[object] = field(default_factory=list[object])
    disjoint: bool = False
    inside: list[tuple[Shape, Shape, str]] = field(default_factory=list[tuple[Shape, Shape, str]])
    objects: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    untyped: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])


def fit(ours: Shape, theirs: Shape, sides: Sides) -> Fit:
    """Compare a shape of the schema with one of the target; null is not compared."""
    wanted, found = sides.ours(ours), sides.theirs(theirs)
    result = Fit()
    if any(isinstance(leaf, Anything) for leaf in found) or not wanted:
        result.untyped = [leaf.key for leaf in wanted if isinstance(leaf, Named)]
        return result
    used: set[Shape] = set()
    for leaf in wanted:
        takers = [other for other in found if _takes(leaf, other, sides)]
        if isinstance(leaf, Anything) and _is_all_json(found):
            continue
        used.update(takers)
        if not takers:
            result.missing.append(leaf)
        elif isinstance(leaf, Named) and any(isinstance(taker, MapOf) for taker in takers):
            result.untyped.append(leaf.key)
        elif not any(isinstance(taker, Scalar) for taker in takers):
            _look_inside(leaf, takers, result, sides)
    result.used = [leaf.key for leaf in used if isinstance(leaf, Named)]
    if not any(isinstance(leaf, Anything) for leaf in wanted):
        result.extra = [
            leaf
            for leaf in found
            if leaf not in used and not _is_part(leaf, wanted) and not _catches(leaf, sides)
        ]
    _compare_values(wanted, found, result)
    result.disjoint = bool(found) and len(result.missing) == len(wanted)
    return result


def _takes(ours: Shape, theirs: Shape, sides: Sides) -> bool:
    match ours, theirs:
        case (Anything(), _):
            return False
        case (Scalar(kind), Scalar(other)):
            return kind in _TAKES.get(other, {other})
        case (Literals(values), Literals(others)):
            return not set(values).isdisjoint(others)
        case (Literals(values), Scalar(other)):
            return any(kind_of(value) in _TAKES.get(other, {other}) for value in values)
        case (ListOf(), ListOf()) | (MapOf(), MapOf()) | (Named(), MapOf()):
            return True
        case (MapOf(), Named(key)):
            # A class can hold an object with free keys only if it requires no member.
            return not any(member.required for member in sides.target.types[key].members)
        case (Named(name), Named(key)):
            return stands_for(name, key, sides)
        case _:
            return False


def stands_for(name: str, key: str, sides: Sides) -> bool:
    """Return whether a class of the target can stand for an object of the schema.

    It is the match, or a base or subclass of that; or else it shares members with the object and
    has no other constants.
    """
    matched = sides.matching.key(name)
    theirs = sides.target.types[key]
    if matched is not None:
        best = sides.target.types[matched]
        if key == matched or key in best.bases or matched in theirs.bases:
            return True
    constants, others = sides.wanted.constants(name), theirs.constants()
    if any(not constants[wire] & others[wire] for wire in constants.keys() & others.keys()):
        return False
    wires = {member.wire for member in theirs.members}
    fields = members_of(name, sides.wanted)
    required = {field for field, needed in fields.items() if needed}
    if not wires or not fields:
        return True
    return required <= wires if required else not wires.isdisjoint(fields)


def members_of(name: str, wanted: Expected) -> dict[str, bool]:
    """Return the members of an object of the schema, and whether they are required."""
    type_ = wanted.types[name]
    return {field.wire: field.required for field in getattr(type_, "fields", ())}


def _look_inside(ours: Shape, takers: list[Shape], result: Fit, sides: Sides) -> None:
    """Note what has to be compared further, where it is clear what belongs together."""
    for theirs in takers:
        match ours, theirs:
            case (ListOf(item), ListOf(other)):
                result.inside.append((item, other, "[]"))
            case (MapOf(value), MapOf(other)):
                result.inside.append((value, other, ".*"))
            case (Named(name), Named(key)) if len(takers) == 1:
                result.objects.append((name, key))
            case _:
                pass
        if len(takers) > 1 and result.inside:
            item, other, _ = result.inside.pop()
            if not fit(item, other, sides).missing:
                return


def _compare_values(wanted: tuple[Shape, ...], found: tuple[Shape, ...], result: Fit) -> None:
    ours, theirs = _values(wanted), _values(found)
    if not ours or not theirs:
        return
    # A scalar beside the constants accepts all other values.
    open_here = {leaf.kind for leaf in wanted if isinstance(leaf, Scalar)}
    open_there = {leaf.kind for leaf in found if isinstance(leaf, Scalar)}
    result.values_missing = [v for v in ours if v not in theirs and kind_of(v) not in open_there]
    result.values_extra = [v for v in theirs if v not in ours and kind_of(v) not in open_here]


def _values(shapes: tuple[Shape, ...]) -> list[object]:
    return [value for leaf in shapes if isinstance(leaf, Literals) for value in leaf.values]


def _is_all_json(found: tuple[Shape, ...]) -> bool:
    """Return whether some alternatives together accept any JSON value."""
    kinds = {leaf.kind for leaf in found if isinstance(leaf, Scalar)}
    forms = {type(leaf) for leaf in found}
    return {"string", "boolean"} <= kinds and "number" in kinds and {ListOf, MapOf} <= forms


def _is_part(theirs: Shape, wanted: tuple[Shape, ...]) -> bool:
    """Return whether it is a part of a type of the schema, as an integer is of a number."""
    return isinstance(theirs, Scalar) and any(
        isinstance(leaf, Scalar) and theirs.kind in _TAKES.get(leaf.kind, {leaf.kind})
        for leaf in wanted
    )


def _catches(theirs: Shape, sides: Sides) -> bool:
    """Return whether an arm accepts what no other arm names: a class without constants."""
    return isinstance(theirs, Named) and not sides.target.types[theirs.key].constants()
