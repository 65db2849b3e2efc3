"""From IR to TypeScript's types: an interface for each object, an alias for everything else."""

from collections.abc import Iterable

from mcp_protogen.ir import (
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


def definition(type_: TypeIR) -> str:
    """Return the definition of a type, with its description."""
    head = comment(type_.doc, deprecated=type_.deprecated)
    if isinstance(type_, ObjectIR):
        members = "".join(map(_member, type_.fields))
        others = "  [member: string]: unknown;\n" if type_.open else ""
        return f"{head}export interface {type_.name} {{\n{members}{others}}}\n"
    hints = _alternatives(type_.arms if isinstance(type_, UnionIR) else (type_.type,))
    line = f"export type {type_.name} = {' | '.join(hints)};\n"
    if len(line) <= WIDTH + 1 or len(hints) == 1:
        return head + line
    return (
        f"{head}export type {type_.name} =\n" + "\n".join(f"  | {hint}" for hint in hints) + ";\n"
    )


def _member(field: FieldIR) -> str:
    optional = "" if field.required else "?"
    description = comment(field.doc, 2, deprecated=field.deprecated)
    return f"{description}  {key(field.wire)}{optional}: {_of_member(field)};\n"


def _of_member(field: FieldIR) -> str:
    if field.known_values and field.type == Scalar("string"):
        # Other strings are as good; an intersection keeps editors from forgetting the known ones.
        return " | ".join([*map(literal, field.known_values), "(string & {})"])
    return hint(field.type)


def hint(expr: TypeExpr) -> str:
    """Return the type of a type expression."""
    match expr:
        case Ref(name):
            return str(name)
        case Scalar(kind):
            return _SCALARS[kind]
        case ListOf(item):
            several = len(_alternatives((item,))) > 1
            return f"({hint(item)})[]" if several else f"{hint(item)}[]"
        case MapOf(value):
            return f"{{ [member: string]: {hint(value)} }}"
        case LiteralOf() | OneOf():
            return " | ".join(_alternatives((expr,))) or "never"
        case Anything():
            return "unknown"


def _alternatives(expressions: Iterable[TypeExpr]) -> tuple[str, ...]:
    """Return the types of which a value has one, each once."""
    found: list[str] = []
    for expr in expressions:
        match expr:
            case OneOf(arms):
                found += _alternatives(arms)
            case LiteralOf(values):
                found += map(literal, values)
            case _:
                found.append(hint(expr))
    return tuple(dict.fromkeys(found))
