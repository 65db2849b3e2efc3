"""The check whether a type of the SDK can hold the values of a type of the schema.

Both sides are split into alternatives. An alternative of the schema is accepted by one of the
SDK that is the same or looser; the rest on either side is the difference. A looser type is not a
difference: an SDK may have `str` for a URI, or a plain dictionary for an object.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mcp_protogen.base.jsonvalue import is_of_type, json_type
from mcp_protogen.instep.audit.description import Description
from mcp_protogen.instep.audit.expected import ExpectedTypes
from mcp_protogen.instep.audit.matching import Matching
from mcp_protogen.instep.audit.member_types import NULL, leaves
from mcp_protogen.pipeline.ir import Anything, ListOf, LiteralOf, MapOf, Ref, Scalar, TypeExpr

# The kinds that a member of the SDK with this kind accepts.
_ACCEPTS: Mapping[str, frozenset[str]] = {"number": frozenset({"number", "integer"})}


@dataclass(frozen=True, slots=True)
class AuditedSdk:
    """The revision, the SDK, and the matches between their types."""

    wanted: ExpectedTypes
    sdk: Description
    matching: Matching

    def schema_arms(self, shape: TypeExpr) -> tuple[TypeExpr, ...]:
        """Return the alternatives of a shape of the schema, without null."""
        return tuple(leaf for leaf in leaves(shape, self.wanted.resolve) if leaf != NULL)

    def target_arms(self, shape: TypeExpr) -> tuple[TypeExpr, ...]:
        """Return the alternatives of a shape of the SDK, without null."""
        return tuple(leaf for leaf in leaves(shape, self.sdk.resolve) if leaf != NULL)


@dataclass(slots=True)
class ShapeFit:
    """The result of comparing two shapes.

    `missing` and `extra` are alternatives that only the schema, or only the SDK, has; with
    `disjoint` there is nothing in common. `inside` are pairs to compare further, with the end of
    their path; `objects` are pairs of an object and the class in its place. `untyped` are objects
    that the SDK does not check, `used` the classes that hold something.
    """

    missing: list[TypeExpr] = field(default_factory=list[TypeExpr])
    extra: list[TypeExpr] = field(default_factory=list[TypeExpr])
    values_missing: list[object] = field(default_factory=list[object])
    values_extra: list[object] = field(default_factory=list[object])
    disjoint: bool = False
    inside: list[tuple[TypeExpr, TypeExpr, str]] = field(
        default_factory=list[tuple[TypeExpr, TypeExpr, str]]
    )
    objects: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    untyped: list[str] = field(default_factory=list[str])
    used: list[str] = field(default_factory=list[str])


def fit(ours: TypeExpr, theirs: TypeExpr, audited: AuditedSdk) -> ShapeFit:
    """Compare a shape of the schema with one of the SDK; null is not compared."""
    wanted, found = audited.schema_arms(ours), audited.target_arms(theirs)
    result = ShapeFit()
    if any(isinstance(leaf, Anything) for leaf in found) or not wanted:
        result.untyped = [leaf.name for leaf in wanted if isinstance(leaf, Ref)]
        return result
    used: set[TypeExpr] = set()
    for leaf in wanted:
        acceptors = [candidate for candidate in found if _accepts(leaf, candidate, audited)]
        if isinstance(leaf, Anything) and _is_all_json(found):
            continue
        used.update(acceptors)
        if not acceptors:
            result.missing.append(leaf)
        elif isinstance(leaf, Ref) and any(isinstance(acceptor, MapOf) for acceptor in acceptors):
            result.untyped.append(leaf.name)
        elif not any(isinstance(acceptor, Scalar) for acceptor in acceptors):
            _look_inside(leaf, acceptors, result, audited)
    result.used = [leaf.name for leaf in used if isinstance(leaf, Ref)]
    if not any(isinstance(leaf, Anything) for leaf in wanted):
        result.extra = [
            leaf
            for leaf in found
            if leaf not in used and not _is_within(leaf, wanted) and not _catches(leaf, audited)
        ]
    _compare_values(wanted, found, result)
    result.disjoint = bool(found) and len(result.missing) == len(wanted)
    return result


def _accepts(ours: TypeExpr, theirs: TypeExpr, audited: AuditedSdk) -> bool:
    match ours, theirs:
        case (Anything(), _):
            return False
        case (Scalar(kind), Scalar(other)):
            return kind in _ACCEPTS.get(other, {other})
        case (LiteralOf(values), LiteralOf(others)):
            return not set(values).isdisjoint(others)
        case (LiteralOf(values), Scalar(other)):
            return any(is_of_type(value, other) for value in values)
        case (ListOf(), ListOf()) | (MapOf(), MapOf()) | (Ref(), MapOf()):
            return True
        case (MapOf(), Ref(key)):
            # A class can hold an object with free keys only if it requires no member.
            return not any(member.required for member in audited.sdk.types[key].members)
        case (Ref(name), Ref(key)):
            return stands_for(name, key, audited)
        case _:
            return False


def stands_for(name: str, key: str, audited: AuditedSdk) -> bool:
    """Return whether a class of the SDK can stand for an object of the schema.

    That is the match, its bases and subclasses, and any class that shares members with the object
    and has no other constants.
    """
    matched = audited.matching.key(name)
    theirs = audited.sdk.types[key]
    if matched is not None:
        best = audited.sdk.types[matched]
        if key == matched or key in best.bases or matched in theirs.bases:
            return True
    constants, others = audited.wanted.constants(name), theirs.constants()
    if any(not constants[wire] & others[wire] for wire in constants.keys() & others.keys()):
        return False
    wires = {member.wire for member in theirs.members}
    fields = members_of(name, audited.wanted)
    required = {field for field, needed in fields.items() if needed}
    if not wires or not fields:
        return True
    return required <= wires if required else not wires.isdisjoint(fields)


def members_of(name: str, wanted: ExpectedTypes) -> dict[str, bool]:
    """Return the members of an object of the schema, and whether they are required."""
    type_ = wanted.types[name]
    return {field.wire: field.required for field in getattr(type_, "fields", ())}


def _look_inside(
    ours: TypeExpr, acceptors: list[TypeExpr], result: ShapeFit, audited: AuditedSdk
) -> None:
    """Note the pairs to compare further, where the pairing is clear."""
    for theirs in acceptors:
        match ours, theirs:
            case (ListOf(item), ListOf(other)):
                result.inside.append((item, other, "[]"))
            case (MapOf(value), MapOf(other)):
                result.inside.append((value, other, ".*"))
            case (Ref(name), Ref(key)) if len(acceptors) == 1:
                result.objects.append((name, key))
            case _:
                pass
        if len(acceptors) > 1 and result.inside:
            item, other, _ = result.inside.pop()
            if not fit(item, other, audited).missing:
                return


def _compare_values(
    wanted: tuple[TypeExpr, ...], found: tuple[TypeExpr, ...], result: ShapeFit
) -> None:
    ours, theirs = _values(wanted), _values(found)
    if not ours or not theirs:
        return
    # A scalar beside the constants accepts all other values.
    open_here = {leaf.kind for leaf in wanted if isinstance(leaf, Scalar)}
    open_there = {leaf.kind for leaf in found if isinstance(leaf, Scalar)}
    result.values_missing = [v for v in ours if v not in theirs and json_type(v) not in open_there]
    result.values_extra = [v for v in theirs if v not in ours and json_type(v) not in open_here]


def _values(shapes: tuple[TypeExpr, ...]) -> list[object]:
    return [value for leaf in shapes if isinstance(leaf, LiteralOf) for value in leaf.values]


def _is_all_json(found: tuple[TypeExpr, ...]) -> bool:
    """Return whether some alternatives together accept any JSON value."""
    kinds = {leaf.kind for leaf in found if isinstance(leaf, Scalar)}
    classes = {type(leaf) for leaf in found}
    return {"string", "boolean"} <= kinds and "number" in kinds and {ListOf, MapOf} <= classes


def _is_within(theirs: TypeExpr, wanted: tuple[TypeExpr, ...]) -> bool:
    """Return whether a type of the schema includes it, as a number does an integer."""
    return isinstance(theirs, Scalar) and any(
        isinstance(leaf, Scalar) and theirs.kind in _ACCEPTS.get(leaf.kind, {leaf.kind})
        for leaf in wanted
    )


def _catches(theirs: TypeExpr, audited: AuditedSdk) -> bool:
    """Return whether an arm accepts values that no other arm names: a class without constants."""
    return isinstance(theirs, Ref) and not audited.sdk.types[theirs.name].constants()
