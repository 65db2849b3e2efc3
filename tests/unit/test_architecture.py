"""The shape of the code, where a rule can be read off it."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CODE = ROOT / "codegen" / "mcp_protogen"
RUNTIME = CODE / "runtime"
MODULES = sorted((ROOT / "codegen").rglob("*.py"))

LONGEST_MODULE = 350
LONGEST_FUNCTION = 40
ALLOWED_IN_RUNTIME = {"pydantic", "pydantic_core", "typing_extensions"} | set(
    sys.stdlib_module_names
)


def named(path: Path) -> str:
    return path.relative_to(ROOT / "codegen").as_posix()


def imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_modules_and_functions_are_short(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    assert source.count("\n") <= LONGEST_MODULE
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    lengths = {
        # The signature of a command is its table of options, and not counted.
        node.name: (node.end_lineno or 0) - node.body[0].lineno + 1
        for node in ast.walk(ast.parse(source))
        if isinstance(node, functions)
    }
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION} == {}


@pytest.mark.parametrize("path", sorted(RUNTIME.rglob("*.py")), ids=named)
def test_the_runtime_stands_on_pydantic_and_the_standard_library_alone(path: Path) -> None:
    # What HTTP needs besides is imported by name, where it is used: neither a program that goes
    # without it nor the type checker of its author has to have it.
    found = {name.split(".")[0] for name in imports(ast.parse(path.read_text(encoding="utf-8")))}
    assert found <= ALLOWED_IN_RUNTIME


VOCABULARY = ("ir", "names", "problems")


@pytest.mark.parametrize("module", VOCABULARY)
def test_the_vocabulary_of_the_stages_knows_no_stage(module: str) -> None:
    tree = ast.parse((CODE / f"{module}.py").read_text(encoding="utf-8"))
    ours = {name for name in imports(tree) if name.split(".")[0] == CODE.name}
    assert ours <= {f"{CODE.name}.{name}" for name in VOCABULARY}


@pytest.mark.parametrize("path", sorted(RUNTIME.rglob("*.py")), ids=named)
def test_the_runtime_refers_to_itself_relatively_and_to_nothing_above(path: Path) -> None:
    depth = len(path.relative_to(RUNTIME).parts)
    levels = [
        n.level for n in ast.walk(ast.parse(path.read_bytes())) if isinstance(n, ast.ImportFrom)
    ]
    assert max(levels, default=0) <= depth


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_only_the_command_line_prints(path: Path) -> None:
    calls = {
        ast.unparse(node.func)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
    }
    printing = {"print", "sys.stdout.write", "sys.stderr.write", "typer.echo"} & calls
    assert not printing or "cli" in path.relative_to(CODE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_every_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
