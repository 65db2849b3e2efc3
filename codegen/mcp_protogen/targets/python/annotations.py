"""Type expressions as annotations of Python, without any library."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mcp_protogen.pipeline.emit.text import literal, union_of
from mcp_protogen.pipeline.ir import (
    NOTHING,
    AliasIR,
    Anything,
    ListOf,
    LiteralOf,
    MapOf,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
    UnionIR,
)

SCALARS: Mapping[str, str] = MappingProxyType(
    {
        "string": "str",
        "boolean": "bool",
        "integer": "int",
        "number": "int | float",
        "null": "None",
    }
)


def hint(expr: TypeExpr, empty: str = "") -> str:
    """Return the annotation of an expression, with types by name.

    `empty` is the metadata of a library for a container without valid items.
    """
    match expr:
        case Ref(name):
            return str(name)
        case Scalar(kind):
            return SCALARS[kind]
        case LiteralOf(values):
            return f"Literal[{', '.join(map(literal, values))}]"
        case ListOf(item):
            return _container_hint("list[{}]", item, empty)
        case MapOf(value):
            return _container_hint("dict[str, {}]", value, empty)
        case OneOf(arms):
            return either(hint(arm, empty) for arm in arms) or "Never"
        case Anything():
            return "Any"


def _container_hint(container: str, item: TypeExpr, empty: str) -> str:
    if item == NOTHING and empty:
        return f"Annotated[{container.format('Any')}, {empty}]"
    return container.format(hint(item, empty))


def alias_hint(type_: UnionIR | AliasIR, empty: str = "") -> str:
    """Return the annotation that an alias stands for."""
    return hint(OneOf(type_.arms) if isinstance(type_, UnionIR) else type_.type, empty)


def optional(annotation: str) -> str:
    """Return an annotation that also accepts None."""
    return annotation if annotation == "Any" else either((annotation, "None"))


def either(annotations: Iterable[str]) -> str:
    """Return the union of annotations, each once, with None at the end as usual."""
    arms = [arm for annotation in annotations for arm in _arms(annotation)]
    return union_of(sorted(dict.fromkeys(arms), key="None".__eq__))


def _arms(annotation: str) -> list[str]:
    """Return the alternatives of a union, not cut inside brackets or quotes."""
    return [annotation] if {"[", "(", '"', "'"} & set(annotation) else annotation.split(" | ")
