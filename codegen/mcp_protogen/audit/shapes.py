"""The types of members, in the same form for a schema and for a target.

A `Named` type is a definition on one side, and a class, an enumeration or an alias on the other.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, assert_never

from mcp_protogen import ir

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Named:
    """A type with its own name, by its key."""

    key: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """A string, boolean, integer, number or null."""

    kind: str


@dataclass(frozen=True, slots=True)
class Literals:
    """One of some constants."""

    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list of one type."""

    item: "Shape"


@dataclass(frozen=True, slots=True)
class MapOf:
    """An object with free keys."""

    value: "Shape"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of some alternatives."""

    arms: tuple["Shape", ...]


@dataclass(frozen=True, slots=True)
class Anything:
    """Any value, or a type that only the target can judge; `text` is the target's annotation."""

    text: str = "any"


Shape = Named | Scalar | Literals | ListOf | MapOf | OneOf | Anything

NULL = Scalar("null")
# A boolean is an integer to Python, hence the order.
_PYTHON: Mapping[type, str] = {str: "string", bool: "boolean", int: "integer", float: "number"}
_WIDER: Mapping[str, str] = {"integer": "number"}


def of_ir(type_: ir.TypeExpr) -> Shape:
    """Return the shape of a type expression of the IR."""
    match type_:
        case ir.Ref(name):
            return Named(str(name))
        case ir.Scalar(kind):
            return Scalar(kind)
        case ir.LiteralOf(values):
            return Literals(values)
        case ir.ListOf(item):
            return ListOf(of_ir(item))
        case ir.MapOf(value):
            return MapOf(of_ir(value))
        case ir.OneOf(arms):
            return OneOf(tuple(map(of_ir, arms)))
        case ir.Anything():
            return Anything()
        case _:
            assert_never(type_)


_FROM_JSON: Mapping[str, Callable[[Any], Shape]] = {
    "ref": Named,
    "scalar": Scalar,
    "literal": lambda values: Literals(tuple(values)),
    "list": lambda item: ListOf(of_json(item)),
    "map": lambda value: MapOf(of_json(value)),
    "union": lambda arms: OneOf(tuple(map(of_json, arms))),
    "any": Anything,
}


def of_json(expression: Json) -> Shape:
    """Return the shape of an expression of the probe."""
    ((form, inside),) = expression.items()
    return _FROM_JSON[form](inside)


def text(shape: Shape) -> str:
    """Return a shape in a few words: `string | [ContentBlock]`."""
    match shape:
        case Named(key):
            return key.rsplit(":", 1)[-1]
        case Scalar(kind):
            return kind
        case Literals(values):
            return " | ".join(_constant(value) for value in values)
        case ListOf(item):
            return f"[{text(item)}]"
        case MapOf(value):
            return f"map<{text(value)}>"
        case OneOf(arms):
            return " | ".join(map(text, arms))
        case Anything():
            return "any"
        case _:
            assert_never(shape)


def _constant(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)


def kinds(shape: Shape, resolve: Callable[[str], Shape | None]) -> frozenset[str]:
    """Return the JSON kinds of a shape: string, boolean, number, array, object; or any."""
    return frozenset(
        kind for leaf in leaves(shape, resolve) if leaf != NULL for kind in _kinds(leaf)
    )


def kind_of(value: object) -> str:
    """Return the kind of a constant; empty for null."""
    return next((kind for cls, kind in _PYTHON.items() if isinstance(value, cls)), "")


def _kinds(leaf: Shape) -> Iterator[str]:
    match leaf:
        case Scalar(kind):
            yield _WIDER.get(kind, kind)
        case Literals(values):
            yield from (_WIDER.get(kind, kind) for kind in map(kind_of, values))
        case ListOf():
            yield "array"
        case Anything():
            yield "any"
        case _:
            yield "object"


def names_in(shape: Shape) -> Iterator[str]:
    """Yield the keys of the types that a shape names, at any depth."""
    match shape:
        case Named(key):
            yield key
        case ListOf(inside) | MapOf(inside):
            yield from names_in(inside)
        case OneOf(arms):
            for arm in arms:
                yield from names_in(arm)
        case _:
            pass


def leaves(shape: Shape, resolve: Callable[[str], Shape | None]) -> Iterator[Shape]:
    """Yield the alternatives of a shape, with unions and aliases resolved.

    `resolve` returns the meaning of a name; None for an object, which stays as it is.
    """
    yield from _leaves(shape, resolve, frozenset())


def _leaves(
    shape: Shape, resolve: Callable[[str], Shape | None], inside: frozenset[str]
) -> Iterator[Shape]:
    if isinstance(shape, OneOf):
        for arm in shape.arms:
            yield from _leaves(arm, resolve, inside)
    elif isinstance(shape, Named) and (meant := resolve(shape.key)) is not None:
        # A recursive alias, such as one for any JSON, is not followed twice.
        if shape.key in inside:
            yield Anything()
        else:
            yield from _leaves(meant, resolve, inside | {shape.key})
    else:
        yield shape
