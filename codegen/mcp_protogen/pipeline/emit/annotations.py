"""Python annotations and texts from IR, for models and other modules."""

import ast
from collections.abc import Iterable, Iterator
from functools import cache

from mcp_protogen.base.names import field_name
from mcp_protogen.pipeline.derive.calls import is_tool_result
from mcp_protogen.pipeline.emit.text import literal, union_of
from mcp_protogen.pipeline.ir import (
    NOTHING,
    AliasIR,
    Anything,
    FieldIR,
    Filled,
    Json,
    ListOf,
    LiteralOf,
    MapOf,
    ObjectIR,
    OneOf,
    Ref,
    Scalar,
    TypeExpr,
    UnionIR,
)
from mcp_protogen.runtime.core.value_paths import USUAL_PLACES

_SCALARS = {
    "string": "str",
    "boolean": "bool",
    "integer": "Integer",
    "number": "Number",
    "null": "None",
}
_READ = _SCALARS | {"integer": "int", "number": "int | float"}
CONSTRAINTS = {
    "minimum": "ge",
    "maximum": "le",
    "exclusiveMinimum": "gt",
    "exclusiveMaximum": "lt",
    "minLength": "min_length",
    "maxLength": "max_length",
    "minItems": "min_length",
    "maxItems": "max_length",
}


def annotation(expr: TypeExpr) -> str:
    """Return the annotation of a type expression."""
    match expr:
        case Ref(name):
            return name
        case Scalar(kind):
            return _SCALARS[kind]
        case LiteralOf(values):
            hint = _constants(values)
            return f"Annotated[{hint}, Exact]" if _is_ambiguous(expr) else hint
        case ListOf(item):
            return _container_annotation(f"list[{annotation(item)}]", item)
        case MapOf(value):
            return _container_annotation(f"dict[str, {annotation(value)}]", value)
        case OneOf():
            return _either(annotation(arm) for arm in _alternatives(expr))
        case Anything():
            return "Any"


def _container_annotation(hint: str, item: TypeExpr) -> str:
    """Return the annotation of a container, which must be empty if no item is valid."""
    return f"Annotated[{hint}, Field(max_length=0)]" if item == NOTHING else hint


def _constants(values: Iterable[Json]) -> str:
    return f"Literal[{', '.join(map(literal, values))}]"


def _is_ambiguous(expr: TypeExpr) -> bool:
    """Return whether a constant equals another JSON value in Python, as 1 equals true."""
    return isinstance(expr, LiteralOf) and any(value in (0, 1) for value in expr.values)


def alias_annotation(type_: UnionIR | AliasIR) -> str:
    """Return the annotation of an alias."""
    if isinstance(type_, AliasIR):
        return annotation(type_.type)
    arms = [annotation(arm) for arm in type_.arms]
    if type_.tag is None:
        return union_of(arms)
    if type_.open:
        arms.append("UnknownContent")
        return f"Annotated[{union_of(arms)}, OpenUnion({literal(type_.tag)})]"
    attribute = literal(field_name(type_.tag))  # Pydantic finds the wire name by itself
    return f"Annotated[{union_of(arms)}, Field(discriminator={attribute})]"


def _alternatives(expr: TypeExpr) -> Iterator[TypeExpr]:
    if isinstance(expr, OneOf):
        for arm in expr.arms:
            yield from _alternatives(arm)
    else:
        yield expr


def qualified_annotation(expr: TypeExpr) -> str:
    """Return the annotation of a value after reading, in a module with the models as `m`.

    For constants it is only their type, which needs no import.
    """
    match expr:
        case Ref(name):
            return f"m.{name}"
        case Scalar(kind):
            return _READ[kind]
        case LiteralOf(values):
            return _either("None" if item is None else type(item).__name__ for item in values)
        case ListOf(item):
            return f"list[{qualified_annotation(item)}]"
        case MapOf(value):
            return f"dict[str, {qualified_annotation(value)}]"
        case OneOf():
            return _either(qualified_annotation(arm) for arm in _alternatives(expr))
        case Anything():
            return "Any"


