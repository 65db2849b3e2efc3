"""Small changes of a module, each at one place: what `make mutants` tries the tests with.

Places are functions, so that an entry of a record holds when lines move. Annotations, decorators,
asserts and strings are left alone.
"""

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Span: TypeAlias = tuple[int, int, int, int]
"""The lines, from 1, and the bytes in them, from 0, at which a piece of source begins and ends."""
_Change: TypeAlias = tuple[str, ast.AST, str]

_OPPOSITES: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_BOUNDARIES: Final[dict[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
# What a function returns in place of its value, by the first word of its annotation.
_EMPTY: Final = {"str": "''", "bytes": "b''", "tuple": "()", "list": "[]", "dict": "{}", "int": "0"}
_SHORT: Final = 100


@dataclass(frozen=True, slots=True)
class Mutation:
    """One change of a file: the function, its kind, the code before and after it."""

    path: str
    function: str
    kind: str
    before: str
    after: str
    number: int = 1
    """Equal changes of a function are numbered."""
    span: Span = field(default=(1, 0, 1, 0), compare=False, repr=False)
    replacement: str = field(default="", compare=False, repr=False)

    @property
    def place(self) -> str:
        """The file and the function."""
        return f"{self.path}::{self.function}"

    @property
    def change(self) -> str:
        """The change in words."""
        again = f" (number {self.number})" if self.number > 1 else ""
        return f"{self.kind}: {self.before} -> {self.after}{again}"

    def apply(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        first, begin, last, end = self.span
        middle = lines[first - 1][:begin] + self.replacement.encode() + lines[last - 1][end:]
        return b"".join([*lines[: first - 1], middle, *lines[last:]]).decode()


def find_mutations(path: str, source: str) -> list[Mutation]:
    """Return all changes of a module that `make mutants` knows, in the order of its code."""
    finder = _Finder(path)
    finder.visit(ast.parse(source))
    return finder.found


class _Finder(ast.NodeVisitor):
    """Walks a module, and remembers the names of the functions around a node."""

    def __init__(self, path: str) -> None:
        self.found: list[Mutation] = []
        self._path = path
        self._names: list[str] = []
        self._returns: list[str] = []
        self._seen = Counter[Mutation]()

    def visit(self, node: ast.AST) -> None:
        """Add the changes of a node, then those of the nodes in it."""
        if not _is_left_out(node):
            for kind, changed, replacement in self._changes(node):
                self._add(kind, changed, replacement)
            super().visit(node)

    def _changes(self, node: ast.AST) -> Iterator[_Change]:
        if isinstance(node, ast.Return):
            yield from _change_return(node, self._returns[-1])
        elif (changes := _CHANGES.get(type(node))) is not None:
            yield from changes(node)

    def _add(self, kind: str, node: ast.AST, replacement: str) -> None:
        assert isinstance(node, ast.expr | ast.stmt)
        assert node.end_lineno is not None and node.end_col_offset is not None
        span = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
        function = ".".join(self._names) or "<module>"
        before, after = _short(ast.unparse(node)), _short(replacement)
        new = Mutation(self._path, function, kind, before, after)
        self._seen[new] += 1
        number = self._seen[new]
        if isinstance(node, ast.expr):
            replacement = f"({replacement})"
        self.found.append(
            Mutation(self._path, function, kind, before, after, number, span, replacement)
        )

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._visit_body(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._visit_function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self._visit_function(node)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if not _is_stub(node):
            self._returns.append(ast.unparse(node.returns) if node.returns else "")
            self._visit_body(node)
            self._returns.pop()

    def _visit_body(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._names.append(node.name)
        if not isinstance(node, ast.ClassDef):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self.visit(default)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and "TypeAlias" not in ast.unparse(node.annotation):
            self.visit(node.value)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if ast.unparse(node.value) not in ("Literal", "Annotated"):
            self.generic_visit(node)


def _is_left_out(node: ast.AST) -> bool:
    """Return true for code that only type checkers or people read, or that has no exact place."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    return isinstance(node, ast.Assert | ast.JoinedStr)


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return true for a method of a protocol, whose defaults are only read by type checkers."""
    return ast.unparse(node.body[-1]) == "..."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHORT else f"{line[: _SHORT - 3]}..."


def _change_comparison(node: ast.Compare) -> Iterator[_Change]:
    for kind, table in (("flipped comparison", _OPPOSITES), ("boundary", _BOUNDARIES)):
        for index, operator in enumerate(node.ops):
            if (new := table.get(type(operator))) is not None:
                operators = [*node.ops[:index], new(), *node.ops[index + 1 :]]
                yield kind, node, ast.unparse(ast.Compare(node.left, operators, node.comparators))


def _change_and_or(node: ast.BoolOp) -> Iterator[_Change]:
    for kind, values in (("first", node.values[1:]), ("last", node.values[:-1])):
        left = values[0] if len(values) == 1 else ast.BoolOp(node.op, values)
        yield f"{kind} part left out", node, ast.unparse(left)


def _change_condition(node: ast.If | ast.While | ast.IfExp) -> Iterator[_Change]:
    # A comparison is flipped, and a constant swapped, anyway.
    if not isinstance(node.test, ast.Constant) and (
        not isinstance(node.test, ast.Compare) or len(node.test.ops) > 1
    ):
        yield "negated condition", node.test, f"not ({ast.unparse(node.test)})"


def _change_filter(node: ast.comprehension) -> Iterator[_Change]:
    for condition in node.ifs:
        yield "filter left out", condition, "True"


def _change_constant(node: ast.Constant) -> Iterator[_Change]:
    if isinstance(node.value, bool):
        yield "swapped boolean", node, str(not node.value)
    elif isinstance(node.value, int | float):
        yield "limit + 1", node, repr(node.value + 1)
        yield "limit - 1", node, repr(node.value - 1)


def _change_return(node: ast.Return, annotation: str) -> Iterator[_Change]:
    value = ast.unparse(node.value) if node.value else "None"
    if annotation.startswith(("bool", "TypeGuard", "TypeIs")):
        # A constant is swapped already.
        if not isinstance(node.value, ast.Constant):
            yield "negated result", node, f"return not ({value})"
    elif value not in ("None", empty := _EMPTY.get(annotation.partition("[")[0], "None")):
        yield "empty result", node, f"return {empty}"


def _change_call(node: ast.Expr) -> Iterator[_Change]:
    call = node.value.value if isinstance(node.value, ast.Await) else node.value
    if isinstance(call, ast.Call):
        yield "call left out", node, "pass"


def _change_raise(node: ast.Raise) -> Iterator[_Change]:
    yield "raise left out", node, "pass"


_CHANGES: Final[dict[type[ast.AST], Callable[..., Iterator[_Change]]]] = {
    ast.Compare: _change_comparison,
    ast.BoolOp: _change_and_or,
    ast.If: _change_condition,
    ast.While: _change_condition,
    ast.IfExp: _change_condition,
    ast.comprehension: _change_filter,
    ast.Constant: _change_constant,
    ast.Expr: _change_call,
    ast.Raise: _change_raise,
}
