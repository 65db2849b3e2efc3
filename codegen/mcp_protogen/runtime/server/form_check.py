"""Forms that a function asks for, checked in its source before the first call.

Finds `session.ask(message, Type)`, where `session` is a parameter and `Type` consists of names from
outside the function. In doubtful cases, `ask` itself refuses the type later.
"""

import ast
import builtins
from collections.abc import Collection, Iterator, Mapping
from inspect import getsource
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final, get_args, get_origin, get_type_hints

from ..rpc.peer import Peer
from .questions import form

# The attributes in which AST nodes bind a name.
_BINDING: Final = ("arg", "asname", "id", "name", "rest")
_NO_HINTS: Final = (AttributeError, NameError, SyntaxError, TypeError)


def check_asked(inner: FunctionType, codes: Collection[CodeType]) -> None:
    if (tree := _parse_function(inner)) is None:
        return
    sessions = [name for name in _sessions(inner) if _is_bound_once(tree, name)]
    local = {name for code in codes for name in (*code.co_varnames, *code.co_cellvars)}
    local |= {
        name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names
    }
    scope = _names_of(inner, local)
    for expr in _find_asked_types(tree, sessions):
        try:
            kind = _value(expr, scope)
        except (LookupError, TypeError):
            continue
        if isinstance(kind, type) or get_origin(kind) is not None:
            _check(inner.__qualname__.replace("<locals>.", ""), kind)


def _check(label: str, kind: Any) -> None:
    try:
        form(kind)
    except TypeError as error:
        # A name that is not defined yet may be when the question is asked.
        cause: Any = error.__cause__
        if isinstance(cause, NameError) or getattr(cause, "code", "") == "class-not-fully-defined":
            return
        raise TypeError(f"{label}: {error}") from error


def _parse_function(function: FunctionType) -> ast.AST | None:
    try:
        source = getsource(function)
        # Multi-line strings may begin further left than the function.
        tree = ast.parse(f"if True:\n{source}" if source[:1].isspace() else source)
    except (OSError, SyntaxError):
        return None
    name = function.__code__.co_name
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return node
    return None


def _sessions(function: FunctionType) -> Collection[str]:
    try:
        hints = get_type_hints(function)
    except _NO_HINTS:
        return ()
    return [
        name
        for name, hint in hints.items()
        for kind in get_args(hint) or (hint,)
        if isinstance(kind, type) and issubclass(kind, Peer)
    ]


def _is_bound_once(tree: ast.AST, name: str) -> bool:
    bindings = [
        node
        for node in ast.walk(tree)
        if not isinstance(getattr(node, "ctx", node), ast.Load | ast.keyword)
        and name in (getattr(node, member, None) for member in _BINDING)
    ]
    return len(bindings) == 1


def _find_asked_types(tree: ast.AST, sessions: Collection[str]) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name(name), "ask" | "elicit"), [_, kind]) if (
                name in sessions
            ):
                yield kind
            case _:
                pass


def _names_of(function: FunctionType, local: Collection[str]) -> Mapping[str, Any]:
    """Return the values of names inside a function, except those that it binds itself."""
    names = {**vars(builtins), **function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        names.pop(name, None)
        try:
            names[name] = cell.cell_contents
        except ValueError:
            continue
    return {name: value for name, value in names.items() if name not in local}


def _value(node: ast.AST, names: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name(name):
            return names[name]
        case ast.Attribute(owner, name):
            of = _value(owner, names)
            if isinstance(of, ModuleType | type):
                return vars(of)[name]
        case ast.Subscript(generic, arguments):
            return _value(generic, names)[_value(arguments, names)]
        case ast.BinOp(left, ast.BitOr(), right):
            return _value(left, names) | _value(right, names)
        case ast.Tuple(items):
            return tuple(_value(item, names) for item in items)
        case ast.Constant(value):
            return value
        case _:
            pass
    raise LookupError("not an expression of types")
