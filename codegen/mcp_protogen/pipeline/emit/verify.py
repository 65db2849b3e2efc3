"""Checks of generated modules against the IR; modules are parsed and never executed."""

import ast
import builtins
from collections.abc import Collection, Iterable, Iterator, Mapping

from mcp_protogen.base import names
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.emit.annotations import (
    alias_annotation,
    base_class,
    class_constants,
    default_text,
    field_annotation,
    is_same,
)
from mcp_protogen.pipeline.ir import AliasIR, FieldIR, ObjectIR, TypeIR, UnionIR

_BUILT_IN = {*dir(builtins), "__file__"}
_REPORT = "report this with the schema that led to it"


def module(tree: ast.Module, path: str) -> tuple[Problem, ...]:
    """Return the faults of a module: invalid Python, and names defined twice or not at all."""
    try:
        compile(tree, path, "exec")
    except (SyntaxError, ValueError) as error:
        return (Problem("bad-output", f"is not Python: {error}", path, hint="report this"),)
    return tuple(_defects(tree, path))


def _defects(tree: ast.Module, path: str) -> Iterator[Problem]:
    nodes = list(ast.walk(tree))
    defined = list(_definition_names(tree))
    imported = set(_import_names(nodes))
    for name in names.duplicates(defined):
        yield Problem("bad-output", f"{name} is defined twice", path, hint="report this")
    all_names = {*defined, *imported}
    for name in _exported_names(tree):
        if name not in all_names:
            yield Problem(
                "bad-output", f"__all__ lists {name}, which is missing", path, hint="report this"
            )
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    for name in sorted(used - imported - set(_bound_names(nodes)) - _BUILT_IN):
        yield Problem("bad-output", f"{name} is used but not defined", path, hint="report this")


def _bound_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the names that are bound in any scope of a module, except by imports."""
    for node in nodes:
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name):
                yield name
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                yield name
            case _:
                pass


def members(
    trees: Mapping[str, ast.Module], types: Collection[str], folder: str
) -> tuple[Problem, ...]:
    """Return a problem for each name that a module uses from another one that lacks it."""
    nodes = {name: list(ast.walk(tree)) for name, tree in trees.items()}
    offered = {
        name: {*_definition_names(trees[name]), *_import_names(nodes[name])} for name in trees
    }
    offered["models"] = set(types)
    return tuple(
        Problem("bad-output", f"{module}.{name} is missing", f"{folder}/{user}.py", hint=_REPORT)
        for user, tree in trees.items()
        for module, name in sorted(set(_sibling_names(tree, nodes[user])))
        if module in offered and not {name, "__getattr__"} & offered[module]
    )


def _sibling_names(tree: ast.Module, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """Yield each module of the same folder with each name that is used from it."""
    beside: dict[str, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.level == 1:
            for alias in statement.names:
                if statement.module is None:
                    beside[alias.asname or alias.name] = alias.name
                else:
                    yield statement.module, alias.name
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=module), attr=name) if module in beside:
                yield beside[module], name
            case _:
                pass


def _definition_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case (
                ast.ClassDef(name=name)
                | ast.FunctionDef(name=name)
                | ast.AsyncFunctionDef(name=name)
            ):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.If(orelse=[ast.Assign(targets=[ast.Name(id=name)])]):
                yield name
            case _:
                pass


def _import_names(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)


def _exported_names(tree: ast.Module) -> list[str]:
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id="__all__")], value=value):
                names: list[str] = ast.literal_eval(value)
                return names
            case _:
                pass
    return []


def models(tree: ast.Module, types: Iterable[TypeIR], path: str) -> tuple[Problem, ...]:
    """Return a problem for each difference from the types, and each unexpected statement."""
    by_name = dict(_types(tree))
    expected = {str(type_.name): type_ for type_ in types}
    bases = {base_class(type_) for type_ in expected.values() if isinstance(type_, ObjectIR)}
    return tuple(
        Problem("bad-output", message, path, hint=_REPORT)
        for message in (
            *(f"{ast.unparse(node):.80} is out of place" for node in _strangers(tree, bases)),
            *(f"type {name} is missing" for name in expected.keys() - by_name.keys()),
            *(f"type {name} is in no schema" for name in by_name.keys() - expected.keys()),
            *(
                message
                for name in expected.keys() & by_name.keys()
                for message in _differences(expected[name], by_name[name])
            ),
        )
    )


def _types(tree: ast.Module) -> Iterator[tuple[str, ast.ClassDef | ast.expr]]:
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                yield name, node
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(args=[_, value])):
                yield name, value
            case ast.If(
                body=[ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value), *_]
            ):
                yield name, value
            case _:
                pass


def _strangers(tree: ast.Module, bases: Collection[str]) -> Iterator[ast.stmt]:
    """Yield statements that do not belong in a models module, because importing runs them."""
    for node in tree.body:
        match node:
            case ast.ImportFrom() | ast.Expr(value=ast.Constant(value=str())):
                pass
            case ast.Assign(targets=[ast.Name(id="__all__")], value=ast.List(elts=elements)):
                if not all(isinstance(element, ast.Constant) for element in elements):
                    yield node
            case ast.Assign() if _alias(node):
                pass
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) if _is_defined_twice(node):
                pass
            case ast.ClassDef(bases=[ast.Name(id=base)], keywords=[], decorator_list=[]) if (
                base in bases
            ):
                yield from (statement for statement in node.body if not _is_member(statement))
            case _:
                yield node


def _alias(node: ast.stmt) -> tuple[str, str] | None:
    """Return the name and value of the alias that a statement defines, or None."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=name)],
            value=ast.Call(
                func=ast.Name(id="TypeAliasType"),
                args=[ast.Constant(value=called), value],
                keywords=[],
            ),
        ) if (
            name == called
        ):
            return name, ast.unparse(value)
        case ast.AnnAssign(
            target=ast.Name(id=name), annotation=ast.Name(id="TypeAlias"), value=ast.expr() as value
        ):
            return name, ast.unparse(value)
        case _:
            return None


