"""The types of members, as types of the IR, for a schema and for an SDK.

A `Ref` names a definition of the schema, or a class, an enumeration or an alias of the SDK.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from mcp_protogen.base.jsonvalue import json_type
from mcp_protogen.pipeline.ir import (
    Anything,
    ListOf,
    LiteralOf,
    MapOf,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
)

Json = dict[str, Any]

NULL = Scalar("null")
_WIDER: Mapping[str, str] = {"integer": "number"}


@dataclass(frozen=True, slots=True)
class OtherAnnotation(Anything):
    """An annotation that JSON does not explain, and which may stand for any value."""

    text: str


_FROM_JSON: Mapping[str, Callable[[Any], TypeExpr]] = {
    "ref": Ref,
    "scalar": Scalar,
    "literal": lambda values: LiteralOf(tuple(values)),
    "list": lambda item: ListOf(of_json(item)),
    "map": lambda value: MapOf(of_json(value)),
    "union": lambda arms: OneOf(tuple(map(of_json, arms))),
    "any": OtherAnnotation,
}


def of_json(expression: Json) -> TypeExpr:
    """Return the shape of an expression of the probe."""
    ((kind, inside),) = expression.items()
    return _FROM_JSON[kind](inside)


def text(shape: TypeExpr) -> str:
    """Return a shape in a few words: `string | [ContentBlock]`."""
    match shape:
        case Ref(key):
            return key.rsplit(":", 1)[-1]
        case Scalar(kind):
            return kind
        case LiteralOf(values):
            return " | ".join(_constant(value) for value in values)
        case ListOf(item):
            return f"[{text(item)}]"
        case MapOf(value):
            return f"map<{text(value)}>"
        case OneOf(arms):
            return " | ".join(map(text, arms))
        case OtherAnnotation(annotation):
            return annotation
        case Anything():
            return "any"
        case _:
            assert_never(shape)


def _constant(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def kinds(shape: TypeExpr, resolve: Callable[[str], TypeExpr | None]) -> frozenset[str]:
    """Return the JSON kinds of a shape: string, boolean, number, array, object; or any."""
    return frozenset(
        kind for leaf in leaves(shape, resolve) if leaf != NULL for kind in _kinds(leaf)
    )


def _kinds(leaf: TypeExpr) -> Iterator[str]:
    match leaf:
        case Scalar(kind):
            yield _WIDER.get(kind, kind)
        case LiteralOf(values):
            yield from (_WIDER.get(kind, kind) for kind in map(json_type, values))
        case ListOf():
            yield "array"
        case Anything():
            yield "any"
        case _:
            yield "object"


def leaves(shape: TypeExpr, resolve: Callable[[str], TypeExpr | None]) -> Iterator[TypeExpr]:
    """Yield the alternatives of a shape, with unions and aliases resolved.

    `resolve` returns the type that a name stands for; None for an object, which stays as it is.
    """
    yield from _leaves(shape, resolve, frozenset())


def _leaves(
    shape: TypeExpr, resolve: Callable[[str], TypeExpr | None], inside: frozenset[str]
) -> Iterator[TypeExpr]:
    if isinstance(shape, OneOf):
        for arm in shape.arms:
            yield from _leaves(arm, resolve, inside)
    elif isinstance(shape, Ref) and (meant := resolve(shape.name)) is not None:
        # A recursive alias, such as one for any JSON, is not followed twice.
        if shape.name in inside:
            yield Anything()
        else:
            yield from _leaves(meant, resolve, inside | {shape.name})
    else:
        yield shape
