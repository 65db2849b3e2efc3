"""The tables of docs/templates.md, from the types of what templates get.

    PYTHONPATH=tests python -m support.docs.templates_page

writes them into the page, between its marks, and what the contract promises into a file.
"""

import ast
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints, is_typeddict

from mcp_protogen.pipeline.emit import template_contexts
from mcp_protogen.pipeline.emit.render import FILTERS
from mcp_protogen.pipeline.emit.template_contract import MACROS, NAMES, TEMPLATES
from mcp_protogen.pipeline.inputs.own_templates import TEMPLATE_CONTRACT
from support.docs.pages import DOCS, page

PAGE = "templates.md"
MARKS = "<!-- from the code: begin -->", "<!-- from the code: end -->"
PROMISED = Path(__file__).with_name(f"template_contract_{TEMPLATE_CONTRACT}.txt")
_NAMED = """\
`ClassName`, `Constant`, `FieldName`, `ModuleName` and `Stem` are strings that are Python names.
`Json` is a string, a number, a boolean or null. `TypeIR` is `ObjectIR`, `UnionIR` or `AliasIR`;
`TypeExpr` is `Ref`, `Scalar`, `LiteralOf`, `ListOf`, `MapOf`, `OneOf` or `Anything`. `Role` is
"client" or "server", `Era` "handshake" or "stateless", `Level` "MUST" or "SHOULD", `MessageKind`
"request", "notification" or "embedded", `Phase` "any", "before_ready" or "ready"."""
# The members of these values belong to the runtime.
_CLOSED = frozenset({"PairTables"})


@dataclass(frozen=True, slots=True)
class Member:
    """A variable of a template, or a member of a value: its type and its text."""

    name: str
    type: str
    text: str


def contexts() -> list[type]:
    """Return the contexts of templates, in the order of their module."""
    found = vars(template_contexts).values()
    return [kind for kind in found if is_typeddict(kind) and kind.__module__.endswith("contexts")]


@cache
def members(kind: type) -> tuple[Member, ...]:
    """Return a class's own members with the texts below them."""
    (node,) = ast.parse(inspect.getsource(kind)).body
    assert isinstance(node, ast.ClassDef)
    return tuple(_members(node))


def _members(node: ast.ClassDef) -> Iterator[Member]:
    for statement, after in zip(node.body, [*node.body[1:], None], strict=True):
        match statement, after:
            case ast.AnnAssign(target=ast.Name(name)), ast.Expr(ast.Constant(str(text))):
                yield Member(name, ast.unparse(statement.annotation), text)
            case ast.AnnAssign(target=ast.Name(name)), _:
                yield Member(name, ast.unparse(statement.annotation), "")
            case ast.FunctionDef(name=name, returns=ast.expr() as returns), _:
                yield Member(name, ast.unparse(returns), ast.get_docstring(statement) or "")
            case _:
                pass


def bases(kind: type) -> list[type]:
    """Return the contexts whose members a context shares."""
    named: list[str] = re.findall(r"\w+", inspect.getsource(kind).splitlines()[0].partition("(")[2])
    return [context for context in contexts() if context.__name__ in named]


def values() -> list[type]:
    """Return the classes of values in contexts, and of values in these."""
    waiting: list[Any] = [
        hint for context in contexts() for hint in get_type_hints(context).values()
    ]
    found: dict[str, type] = {}
    while waiting:
        one = waiting.pop(0)
        waiting += get_args(one)
        if isinstance(one, type) and is_dataclass(one) and one.__name__ not in found:
            found[one.__name__] = one
            if one.__name__ not in _CLOSED:
                waiting += get_type_hints(one).values()
    return [found[name] for name in sorted(found)]


def summary(what: Callable[..., object] | type) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((inspect.getdoc(what) or "").split("\n\n")[0].split())


def parameters(name: str) -> str:
    first, *rest = inspect.signature(FILTERS[name]).parameters.values()
    return ", ".join(
        [_annotation_of(first, named=False), *(_annotation_of(parameter) for parameter in rest)]
    )


