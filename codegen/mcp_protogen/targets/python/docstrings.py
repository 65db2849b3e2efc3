"""Docstrings of types and their members."""

from mcp_protogen.pipeline.emit.annotations import member_text
from mcp_protogen.pipeline.emit.text import docstring
from mcp_protogen.pipeline.ir import FieldIR, ObjectIR, TypeIR


def type_docstring(type_: TypeIR) -> str:
    """Return the docstring of a class, or below an alias; empty without a text."""
    is_class = isinstance(type_, ObjectIR)
    return docstring(type_.doc, 4 if is_class else 0, of_member=not is_class) if type_.doc else ""


def member_docstring(field: FieldIR) -> list[str]:
    """Return the docstring below a member as a line; none without a text."""
    text = member_text(field)
    return [docstring(text, 4, of_member=True)] if text else []


def class_text(head: str, doc: str, lines: list[str]) -> str:
    """Return a class from its first line, its docstring, and the unindented lines of its body."""
    body = [doc] if doc else []
    if doc and lines:
        body.append("")
    body += lines
    return "\n".join([head, *((f"    {line}" if line else "") for line in body or ["pass"])])
