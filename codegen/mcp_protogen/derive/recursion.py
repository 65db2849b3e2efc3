"""Which types contain themselves, through whatever other types.

Python reads a module from top to bottom: annotations inside such a circle have to be quoted.
"""

from collections.abc import Container, Iterable, Iterator, Mapping

from mcp_protogen.ir import (
    AliasIR,
    FieldIR,
    ListOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    TypeExpr,
    TypeIR,
    UnionIR,
)


def circular(types: Iterable[TypeIR]) -> frozenset[str]:
    """The names of types that a value of the same type may contain."""
    uses = {str(type_.name): frozenset(_uses(type_)) for type_ in types}
    return frozenset(name for name in uses if name in _reached(name, uses))


def uses_any(field: FieldIR, types: Container[str]) -> bool:
    """Whether the annotation of `field` names one of `types`."""
    return any(name in types for name in _names(field.type))


def _reached(start: str, uses: Mapping[str, frozenset[str]]) -> set[str]:
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = uses.get(waiting.pop(), frozenset()) - reached
        reached |= new
        waiting += new
    return reached


def _uses(type_: TypeIR) -> Iterator[str]:
    match type_:
        case ObjectIR(fields=fields):
            for field in fields:
                yield from _names(field.type)
        case UnionIR(arms=arms):
            for arm in arms:
                yield from _names(arm)
        case AliasIR(type=expression):
            yield from _names(expression)


def _names(expression: TypeExpr) -> Iterator[str]:
    match expression:
        case Ref(name):
            yield str(name)
        case ListOf(inner) | MapOf(inner):
            yield from _names(inner)
        case OneOf(arms):
            for arm in arms:
                yield from _names(arm)
        case _:
            pass