def _annotation_of(one: inspect.Parameter, *, named: bool = True) -> str:
    kind = inspect.formatannotation(one.annotation, "mcp_protogen.pipeline.ir").rpartition(".")[2]
    return f"{one.name}: {kind}" if named else kind


def tables() -> str:
    """All tables of the page."""
    return "\n\n".join(
        (
            "## The templates\n\n" + _table(("template", "prints", "gets"), _templates()),
            "## Variables",
            *(_context(context) for context in contexts()),
            f"## Values\n\n{_NAMED}\n\n" + "\n".join(_value(value) for value in values()),
            "## Filters\n\n" + _table(("filter", "of", "effect"), _filters()),
            "## Macros\n\n" + _table(("import from", "macro", "prints"), _macros()),
        )
    )


def _table(head: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def _link(kind: type) -> str:
    return f"[{kind.__name__}](#{kind.__name__.lower()})"


def _templates() -> Iterator[tuple[str, ...]]:
    for template in TEMPLATES:
        yield f"`{template.name}`", template.prints, _link(template.context)


def _context(kind: type) -> str:
    above = [f"All of {_link(base)}." for base in bases(kind)]
    rows = [(f"`{member.name}`", f"`{member.type}`", member.text) for member in members(kind)]
    table = [_table(("variable", "type", "meaning"), iter(rows))] if rows else []
    return "\n\n".join((f"### {kind.__name__}", " ".join((summary(kind), *above)), *table))


def _value(kind: type) -> str:
    listed = ", ".join(f"`{member.name}: {member.type}`" for member in members(kind))
    return f"- **{kind.__name__}**: {summary(kind)}" + (f" {listed}." if listed else "")


def _filters() -> Iterator[tuple[str, ...]]:
    for name in sorted(FILTERS):
        yield f"`{name}`", f"`{parameters(name)}`", summary(FILTERS[name])


def _macros() -> Iterator[tuple[str, ...]]:
    for macros in MACROS:
        for signature, prints in macros.macros.items():
            context = f", with context: {_link(macros.context)}" if macros.context else ""
            yield f"`{macros.name}`{context}", f"`{signature}`", prints


def promises() -> list[str]:
    """Return the promises to templates, a line for each kind: its name and its members."""
    kinds: dict[str, list[str]] = {
        "templates": [*NAMES],
        "filters": [f"{name}({parameters(name)})" for name in FILTERS],
        **{f"macros of {macros.name}": [*macros.macros] for macros in MACROS},
        **{class_.__name__: _list_promised(class_) for class_ in (*contexts(), *values())},
    }
    return [f"{kind}: {'; '.join(sorted(names))}" for kind, names in kinds.items()]


def _list_promised(kind: type) -> list[str]:
    above = (
        [name for base in bases(kind) for name in _list_promised(base)]
        if is_typeddict(kind)
        else []
    )
    return [*above, *(f"{member.name}: {member.type}" for member in members(kind))]


def fill_page(text: str) -> str:
    begin, end = MARKS
    before, rest = text.split(begin)
    return f"{before}{begin}\n\n{tables()}\n\n{end}{rest.split(end)[1]}"


def broken(promised: str, now: Mapping[str, set[str]]) -> list[str]:
    """Return the lines of `promises` that are no longer kept."""
    return [
        f"{kind}: {name}"
        for kind, _, names in (line.partition(": ") for line in promised.splitlines())
        for name in filter(None, names.split("; "))
        if name not in now.get(kind, ())
    ]


def by_kind(lines: list[str]) -> dict[str, set[str]]:
    return {
        kind: set(names.split("; ")) for kind, _, names in (line.partition(": ") for line in lines)
    }


if __name__ == "__main__":
    was = PROMISED.read_text(encoding="utf-8") if PROMISED.exists() else ""
    if lost := broken(was, by_kind(promises())):
        sys.exit("raise TEMPLATE_CONTRACT, for these are gone:\n" + "\n".join(lost))
    (DOCS / PAGE).write_text(fill_page(page(PAGE)), encoding="utf-8")
    PROMISED.write_text("".join(f"{line}\n" for line in promises()), encoding="utf-8")
