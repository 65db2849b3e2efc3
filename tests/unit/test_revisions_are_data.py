"""Code names no revision, and picks none by position: differences are in facts and rules."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from jinja2 import Environment, nodes
from mcp_protogen.pipeline.emit.render import FILTERS
from support.folders import ROOT
from support.revisions import REVISIONS
from support.tables import case

MODULES = sorted((ROOT / "codegen").rglob("*.py"))
TEMPLATES = sorted((ROOT / "templates").rglob("*.jinja"))
SAMPLES = {
    "codegen/mcp_protogen/cli/schema.py": "What a name may look like, in a text for users.",
    "codegen/mcp_protogen/pipeline/setting_readers.py": "The same, in a hint.",
    "codegen/mcp_protogen/servers/call/forms.py": "A date as an example of one.",
    "codegen/mcp_protogen/instep/vectors/samples.py": "Values that are made up: a date is one.",
}
"""Files that name a revision all the same, with the reason."""


def names_revision(value: object) -> bool:
    """Return whether a value is a text with the name of a revision."""
    return isinstance(value, str) and any(revision in value for revision in REVISIONS)


def is_list_of_revisions(name: str) -> bool:
    return name.lower().endswith("revisions")


def faults_of_code(tree: ast.AST) -> Iterator[int]:
    """Return the lines that name a revision outside docstrings, or pick one by position."""
    texts = {id(statement.value) for statement in ast.walk(tree) if isinstance(statement, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in texts and names_revision(node.value):
            yield node.lineno
        if isinstance(node, ast.Subscript) and is_list_of_revisions(ast.unparse(node.value)):
            places = [
                constant.value
                for constant in ast.walk(node.slice)
                if isinstance(constant, ast.Constant)
            ]
            if any(isinstance(place, int) for place in places):
                yield node.lineno


def faults_of_template(text: str) -> Iterator[int]:
    """The lines of a template with such a name, or such a place."""
    environment = Environment()
    environment.filters.update(FILTERS)
    tree = environment.parse(text)
    yield from (node.lineno for node in tree.find_all(nodes.Const) if names_revision(node.value))
    yield from (
        node.lineno for node in tree.find_all(nodes.TemplateData) if names_revision(node.data)
    )
    for item in tree.find_all(nodes.Getitem):
        name = str(getattr(item.node, "name", getattr(item.node, "attr", "")))
        by_place = isinstance(item.arg, nodes.Const | nodes.Neg | nodes.Slice)
        if by_place and is_list_of_revisions(name):
            yield item.lineno


def faults(path: Path) -> list[str]:
    name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
    found = faults_of_code(ast.parse(text)) if path.suffix == ".py" else faults_of_template(text)
    return [f"{name}:{line}" for line in found]


def test_no_code_names_a_revision_or_picks_one_by_its_place() -> None:
    named = [fault for path in (*MODULES, *TEMPLATES) for fault in faults(path)]
    assert {place.rpartition(":")[0] for place in named} == SAMPLES.keys(), named


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_name_or_a_place_of_a_revision_is_found_in_code_and_in_templates(revision: str) -> None:
    for line in (
        f"x = y == {revision!r}",
        f"x = ({revision!r}, 1)",
        f"x = f'only {revision} has {{y}}'",
        "x = REVISIONS[0]",
        "x = package.REVISIONS[-1]",
        "x = revisions[1:]",
    ):
        with case(line):
            assert list(faults_of_code(ast.parse(line))) == [1]
    for line in (
        f"{{{{ one == {revision!r} }}}}",
        f"only {revision}",
        "{{ revisions[-1].module }}",
        "{{ ir.revisions[0] }}",
        "{{ revisions[1:] }}",
    ):
        with case(line):
            assert list(faults_of_template(line)) == [1]
    for line in (f'"""As in {revision}."""', f"x = 1  # {revision}", "x = revisions[name]"):
        with case(line):
            assert list(faults_of_code(ast.parse(line))) == []
    for line in (f"{{# {revision} #}}", "{{ revisions[name] }}", "{{ (revisions | last).module }}"):
        with case(line):
            assert list(faults_of_template(line)) == []
