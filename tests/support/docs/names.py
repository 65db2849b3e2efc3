"""A check that the names in pieces of code exist.

Needs only the standard library, so that it also runs on a peer's interpreter: as a program it reads
the arguments of `problems` from standard input as JSON, and writes the result.
"""

import ast
import builtins
import inspect
import json
import sys
import typing
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, Final

NO_PYTHON: Final = "is no Python"

_NOTHING: Final = object()


def problems(
    pieces: Iterable[str],
    roots: Mapping[str, Iterable[str]],
    spaces: Iterable[str],
    examples: Iterable[str] = (),
) -> list[str]:
    """Return the faults of pieces of code, each an expression, a decorator or a program.

    `roots` are variables with their possible objects, and `spaces` are where other names are looked
    up; both are written `module` or `module:attribute`. Names from `examples`, which may be
    modules too, and names that a piece binds itself are not checked.
    """
    names = _Names(
        {name: [_load(path) for path in ones] for name, ones in roots.items()},
        [_load(namespace) for namespace in spaces],
        frozenset(examples),
    )
    return [f"{piece}: {problem}" for piece in pieces for problem in names.problems(piece)]


def _load(path: str) -> Any:
    module, _, attribute = path.partition(":")
    found: Any = import_module(module)
    for name in filter(None, attribute.split(".")):
        found = getattr(found, name)
    return found


class _Names:
    def __init__(
        self, roots: Mapping[str, list[Any]], spaces: list[Any], examples: frozenset[str]
    ) -> None:
        self._roots = roots
        self._spaces = spaces
        self._examples = examples
        self._bound = examples
        self._imported: set[str] = set()

    def problems(self, piece: str) -> Iterator[str]:
        try:
            tree = ast.parse(piece.removeprefix("@").replace("…", "..."))
        except SyntaxError:
            yield NO_PYTHON
            return
        self._bound = self._examples.union(*map(_bound_by, ast.walk(tree)))
        imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self._imported = {name.asname or name.name for node in imports for name in node.names}
        found = (problem for node in ast.walk(tree) for problem in self._node(node))
        yield from dict.fromkeys(found)

    def _node(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.ImportFrom):
            if (node.module or "").partition(".")[0] not in self._examples:
                yield from _read_import(node)
        elif isinstance(node, ast.Attribute) and self._possible_values(node.value):
            if not self._possible_values(node):
                yield f"there is no {ast.unparse(node)}"
        elif isinstance(node, ast.Call):
            yield from self._call(node)
        elif isinstance(node, ast.Name) and _is_class(node.id) and self._is_unknown(node):
            yield f"there is no {node.id}"

    def _is_unknown(self, node: ast.Name) -> bool:
        return node.id not in self._bound | self._imported and not self._possible_values(node)

    def _call(self, call: ast.Call) -> Iterator[str]:
        if isinstance(call.func, ast.Name) and self._is_unknown(call.func):
            yield f"there is no {call.func.id}"
        callees = self._possible_values(call.func)
        for keyword in call.keywords:
            if (
                callees
                and keyword.arg
                and not any(_takes(callee, keyword.arg) for callee in callees)
            ):
                yield f"{ast.unparse(call.func)} has no {keyword.arg}="

    def _possible_values(self, node: ast.AST) -> list[Any]:
        """Return the possible values of an expression; `_NOTHING` if unknown."""
        if isinstance(node, ast.Name):
            if node.id in self._roots:
                return self._roots[node.id]
            if node.id in self._bound:
                return []
            values = [getattr(space, node.id, _NOTHING) for space in (*self._spaces, builtins)]
            return [value for value in values if value is not _NOTHING][:1]
        if isinstance(node, ast.Attribute):
            owners = self._possible_values(node.value)
            values = [_member(owner, node.attr) for owner in owners]
            return [value for value in values if value is not None]
        return []


def bound(program: str) -> set[str]:
    """Return the names that a program binds."""
    return set[str]().union(*map(_bound_by, ast.walk(ast.parse(program))))


def _bound_by(node: ast.AST) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return {node.id}
    if isinstance(node, ast.arg):
        return {node.arg}
    if isinstance(node, ast.Import):
        return {name.asname or name.name for name in node.names}
    return set()


def _is_class(name: str) -> bool:
    return name[0].isupper() and not name.isupper()


def _member(owner: Any, name: str) -> Any:
    """Return a member; None if it is missing, `_NOTHING` if it cannot be known."""
    if owner is _NOTHING or inspect.ismodule(owner):
        return owner if owner is _NOTHING else getattr(owner, name, None)
    value = inspect.getattr_static(owner, name, None)
    if value is None and (hasattr(owner, name) or name in _declared_members(owner)):
        return _NOTHING
    if isinstance(value, (classmethod, staticmethod)):
        return getattr(owner, name)
    if (
        value is None
        or inspect.isroutine(value)
        or inspect.isclass(value)
        or inspect.ismodule(value)
    ):
        return value
    return value if callable(value) and not isinstance(owner, type) else _NOTHING


def _declared_members(owner: Any) -> set[str]:
    """Return the members that a class only declares, such as the fields of a model."""
    if not inspect.isclass(owner):
        return set()
    fields: set[str] = set(getattr(owner, "model_fields", ()))
    return fields.union(*(vars(cls).get("__annotations__", ()) for cls in owner.__mro__))


def _takes(callee: Any, keyword: str) -> bool:
    """Return whether a keyword is a parameter of any overload or of the constructor."""
    if callee is _NOTHING:
        return True
    if inspect.isclass(callee):
        if keyword in _declared_members(callee):
            return True
        callee = callee.__init__
    function = callee if inspect.isroutine(callee) else type(callee).__call__
    overloads = typing.get_overloads(getattr(function, "__func__", function))
    return any(_has_parameter(overload, keyword) for overload in overloads or [function])


def _has_parameter(function: Any, keyword: str) -> bool:
    """Return whether a function has a parameter, or seems to take any keyword."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return True
    for parameter in parameters:
        if parameter.kind is not parameter.VAR_KEYWORD:
            if parameter.name == keyword:
                return True
            continue
        typed = parameter.annotation
        if isinstance(typed, str):
            try:
                typed = eval(typed, getattr(function, "__globals__", {}))
            except NameError:  # Only for type checkers.
                return True
        is_open = typing.get_origin(typed) is not typing.Unpack
        if is_open or keyword in inspect.get_annotations(typing.get_args(typed)[0]):
            return True
    return False


def _read_import(node: ast.ImportFrom) -> Iterator[str]:
    module = import_module(node.module or "")
    for name in node.names:
        if not hasattr(module, name.name):
            yield f"{node.module} has no {name.name}"


if __name__ == "__main__":
    print(json.dumps(problems(**json.load(sys.stdin))))
