"""Types, methods and members that went while a similar one came: they may have a new name.

Similarity proves nothing, so a person decides about each.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from mcp_protogen.base import graph
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.inputs.translations import StepDirection
from mcp_protogen.pipeline.ir import (
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    Ref,
    RevisionIR,
    TypeExpr,
    TypeIR,
    UnionIR,
)

Key: TypeAlias = tuple[StepDirection, str]
"""The place of a translation rule, after its direction."""

_ENOUGH = 0.6
"""The share of common parts from which one thing may be the other."""
_EVERYWHERE = frozenset({"_meta", "resultType"})


class Shape(NamedTuple):
    """The parts that two things must have in common, and those that they may."""

    kind: object
    parts: frozenset[str]


def find_renamed_types(older: RevisionIR, newer: RevisionIR) -> dict[str, list[str]]:
    """Return the types that went, each with the similar ones that came."""
    before, after = _exchanged_types(older), _exchanged_types(newer)
    return _find_similar(
        {name: Shape(type(type_), _parts(type_)) for name, type_ in before.items()},
        {name: Shape(type(type_), _parts(type_)) for name, type_ in after.items()},
    )


def find_renamed_methods(older: RevisionIR, newer: RevisionIR) -> dict[str, list[str]]:
    """Return the methods that went, each with the similar ones that came."""
    return _find_similar(dict(_method_shapes(older)), dict(_method_shapes(newer)))


def find_renamed_members(
    older: RevisionIR, newer: RevisionIR, became: Mapping[str, str]
) -> Iterator[tuple[Key, list[str]]]:
    """Yield the place of each member that the other end lacks, with those that it may be there."""
    before, after = _exchanged_types(older), _exchanged_types(newer)
    was = {new: old for old, new in became.items()}
    similar = find_renamed_types(older, newer)
    for name, new in after.items():
        old = before.get(name) or before.get(was.get(name, ""))
        if isinstance(old, ObjectIR) and isinstance(new, ObjectIR):
            pairs = list(_member_pairs(old, new, similar))
            ways: tuple[tuple[StepDirection, list[tuple[str, str]]], ...] = (
                ("up", pairs),
                ("down", [(added, removed) for removed, added in pairs]),
            )
            for direction, found in ways:
                for member in dict.fromkeys(here for here, _ in found):
                    key = direction, f"{name}.{member}"
                    yield key, [there for here, there in found if here == member]


def _member_pairs(
    old: ObjectIR, new: ObjectIR, similar: Mapping[str, Sequence[str]]
) -> Iterator[tuple[str, str]]:
    """Yield each member that went, with each that came and may have its values."""
    before, after = ({field.wire: field for field in type_.fields} for type_ in (old, new))
    for removed in sorted(before.keys() - after.keys()):
        for added in sorted(after.keys() - before.keys()):
            if _may_be(before[removed].type, after[added].type, similar):
                yield removed, added


def _may_be(one: TypeExpr, other: TypeExpr, similar: Mapping[str, Sequence[str]]) -> bool:
    match one, other:
        case Ref(name), Ref(other_name):
            return name == other_name or other_name in similar.get(name, ())
        case (ListOf(inner), ListOf(other_inner)) | (MapOf(inner), MapOf(other_inner)):
            return _may_be(inner, other_inner, similar)
        case _:
            return one == other


def _exchanged_types(revision: RevisionIR) -> Mapping[str, TypeIR]:
    """Return the types within params and results, which are translated."""
    types = {str(type_.name): type_ for type_ in revision.types}
    sent = {name for method in revision.methods for name in (method.params, *method.results)}
    found = graph.find_reachable(recursion.graph_of(revision.types), sent)
    return {name: types[name] for name in sorted(found)}


def _parts(type_: TypeIR) -> frozenset[str]:
    match type_:
        case ObjectIR(fields=fields):
            return frozenset(field.wire for field in fields) - _EVERYWHERE
        case UnionIR(arms=arms):
            return frozenset(map(str, arms))
        case _:
            values = type_.type.values if isinstance(type_.type, LiteralOf) else [type_.type]
            return frozenset(map(str, values))


def _method_shapes(revision: RevisionIR) -> Iterator[tuple[str, Shape]]:
    types = _exchanged_types(revision)
    for method in revision.methods:
        parts = {
            f"{of} {part}"
            for of, names in (("params", (method.params,)), ("result", method.results))
            for name in names
            for part in _parts(types[name])
        }
        words = method.method.replace("_", "/").split("/")
        yield method.method, Shape((method.kind, method.senders), frozenset(parts or words))


def _find_similar(before: Mapping[str, Shape], after: Mapping[str, Shape]) -> dict[str, list[str]]:
    added = after.keys() - before.keys()
    found = {
        name: sorted(new for new in added if _are_similar(before[name], after[new]))
        for name in sorted(before.keys() - after.keys())
    }
    return {name: others for name, others in found.items() if others}


def _are_similar(one: Shape, other: Shape) -> bool:
    common, every = one.parts & other.parts, one.parts | other.parts
    return one.kind == other.kind and len(common) >= _ENOUGH * max(len(every), 1)
