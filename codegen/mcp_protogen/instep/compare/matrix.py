"""Revisions side by side: each method and type of each revision, in a word or two."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mcp_protogen.base.canonical import digest
from mcp_protogen.base.printable import pluralize
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.instep.compare.spelling import spell
from mcp_protogen.pipeline.ir import MethodIR
from mcp_protogen.pipeline.reports.change import Category, Matrix, MatrixCell, MatrixRow

_DIGITS = 12


def matrix_of(revisions: Sequence[ComparedRevision]) -> Matrix:
    """Return all methods and types of `revisions`, in the given order."""
    rows = (
        *_rows(Category.METHOD, map(_methods, revisions)),
        *_rows(Category.TYPE, map(_types, revisions)),
    )
    return Matrix(tuple(revision.title for revision in revisions), rows)


def _rows(category: Category, columns: Iterable[dict[str, MatrixCell]]) -> Iterator[MatrixRow]:
    cells = list(columns)
    absent = MatrixCell(present=False)
    for name in sorted({name for column in cells for name in column}):
        yield MatrixRow(category, name, tuple(column.get(name, absent) for column in cells))


def _methods(revision: ComparedRevision) -> dict[str, MatrixCell]:
    return {
        method.method: _cell(_of_method(method), _content(method)) for method in revision.ir.methods
    }


def _of_method(method: MethodIR) -> str:
    gives = f" -> {' | '.join(method.results)}" if method.results else ""
    return f"{' and '.join(method.senders)}{gives}"


def _content(method: MethodIR) -> list[Any]:
    gates = [
        [
            requirement.role,
            list(requirement.path),
            requirement.level,
            requirement.sender,
            [str(case) for case in requirement.when],
        ]
        for requirement in method.requires
    ]
    return [
        *(method.kind, list(method.senders), method.params_required, list(method.results)),
        *(list(method.traits), gates, method.deprecated),
    ]


def _types(revision: ComparedRevision) -> dict[str, MatrixCell]:
    return {name: _cell(_of_type(schema), schema) for name, schema in revision.definitions.items()}


def _of_type(schema: dict[str, Any]) -> str:
    members = schema.get("properties", {})
    if members:
        return pluralize(len(members), "member")
    if "anyOf" in schema and all("$ref" in arm for arm in schema["anyOf"]):
        return f"one of {len(schema['anyOf'])}"
    return spell(schema)


def _cell(detail: str, content: Any) -> MatrixCell:
    return MatrixCell(True, detail, digest(content)[:_DIGITS])