def _is_defined_twice(node: ast.If) -> bool:
    """Return whether both branches define one alias: for type checkers and for Pydantic."""
    match node:
        case ast.If(body=[shown], orelse=[run]):
            return _alias(shown) is not None and _alias(shown) == _alias(run)
        case ast.If(body=[shown, ast.Expr(value=ast.Constant(value=str()))], orelse=[run]):
            return _alias(shown) is not None and _alias(shown) == _alias(run)
        case _:
            return False


def _is_member(statement: ast.stmt) -> bool:
    match statement:
        case ast.AnnAssign(target=ast.Name()) | ast.Expr(value=ast.Constant(value=str())):
            return True
        case _:
            return isinstance(statement, ast.Pass)


def _differences(type_: TypeIR, node: ast.ClassDef | ast.expr) -> Iterator[str]:
    match type_, node:
        case ObjectIR(), ast.ClassDef(bases=[base]):
            if ast.unparse(base) != base_class(type_):
                yield f"{type_.name} extends {ast.unparse(base)}, not {base_class(type_)}"
            yield from _members(type_, node)
        case (UnionIR() | AliasIR()), ast.expr():
            annotation = alias_annotation(type_)
            if not is_same(annotation, ast.unparse(node)):
                yield f"{type_.name} is {ast.unparse(node)}, not {annotation}"
        case _:
            yield f"{type_.name} is a class in place of an alias, or the reverse"


def _members(type_: ObjectIR, node: ast.ClassDef) -> Iterator[str]:
    members: dict[str, tuple[str, str | None]] = {}
    for statement in node.body:
        match statement:
            case ast.AnnAssign(target=ast.Name(id=name), annotation=noted, value=given):
                members[name] = (ast.unparse(noted), ast.unparse(given) if given else None)
            case _:
                pass
    for name, text in class_constants(type_).items():
        if members.pop(name, None) != ("ClassVar", ast.unparse(ast.parse(text, mode="eval"))):
            yield f"{type_.name}.{name} is not {text}"
    expected: dict[str, FieldIR] = {str(field.name): field for field in type_.own_fields}
    for name in sorted(expected.keys() ^ members.keys()):
        yield f"{type_.name}.{name} is {'missing' if name in expected else 'in no schema'}"
    for name in expected.keys() & members.keys():
        hint, value = members[name]
        field = expected[name]
        if not (is_same(field_annotation(field), hint) and _has_default(field, value)):
            yield f"{type_.name}.{name} is {hint} = {value}, not {field_annotation(field)}"


def _has_default(field: FieldIR, default: str | None) -> bool:
    expected = default_text(field)
    if expected is None or expected == default:  # spares most of them the parser
        return expected == default
    return ast.unparse(ast.parse(expected, mode="eval")) == default
