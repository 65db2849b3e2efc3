"""Revisions side by side: each method and type of each revision, in a word or two."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mcp_protogen.base.canonical import digest
from mcp_protogen.compare.sides import ComparedRevision
from mcp_protogen.compare.spelling import spelled
from mcp_protogen.findings.change import Category, Cell, Matrix, Row
from mcp_protogen.ir import MethodIR

_DIGITS = 12


def matrix_of(sides: Sequence[ComparedRevision]) -> Matrix:
    """Return all methods and types of `sides`, in the given order."""
    rows = (
        *_rows(Category.METHOD, map(_methods, sides)),
        *_rows(Category.TYPE, map(_types, sides)),
    )
    return Matrix(tuple(side.title for side in sides), rows)


def _rows(category: Category, columns: Iterable[dict[str, Cell]]) -> Iterator[Row]:
    cells = list(columns)
    absent = Cell(present=False)
    for name in sorted({name for column in cells for name in column}):
        yield Row(category, name, tuple(column.get(name, absent) for column in cells))


def _methods(side: ComparedRevision) -> dict[str, Cell]:
    return {one.method: _cell(_of_method(one), _meaning(one)) for one in side.ir.methods}


def _of_method(method: MethodIR) -> str:
    gives = f" -> {' | '.join(method.results)}" if method.results else ""
    return f"{' and '.join(method.senders)}{gives}"


def _meaning(method: MethodIR) -> list[Any]:
    """Return the meaning of a method, without its sources."""
    gates = [
        [one.role, list(one.path), one.level, one.sender, [str(case) for case in one.when]]
        for one in method.requires
    ]
    return [
        *(method.kind, list(method.senders), method.params_required, list(method.results)),
        *(list(method.traits), gates, method.deprecated),
    ]


def _types(side: ComparedRevision) -> dict[str, Cell]:
    return {name: _cell(_of_type(schema), schema) for name, schema in side.definitions.items()}


def _of_type(schema: dict[str, Any]) -> str:
    members = schema.get("properties", {})
    if members:
        return f"{len(members)} member{'' if len(members) == 1 else 's'}"
    if "anyOf" in schema and all("$ref" in arm for arm in schema["anyOf"]):
        return f"one of {len(schema['anyOf'])}"
    return spelled(schema)


def _cell(detail: str, meaning: Any) -> Cell:
    return Cell(True, detail, digest(meaning)[:_DIGITS])
