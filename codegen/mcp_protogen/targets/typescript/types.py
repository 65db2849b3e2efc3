"""TypeScript types from IR: an interface for each object, an alias for everything else."""

from collections.abc import Iterable, Mapping

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
from mcp_protogen.targets.typescript.text import WIDTH, comment, key, literal

_SCALARS = {
    "string": "string",
    "boolean": "boolean",
    "integer": "number",
    "number": "number",
    "null": "null",
}

Inline = Mapping[str, TypeIR] | None
"""The types that stay inline, as in the published types, by our names."""


def definition(type_: TypeIR, inline: Inline = None) -> str:
    """Return the definition of a type, with its description."""
    head = comment(type_.doc, deprecated=type_.deprecated)
    if isinstance(type_, ObjectIR):
        return f"{head}export interface {type_.name} {_body(type_, inline, 0)}\n"
    hints = _alternatives(_arms(type_), inline, 0)
    if hints == (type_.name,):
        # A type of any JSON value is used by name; this is its definition.
        hints = _any_json(type_.name)
    line = f"export type {type_.name} = {' | '.join(hints)};\n"
    if len(line) <= WIDTH + 1 or len(hints) == 1:
        return head + line
    return (
        f"{head}export type {type_.name} =\n" + "\n".join(f"  | {hint}" for hint in hints) + ";\n"
    )


def _any_json(name: str) -> tuple[str, ...]:
    """Return the alternatives of any JSON value, as a type with this name."""
    scalars = dict.fromkeys(_SCALARS.values())
    return (*scalars, f"{{ [member: string]: {name} }}", f"{name}[]")


def _arms(type_: UnionIR | AliasIR) -> tuple[TypeExpr, ...]:
    return type_.arms if isinstance(type_, UnionIR) else (type_.type,)


def _body(type_: ObjectIR, inline: Inline, indent: int) -> str:
    margin = " " * indent
    members = "".join(_member(field, inline, indent + 2) for field in type_.fields)
    index = f"{margin}  [member: string]: unknown;\n" if type_.open else ""
    return f"{{\n{members}{index}{margin}}}"


def _member(field: FieldIR, inline: Inline, indent: int) -> str:
    optional = "" if field.required else "?"
    description = comment(field.doc, indent, deprecated=field.deprecated)
    type_ = _of_member(field, inline, indent)
    return f"{description}{' ' * indent}{key(field.wire)}{optional}: {type_};\n"


def _of_member(field: FieldIR, inline: Inline, indent: int) -> str:
    if field.known_values and field.type == Scalar("string"):
        # Other strings are also valid; the intersection lets editors suggest the known ones.
        return " | ".join([*map(literal, field.known_values), "(string & {})"])
    return hint(field.type, inline, indent)


def hint(expr: TypeExpr, inline: Inline = None, indent: int = 0) -> str:
    """Return the type of an expression; `indent` is that of its first line."""
    match expr:
        case Ref(name) if inline and isinstance(content := inline.get(name), ObjectIR):
            return _body(content, inline, indent)
        case Ref(name) if not inline or name not in inline:
            return str(name)
        case Scalar(kind):
            return _SCALARS[kind]
        case ListOf(item):
            several = len(_alternatives((item,), inline, indent)) > 1
            type_ = hint(item, inline, indent)
            return f"({type_})[]" if several else f"{type_}[]"
        case MapOf(_, True) if inline is not None:
            return "object"
        case MapOf(value):
            return f"{{ [member: string]: {hint(value, inline, indent)} }}"
        case Anything(name=name):
            return name or "unknown"
        case _:
            return " | ".join(_alternatives((expr,), inline, indent)) or "never"


def _alternatives(expressions: Iterable[TypeExpr], inline: Inline, indent: int) -> tuple[str, ...]:
    """Return the alternative types, each once."""
    hints: list[str] = []
    for expr in expressions:
        type_ = inline.get(expr.name) if inline and isinstance(expr, Ref) else None
        match expr:
            case OneOf(arms):
                hints += _alternatives(arms, inline, indent)
            case LiteralOf(values):
                hints += map(literal, values)
            case _ if isinstance(type_, UnionIR | AliasIR):
                hints += _alternatives(_arms(type_), inline, indent)
            case _:
                hints.append(hint(expr, inline, indent))
    return tuple(dict.fromkeys(hints))
