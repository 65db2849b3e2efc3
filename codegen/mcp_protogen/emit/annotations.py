"""IR to Python annotations: how a member's type reads in a models module."""

import ast
from collections.abc import Iterator

from mcp_protogen.emit.text import literal
from mcp_protogen.ir import (
    Anything,
    FieldIR,
    ListOf,
    LiteralOf,
    MapOf,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
)

_SCALARS = {
    "string": "str",
    "boolean": "bool",
    "integer": "Integer",
    "number": "Number",
    "null": "None",
}
_CONSTRAINTS = {
    "minimum": "ge",
    "maximum": "le",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}


def annotation(expr: TypeExpr) -> str:
    """The annotation of a type expression."""
    match expr:
        case Ref(name):
            return name
        case Scalar(kind):
            return _SCALARS[kind]
        case LiteralOf(values):
            return f"Literal[{', '.join(literal(value) for value in values)}]"
        case ListOf(item):
            return f"list[{annotation(item)}]"
        case MapOf(value):
            return f"dict[str, {annotation(value)}]"
        case OneOf():
            hints = dict.fromkeys(annotation(arm) for arm in _alternatives(expr))
            # `| None` goes last, as everybody writes it; the order of disjoint types says nothing.
            return " | ".join(sorted(hints, key="None".__eq__))
        case Anything():
            return "Any"


def _alternatives(expr: TypeExpr) -> Iterator[TypeExpr]:
    if isinstance(expr, OneOf):
        for arm in expr.arms:
            yield from _alternatives(arm)
    else:
        yield expr


def field_annotation(field: FieldIR) -> str:
    """The whole annotation of a member: optional ones may be None, metadata goes last."""
    optional = not field.required and not isinstance(field.type, Anything)
    hint = annotation(OneOf((field.type, Scalar("null"))) if optional else field.type)
    arguments: list[str] = []
    if field.wire != field.name:
        arguments.append(f"alias={literal(field.wire)}")
    arguments += [f"{_CONSTRAINTS[key]}={literal(value)}" for key, value in field.constraints]
    metadata = [f"Field({', '.join(arguments)})"] if arguments else []
    metadata += markers(field)
    return f"Annotated[{', '.join([hint, *metadata])}]" if metadata else hint


def markers(field: FieldIR) -> list[str]:
    """What the runtime has to be told about a member besides its type."""
    found: list[str] = []
    # What may be anything keeps an explicit null anyway.
    if field.nullable and not field.required and not isinstance(field.type, Anything):
        found.append("Nullable")
    if field.default is not None and field.type != LiteralOf((field.default,)):
        found.append("Implied")
    return found


def same(left: str, right: str) -> bool:
    """Whether two annotations are the same expression, however written and quoted."""
    return _normal(left) == _normal(right)


def _normal(hint: str) -> str:
    expression = ast.parse(hint, mode="eval").body
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        expression = ast.parse(expression.value, mode="eval").body
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
    return ast.dump(expression)