def base_class(type_: ObjectIR) -> str:
    """Return the base of a class of models: another type, or a class of the runtime."""
    return type_.base or ("ToolResult" if is_tool_result(type_) else "WireModel")


def class_constants(type_: ObjectIR) -> dict[str, str]:
    """Return the constants of a class of models for the runtime, as expressions."""
    found: dict[str, str] = {}
    if type_.any_of_required:
        found["ANY_OF_REQUIRED"] = literal(type_.any_of_required)
    if type_.places is not None and (
        type_.places != USUAL_PLACES or base_class(type_) != "ToolResult"
    ):
        usual = USUAL_PLACES._asdict()
        given = (
            f"{name}={literal(path)}"
            for name, path in type_.places._asdict().items()
            if path != usual[name]
        )
        found["PLACES"] = f"ToolPlaces({', '.join(given)})"
    return found


def argument_annotation(expr: TypeExpr) -> str:
    """Return the annotation of a value that a caller gives, in a module with the models as `m`."""
    match expr:
        case LiteralOf(values) if not any(isinstance(value, float) for value in values):
            return _constants(values)
        case ListOf(item):
            return f"list[{argument_annotation(item)}]"
        case MapOf(value):
            return f"dict[str, {argument_annotation(value)}]"
        case OneOf():
            return _either(argument_annotation(arm) for arm in _alternatives(expr))
        case _:
            return qualified_annotation(expr)


def _either(hints: Iterable[str]) -> str:
    # `| None` goes last, as usual; the order of disjoint types has no meaning.
    return union_of(sorted(dict.fromkeys(hints), key="None".__eq__)) or "Any"


def field_annotation(field: FieldIR) -> str:
    """Return the whole annotation of a member; an optional one may be None."""
    optional = not field.required and not isinstance(field.type, Anything)
    hint = annotation(OneOf((field.type, Scalar("null"))) if optional else field.type)
    arguments: list[str] = []
    if field.wire != field.name:
        arguments.append(f"alias={literal(field.wire)}")
    arguments += [f"{CONSTRAINTS[key]}={literal(value)}" for key, value in field.constraints]
    metadata = [f"Field({', '.join(arguments)})"] if arguments else []
    metadata += markers(field)
    if field.required and isinstance(field.type, LiteralOf) and _is_ambiguous(field.type):
        hint = _constants(field.type.values)
        metadata.insert(0, "Exact")
    return f"Annotated[{', '.join([hint, *metadata])}]" if metadata else hint


def markers(field: FieldIR) -> list[str]:
    """Return the markers of a member for the runtime."""
    names: list[str] = []
    # A member of any type keeps an explicit null anyway.
    if field.nullable and not field.required and not isinstance(field.type, Anything):
        names.append("Nullable")
    if field.default is None:
        return names
    if isinstance(field.default, Filled) or field.type != LiteralOf((field.default,)):
        names.append("Implied")
    return names


def default_text(field: FieldIR) -> str | None:
    """Return the default of a member as an expression; None if callers must give it."""
    if isinstance(field.default, Filled):
        return "SUPPLIED"
    if field.default is not None:
        return literal(field.default)
    return None if field.required else "None"


def member_text(field: FieldIR) -> str:
    """Return the text about a member, with the known values of an open string."""
    values = ", ".join(f"`{value}`" for value in field.known_values)
    return f"{field.doc}\n\nKnown values: {values}.".strip() if values else field.doc


def is_same(left: str, right: str) -> bool:
    """Return whether two annotations are the same expression, apart from layout and quotes."""
    return left == right or _normal(left) == _normal(right)


@cache
def _normal(hint: str) -> str:
    expression = ast.parse(hint, mode="eval").body
    if isinstance(expression, ast.Constant) and isinstance(expression.value, str):
        expression = ast.parse(expression.value, mode="eval").body
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            node.keywords.sort(key=lambda keyword: keyword.arg or "")
    return ast.dump(expression)
