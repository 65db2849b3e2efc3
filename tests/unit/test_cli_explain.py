"""Exactly the possible codes are explained."""

import ast
from collections.abc import Callable, Iterator

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.explanations import explanation, explanations, overview
from mcp_protogen.instep.audit.severities import SEVERITIES
from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES as OF_VECTORS
from mcp_protogen.pipeline.output.drift import DriftKind
from mcp_protogen.pipeline.reports.severities import severities
from mcp_protogen.servers.clients.severities import severities as of_tools
from mcp_protogen.servers.inspect.rules import SEVERITIES as OF_INSPECTIONS
from support import formats
from support.bounds.house import RUNTIME, trees

# Codes of the generator that are announced but not yet raised.
ANNOUNCED = {"missing-description"}


def constants(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may come to, as far as they stand in it."""
    match node:
        case ast.Constant(value=str(text)) if text:
            yield text
        case ast.IfExp(body=body, orelse=orelse):
            yield from (*constants(body), *constants(orelse))
        case _:
            pass


def codes_in(tree: ast.AST, *makers: str) -> Iterator[str]:
    """Yield the codes that calls of `makers` get."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in makers:
            named = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
            for code in (*node.args[:1], *named):
                yield from constants(code)


def problems_in(tree: ast.AST) -> Iterator[str]:
    """Yield the codes of `Problem`s, and of yielded tuples, which become problems."""
    yield from codes_in(tree, "Problem")
    for node in ast.walk(tree):
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple):
            yield from constants(node.value.elts[0])


def of_the_source(found: Callable[[ast.AST], Iterator[str]]) -> set[str]:
    files = (tree for path, tree in trees().items() if RUNTIME not in path.parents)
    return {code for tree in files for code in found(tree)}


def codes_of_problems() -> set[str]:
    return of_the_source(problems_in) | {kind.value for kind in DriftKind}


def codes_of_findings() -> set[str]:
    """Return the codes in the tables of findings of all commands, and of test vectors."""
    schema = formats.published_schema("vectors")
    tables = severities(), SEVERITIES, OF_INSPECTIONS, OF_VECTORS, of_tools()
    return {*(code for table in tables for code in table), *schema["$defs"]["code"]["enum"]}


def test_every_code_that_a_command_prints_is_explained() -> None:
    made = of_the_source(
        lambda tree: codes_in(tree, "Difference", "AuditFinding", "Change", "replace")
    )
    assert {"type-added", "type-extra", "loses-member"} <= made
    assert (made | codes_of_problems() | codes_of_findings()) - explanations().keys() == set()


def test_explanations_cover_only_possible_codes() -> None:
    known = codes_of_problems() | codes_of_findings() | ANNOUNCED
    assert explanations().keys() - known == set()


def test_a_code_of_two_commands_is_explained_for_both() -> None:
    for code in severities().keys() & SEVERITIES.keys():
        text = explanation(code)
        assert "mcp-gen diff" in text and "mcp-gen audit" in text


def test_without_a_code_each_is_listed_with_what_it_means() -> None:
    lines = overview().splitlines()
    assert list(dict.fromkeys(line.split()[0] for line in lines)) == sorted(explanations())
    assert "no-output                     no output folder is named" in lines
    assert "method-removed                diff: method: removed" in lines
    assert max(map(len, lines)) <= 100
    meanings = [line.split(maxsplit=1)[1] for line in lines if " vectors: " in line]
    assert len(meanings) == len({*meanings})


def test_a_code_that_nothing_is_like_is_no_reason_to_list_hundreds() -> None:
    with pytest.raises(ProblemError) as caught:
        explanation("zzz")
    assert caught.value.problems[0].hint == "mcp-gen explain lists all codes"


def test_an_explanation_is_text_for_a_terminal() -> None:
    for code in explanations():
        text = explanation(code)
        assert text.endswith("."), code
        assert max(map(len, text.splitlines())) <= 100, code
