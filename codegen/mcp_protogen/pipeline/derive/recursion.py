"""The types that contain themselves, directly or through other types.

Python reads a module from top to bottom: inside such a cycle, a name is used before it is defined.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from mcp_protogen.base import graph
from mcp_protogen.base.graph import Graph
from mcp_protogen.pipeline.ir import (
    AliasIR,
    ListOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    TypeExpr,
    TypeIR,
    UnionIR,
)

_Type = TypeVar("_Type")


def graph_of(types: Iterable[TypeIR]) -> Graph:
    """Return the graph of types and the types that they name."""
    return {str(type_.name): frozenset(uses(type_)) for type_ in types}


def circular(types: Iterable[TypeIR]) -> frozenset[str]:
    """Return the names of types that may contain themselves."""
    return graph.circular(graph_of(types))


def uses(type_: TypeIR) -> Iterator[str]:
    """Yield the types that a type names."""
    match type_:
        case ObjectIR(fields=fields, base=base):
            if base is not None:
                yield str(base)
            for field in fields:
                yield from names_in(field.type)
        case UnionIR(arms=arms):
            for arm in arms:
                yield from names_in(arm)
        case AliasIR(type=expression):
            yield from names_in(expression)


def names_in(expression: TypeExpr) -> Iterator[str]:
    """Yield the types that an expression names."""
    match expression:
        case Ref(name):
            yield str(name)
        case ListOf(inner) | MapOf(inner):
            yield from names_in(inner)
        case OneOf(arms):
            for arm in arms:
                yield from names_in(arm)
        case _:
            pass


def arms_within(
    name: str, types: Mapping[str, _Type], arms: Callable[[_Type], Iterable[str]]
) -> Iterator[_Type]:
    """Yield a type, its `arms`, and those of its arms, each once, in order."""
    found = graph.reach([name], lambda here: arms(types[here]) if here in types else ())
    return (types[here] for here in found if here in types)
