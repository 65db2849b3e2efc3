"""Types as data of the page: members, alternatives and constants."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mcp_protogen.pipeline.ir import (
    AliasIR,
    Anything,
    FieldIR,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
    TypeIR,
    UnionIR,
)

Json = dict[str, Any]


def types_of(types: Iterable[TypeIR]) -> list[Json]:
    """Return types by name, without empty members."""
    return sorted(map(_type, types), key=lambda one: one["name"])


def _type(one: TypeIR) -> Json:
    common: Json = {"name": one.name, "doc": one.doc}
    if one.deprecated:
        common["deprecated"] = True
    if isinstance(one, ObjectIR):
        return {
            **common,
            "kind": "object",
            "members": [_member(field) for field in one.fields],
            **({"open": True} if one.open else {}),
            **({"oneRequired": list(one.any_of_required)} if one.any_of_required else {}),
        }
    if isinstance(one, UnionIR):
        arms = [_expression(arm) for arm in one.arms]
        return {**common, "kind": "union", "arms": arms, **({"tag": one.tag} if one.tag else {})}
    return {**common, "kind": _alias(one), "is": _expression(one.type)}


def _alias(one: AliasIR) -> str:
    return "constants" if isinstance(one.type, LiteralOf) else "alias"


def _member(field: FieldIR) -> Json:
    said: Json = {"name": field.wire, "type": _expression(field.type), "doc": field.doc}
    if field.required:
        said["required"] = True
    if field.nullable:
        said["nullable"] = True
    if field.constraints:
        said["constraints"] = dict(field.constraints)
    if field.known_values:
        said["known"] = list(field.known_values)
    if field.deprecated:
        said["deprecated"] = True
    return said


def _reference(one: Ref) -> Json:
    return {"ref": one.name}


def _scalar(one: Scalar) -> Json:
    return {"scalar": one.kind}


def _literal(one: LiteralOf) -> Json:
    return {"constants": list(one.values)}


def _list(one: ListOf) -> Json:
    return {"list": _expression(one.item)}


def _map(one: MapOf) -> Json:
    return {"map": _expression(one.value)}


def _alternatives(one: OneOf) -> Json:
    return {"any": [_expression(arm) for arm in one.arms]}


def _anything(_: Anything) -> Json:
    return {"scalar": "any JSON value"}


_WRITERS: Mapping[type, Callable[[Any], Json]] = {
    Ref: _reference,
    Scalar: _scalar,
    LiteralOf: _literal,
    ListOf: _list,
    MapOf: _map,
    OneOf: _alternatives,
    Anything: _anything,
}


def _expression(one: TypeExpr) -> Json:
    return _WRITERS[type(one)](one)
