"""Generated modules list each name once."""

import ast
from collections.abc import Iterator
from importlib import import_module
from itertools import chain

from mcp_protogen.base.names import duplicates
from mcp_protogen.pipeline.parts import PARTS, PartSelection
from support import tables
from support.folders import GENERATED
from support.generated.repeated_names import repeated_names


def test_generated_modules_list_each_name_once() -> None:
    for path in sorted(GENERATED.rglob("*.py")):
        with tables.case(path.relative_to(GENERATED)):
            assert repeated_names(ast.parse(path.read_text())) == []


def test_a_package_says_each_public_name_once_to_programs_and_once_to_type_checkers() -> None:
    for path in sorted(GENERATED.rglob("__init__.py")):
        if path.parent.name in {"models", "translate"}:
            continue
        with tables.case(path.relative_to(GENERATED)):
            tree = ast.parse(path.read_text())
            module = import_module(".".join(path.parent.relative_to(GENERATED).parts))
            public = {*module.__dict__.get("__all__", ())}
            assert duplicates(name for name in texts_for_programs(tree) if name in public) == []
            names = names_for_checkers(tree, module.__name__)
            assert {name for name in names if name[0] != "_"} == public


def texts_for_programs(tree: ast.Module) -> Iterator[str]:
    """Yield the texts in lists, and the keys of tables."""
    for node in ast.walk(tree):
        match node:
            case ast.Dict(keys=said) | ast.List(elts=said):
                values = (constant.value for constant in said if isinstance(constant, ast.Constant))
                yield from (value for value in values if isinstance(value, str))
            case _:
                pass


def names_for_checkers(tree: ast.Module, package: str) -> Iterator[str]:
    """Yield the names that a wildcard import gets: imports by their own name, and definitions."""
    blocks = [
        statement.body
        for statement in tree.body
        if isinstance(statement, ast.If) and is_for_checkers(statement)
    ]
    for node in chain(tree.body, *blocks):
        match node:
            case ast.ImportFrom(module=str(module), names=[ast.alias(name="*")]):
                yield from (module, *import_module(f"{package}.{module}").__all__)
            case ast.ImportFrom(names=names):
                yield from (alias.name for alias in names if alias.name == alias.asname)
            case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case _:
                pass


def is_for_checkers(block: ast.If) -> bool:
    return isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"


def test_every_selection_exports_each_name_once() -> None:
    for parts in (*((part,) for part in PARTS), tuple(PARTS)):
        with tables.case(parts):
            exported = [name for _, names in PartSelection(parts).exports for name in names]
            assert len(exported) == len({*exported})
