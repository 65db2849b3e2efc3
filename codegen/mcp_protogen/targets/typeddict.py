"""Types as `TypedDict`s: only for type checkers, without dependencies."""

from collections.abc import Sequence, Set
from keyword import iskeyword

from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.emit.annotations import member_text
from mcp_protogen.pipeline.emit.text import literal
from mcp_protogen.pipeline.ir import FieldIR, ObjectIR, RevisionIR
from mcp_protogen.pipeline.target import TargetOptions
from mcp_protogen.targets.python import aliases
from mcp_protogen.targets.python.annotations import hint
from mcp_protogen.targets.python.docstrings import class_text, member_docstring, type_docstring
from mcp_protogen.targets.python.modules import Definitions, PythonTarget
from mcp_protogen.targets.python.order import endless, order_types

_IMPORTS = {
    "typing": aliases.IMPORTS["typing"] | {"Any", "Literal", "Never", "NotRequired", "TypedDict"},
}


def _definitions(ir: RevisionIR, _: TargetOptions) -> Definitions:
    lazy = endless(ir)
    later = {str(type_.name) for type_ in ir.types}
    texts: list[str] = []
    for type_ in order_types(ir):
        if isinstance(type_, ObjectIR):
            members = [(field, _member(field, later)) for field in type_.fields]
            is_class = all(_is_attribute(field.wire) for field in type_.fields)
            texts.append((_class if is_class else _call)(type_, members))
        else:
            texts.append(aliases.alias_text(type_, lazy=type_.name in lazy))
        later.discard(type_.name)
    names = tuple(str(type_.name) for type_ in ir.types)
    return Definitions(_IMPORTS, "\n\n\n".join(texts), names, evaluated=True)


TARGET = PythonTarget(_definitions)


def _is_attribute(wire: str) -> bool:
    """Return whether the body of a class can declare a member, which mangles `__name`."""
    return wire.isidentifier() and not iskeyword(wire) and not wire.startswith("__")


def _member(field: FieldIR, later: Set[str]) -> str:
    annotation = hint(field.type)
    if not later.isdisjoint(recursion.names_in(field.type)):
        annotation = literal(annotation)
    return annotation if field.required else f"NotRequired[{annotation}]"


def _class(type_: ObjectIR, members: Sequence[tuple[FieldIR, str]]) -> str:
    lines: list[str] = []
    for field, annotation in members:
        lines += [f"{field.wire}: {annotation}", *member_docstring(field)]
    return class_text(f"class {type_.name}(TypedDict):", type_docstring(type_), lines)


def _call(type_: ObjectIR, members: Sequence[tuple[FieldIR, str]]) -> str:
    """Return the definition of a type with members that cannot be attributes of a class."""
    lines = [f"{type_.name} = TypedDict(", f"    {literal(type_.name)},", "    {"]
    for field, annotation in members:
        lines += [f"        # {line}".rstrip() for line in member_text(field).splitlines()]
        lines.append(f"        {literal(field.wire)}: {annotation},")
    lines += ["    },", ")"]
    doc = type_docstring(type_)
    return "\n".join([*lines, doc] if doc else lines)
