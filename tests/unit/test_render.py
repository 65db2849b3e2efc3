"""Templates: what is wrong with one is named by template and line."""

from pathlib import Path

import pytest
import schemas
from mcp_protogen.config import Options
from mcp_protogen.emit.render import Renderer
from mcp_protogen.generate import generate
from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.resources import templates_folder

REVISION = "2024-11-05"


def broken(folder: Path, text: str, name: str = "methods.py.jinja") -> Problem:
    """The one problem of a run whose template `name` is `text`."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        generate(Options((REVISION,), templates=folder))
    (problem,) = caught.value.problems
    assert problem.code == "template-error"
    assert problem.hint
    return problem


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("x = 1\n\ny = {{ nothing }}\n", 3, "'nothing' is undefined"),
        ("x = 1\ny = {{ ir.nothing }}\n", 2, "has no attribute 'nothing'"),
        ("x = 1\n{% if x %}\n", 2, "Unexpected end of template"),
        ("{% for %}\n", 1, "Expected"),
        ("\n\n{{ 1 | nothing }}\n", 3, "No filter named 'nothing'"),
        ("\n{% include 'nothing.jinja' %}\n", 2, "nothing.jinja"),
        ("\n{% from 'nothing.jinja' import x %}\n", 2, "nothing.jinja"),
        ("\n\n{{ 1 / 0 }}\n", 3, "division by zero"),
        ("\n{{ 1 + 'x' }}\n", 2, "unsupported operand"),
        ("\n{{ ir.methods | map(attribute='nothing') | list | tuple_of }}\n", 2, "Undefined"),
    ],
)
def test_a_broken_template_is_named_with_its_line(
    text: str, line: int, message: str, tmp_path: Path
) -> None:
    problem = broken(tmp_path, text)
    assert problem.place == f"methods.py.jinja:{line}"
    assert message in problem.message


def test_a_broken_part_of_a_template_is_named_itself(tmp_path: Path) -> None:
    problem = broken(
        tmp_path, "\n{%- macro head(text) %}{{ oops }}{% endmacro -%}", "_macros.jinja"
    )
    assert problem.place == "_macros.jinja:2"


def test_a_template_that_is_not_utf8_is_named(tmp_path: Path) -> None:
    (tmp_path / "methods.py.jinja").write_bytes(b"# \xff\n")
    with pytest.raises(ProblemError) as caught:
        generate(Options((REVISION,), templates=tmp_path))
    assert caught.value.problems[0].place.startswith("methods.py.jinja")


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\n", "  x = 1\ny = 2\n", "x = 1 +\n"])
def test_a_template_whose_text_is_no_python_is_named(text: str, tmp_path: Path) -> None:
    problem = broken(tmp_path, text)
    assert problem.place == "methods.py.jinja"
    assert "no Python" in problem.message
    assert "line " in problem.message


def test_templates_of_the_user_go_first_and_ours_fill_in(tmp_path: Path) -> None:
    text = '{% include "_macros.jinja" %}MINE = {{ ir.id | literal }}\n'
    (tmp_path / "methods.py.jinja").write_text(text, encoding="utf-8")
    package = generate(Options((REVISION,), templates=tmp_path))
    assert schemas.text_of(package, "v2024_11_05/methods.py") == f'MINE = "{REVISION}"\n'
    assert "class Server(" in schemas.text_of(package, "v2024_11_05/server.py")


def test_an_empty_template_makes_an_empty_module(tmp_path: Path) -> None:
    (tmp_path / "methods.py.jinja").write_text("")
    package = generate(Options((REVISION,), templates=tmp_path))
    assert schemas.text_of(package, "v2024_11_05/methods.py").strip() == ""


def test_schema_text_is_no_template(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{{ text }}|{{ text | literal }}")
    found = Renderer(templates_folder(), tmp_path).render("x.jinja", {"text": "{{ 1 + 1 }}"})
    assert found == '{{ 1 + 1 }}|"{{ 1 + 1 }}"'


def test_a_template_that_is_not_there_is_named() -> None:
    with pytest.raises(ProblemError) as caught:
        Renderer(templates_folder()).render("nothing.jinja", {})
    assert caught.value.problems[0].place == "nothing.jinja:1"
