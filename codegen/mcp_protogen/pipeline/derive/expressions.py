"""Functions on type expressions: aliases, alternatives and accepted values."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_protogen.base.graph import reach
from mcp_protogen.pipeline.derive.recursion import names_in, uses
from mcp_protogen.pipeline.ir import (
    AliasIR,
    FieldIR,
    Filled,
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


@dataclass
class ByKind:
    """Alternatives by their kind of JSON value."""

    objects: list[TypeExpr] = field(default_factory=list[TypeExpr])
    arrays: list[TypeExpr] = field(default_factory=list[TypeExpr])
    scalars: list[TypeExpr] = field(default_factory=list[TypeExpr])


def by_kind(arms: Iterable[TypeExpr], types: Mapping[str, TypeIR]) -> ByKind:
    """Return alternatives by kind, including nested ones."""
    kinds = ByKind()
    for arm in flat(arms, types):
        match arm:
            case Ref() | MapOf():
                kinds.objects.append(arm)
            case ListOf():
                kinds.arrays.append(arm)
            case _:
                kinds.scalars.append(arm)
    return kinds


def constants(type_: TypeIR | None) -> dict[str, Any]:
    """Return the required members with only one possible value, with that value."""
    if not isinstance(type_, ObjectIR):
        return {}
    return {
        member.wire: member.type.values[0]
        for member in type_.fields
        if member.required and isinstance(member.type, LiteralOf) and len(member.type.values) == 1
    }


def plain(expression: TypeExpr, types: Mapping[str, TypeIR]) -> TypeExpr:
    """Return the type that an alias stands for."""
    while isinstance(expression, Ref):
        type_ = types.get(str(expression.name))
        if not isinstance(type_, AliasIR):
            break
        expression = type_.type
    return expression


def resolve_alias(expression: TypeExpr, types: Mapping[str, TypeIR]) -> TypeExpr:
    """Return the type that an alias stands for, or the alias itself if it is recursive."""
    if isinstance(expression, Ref) and str(expression.name) in _aliases_below(expression, types):
        return expression
    return plain(expression, types)


def _aliases_below(expression: TypeExpr, types: Mapping[str, TypeIR]) -> set[str]:
    """Return the names that an alias leads to without entering an object."""

    def below(name: str) -> Iterable[str]:
        type_ = types.get(name)
        return () if type_ is None or isinstance(type_, ObjectIR) else uses(type_)

    return {inner for name in reach(names_in(expression), below) for inner in below(name)}


def flat(arms: Iterable[TypeExpr], types: Mapping[str, TypeIR]) -> Iterator[TypeExpr]:
    """Yield alternatives, with aliases and unions resolved; unions with a tag are kept."""
    names: set[TypeExpr] = set()
    stack = [*arms][::-1]
    while stack:
        expression = plain(stack.pop(), types)
        type_ = types.get(str(expression.name)) if isinstance(expression, Ref) else None
        if isinstance(expression, OneOf):
            stack += reversed(expression.arms)
        elif not isinstance(type_, UnionIR) or type_.tag is not None:
            yield expression
        elif expression not in names:
            names.add(expression)
            stack += reversed(type_.arms)


def alternatives(type_: TypeIR) -> tuple[TypeExpr, ...]:
    """Return the arms of a union, or the type itself."""
    return type_.arms if isinstance(type_, UnionIR) else (Ref(type_.name),)


def arms_of(expression: TypeExpr) -> tuple[TypeExpr, ...]:
    """Return the arms of a union without a name, or the expression itself."""
    return expression.arms if isinstance(expression, OneOf) else (expression,)


def accepts(destination: TypeExpr, source: TypeExpr) -> bool:
    """Return whether the destination accepts every value of a scalar source."""
    match source, destination:
        case LiteralOf(ours), LiteralOf(theirs):
            return set(ours) <= set(theirs)
        case LiteralOf(ours), Scalar("string"):
            return all(isinstance(value, str) for value in ours)
        case Scalar("integer"), Scalar("number"):
            return True
        case _:
            return source == destination


def describe(expression: TypeExpr) -> str:
    """Return an expression in words, for a problem."""
    match expression:
        case Ref(name):
            return str(name)
        case Scalar(kind):
            return f"an {kind}" if kind == "integer" else f"a {kind}"
        case LiteralOf(values):
            return " or ".join(map(str, values))
        case ListOf(item):
            return f"an array of {describe(item)}"
        case MapOf():
            return "an object with free keys"
        case OneOf(arms):
            return " or ".join(map(describe, arms))
        case _:
            return "anything"


def by_name(fields: Iterable[FieldIR]) -> dict[str, FieldIR]:
    """Return members by their names on the wire."""
    return {member.wire: member for member in fields}


def object_fields(expression: TypeExpr, types: Mapping[str, TypeIR]) -> tuple[FieldIR, ...]:
    """Return the members of an object; an object with free keys has none."""
    found = types[str(expression.name)] if isinstance(expression, Ref) else None
    return found.fields if isinstance(found, ObjectIR) else ()


def usual(member: FieldIR, types: Mapping[str, TypeIR]) -> Any:
    """Return the usual value of a required member, also if it is an object."""
    if not isinstance(member.default, Filled):
        return member.default
    texts = member.default.texts
    return {
        inner.wire: "" if inner.wire in texts else usual(inner, types)
        for inner in object_fields(member.type, types)
        if inner.required
    }


def goes_when_empty(source: FieldIR, destination: FieldIR | None) -> bool:
    """Return whether a member may be dropped once all members inside it are dropped."""
    beside = source.wire == "_meta" or isinstance(source.default, Filled)
    return beside and destination is not None and not destination.required
