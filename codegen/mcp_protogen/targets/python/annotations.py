"""Type expressions as annotations of Python, without any library."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from mcp_protogen.emit.text import literal
from mcp_protogen.ir import (
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


def hint(expr: TypeExpr) -> str:
    """Return the annotation of an expression; types are called by their names."""
    match expr:
        case Ref(name):
            return str(name)
        case Scalar(kind):
            return SCALARS[kind]
        case LiteralOf(values):
            return f"Literal[{', '.join(map(literal, values))}]"
        case ListOf(item):
            return f"list[{hint(item)}]"
        case MapOf(value):
            return f"dict[str, {hint(value)}]"
        case OneOf(arms):
            return either(map(hint, arms))
        case Anything():
            return "Any"


def alias_hint(type_: UnionIR | AliasIR) -> str:
    """Return the annotation that an alias stands for."""
    return either(map(hint, type_.arms)) if isinstance(type_, UnionIR) else hint(type_.type)


def optional(annotation: str) -> str:
    """Return an annotation that takes None, too."""
    return annotation if annotation == "Any" else either((annotation, "None"))


def either(annotations: Iterable[str]) -> str:
    """Return the union of annotations, each once, with None at the end as usual."""
    arms = [arm for one in annotations for arm in _arms(one)]
    return " | ".join(sorted(dict.fromkeys(arms), key="None".__eq__))


def _arms(annotation: str) -> list[str]:
    """Return the alternatives of a union; those inside of brackets or quotes are not its own."""
    return [annotation] if {"[", '"', "'"} & set(annotation) else annotation.split(" | ")
