"""Every code that can be shown is explained, and nothing else is."""

import ast
from collections.abc import Iterator
from pathlib import Path

import mcp_protogen
from mcp_protogen.cli.explain import explain, explanations, overview
from mcp_protogen.output.drift import Kind

CODE = Path(mcp_protogen.__file__).parent
# Codes of the generator that are announced before anything raises them.
ANNOUNCED = {"missing-description"}


def codes_in(tree: ast.AST) -> Iterator[str]:
    """First arguments of `Problem`, and first items of the tuples that are made into one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Problem":
            first = node.args[0]
        elif isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            first = node.value.elts[0]
        else:
            continue
        if isinstance(first, ast.Constant) and isinstance(first.value, str):
            yield first.value


def codes_of_the_source() -> set[str]:
    files = (path for path in CODE.rglob("*.py") if "runtime" not in path.parts)
    return {code for file in files for code in codes_in(ast.parse(file.read_text()))}


def test_every_code_of_the_source_is_explained() -> None:
    assert codes_of_the_source() - explanations().keys() == set()


def test_every_cause_of_drift_is_explained() -> None:
    assert {kind.value for kind in Kind} <= explanations().keys()


def test_nothing_is_explained_that_cannot_happen() -> None:
    known = codes_of_the_source() | {kind.value for kind in Kind} | ANNOUNCED
    assert explanations().keys() - known == set()


def test_without_a_code_each_is_listed_with_what_it_means() -> None:
    lines = overview().splitlines()
    assert [line.split()[0] for line in lines] == sorted(explanations())
    assert "no-output              nothing says where the package goes" in lines
    assert max(map(len, lines)) <= 100


def test_an_explanation_is_text_for_a_terminal() -> None:
    for code in explanations():
        text = explain(code)
        assert text.endswith("."), code
        assert max(map(len, text.splitlines())) <= 100, code
