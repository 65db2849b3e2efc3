"""Templates: a fault is named by template and line."""

from functools import cache
from pathlib import Path

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import templates_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit import layout
from mcp_protogen.pipeline.emit.formatting import HEAD
from mcp_protogen.pipeline.emit.render import Renderer
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.parts import DEFAULT, PARTS, PartSelection
from support.unit import schemas

REVISION = "2024-11-05"


@cache
def tiny() -> RevisionIR:
    """Return the input of modules."""
    return schemas.read(schemas.schema()).ir


def broken(folder: Path, text: str, name: str = "methods.py.jinja") -> Problem:
    """Return the single problem of modules whose template `name` is `text`."""
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProblemError) as caught:
        list(
            layout.revision_modules(
                tiny(), [], PartSelection(DEFAULT), Renderer(templates_folder(), folder)
            )
        )
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
        generate(GenerationOptions((REVISION,), templates=tmp_path))
    assert caught.value.problems[0].place.startswith("methods.py.jinja")


FORBIDDEN = (
    *("{{ ''.__class__ }}", "{{ ir.__class__.__mro__ }}", "{{ ir.methods.__class__ }}"),
    *("{{ cycler.__init__.__globals__ }}", "{{ lipsum.__globals__ }}", "{{ self.__init__ }}"),
    *("{{ '{0.__class__}'.format(ir) }}", "{{ head.__call__ }}", "{{ ''.join.__self__ }}"),
    *("{{ ''['__class__'] }}", "{{ '' | attr('__class__') }}", "{{ texts.append(1) }}"),
    *("{{ run() }}", "{{ path.read_text() }}", "{{ texts.clear() }}"),
    "{{ ('{0.__class__}' | attr('format'))(ir) }}",
    *("{% include '../above.jinja' %}", "{% include '/etc/hosts' %}", "{% include 'a/../../x' %}"),
    *("{% include 'link.jinja' %}", "{% include 'beyond/above.jinja' %}"),
    *("{% import 'link.jinja' as x %}", "{% extends '../above.jinja' %}"),
)


def test_a_template_reaches_neither_python_nor_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (tmp_path / "above.jinja").write_text("secret")
    (folder / "link.jinja").symlink_to(tmp_path / "above.jinja")
    (folder / "beyond").symlink_to(tmp_path)
    ran: list[str] = []
    context = {"ir": GenerationOptions(()), "texts": ["x"], "path": tmp_path / "above.jinja"}
    for text in FORBIDDEN:
        (folder / "own.jinja").write_text(f"\n{{%- macro head() %}}{{% endmacro -%}}\n{text}")
        with pytest.raises(ProblemError) as caught:
            renderer = Renderer(templates_folder(), folder)
            renderer.render("own.jinja", {**context, "run": lambda: ran.append("")})
        (problem,) = caught.value.problems
        assert (problem.code, problem.place) == ("template-forbidden", "own.jinja:3"), text
        assert problem.hint and " at 0x" not in problem.message
    assert ran == [] and context["texts"] == ["x"]


def test_the_name_of_a_template_is_no_code(tmp_path: Path) -> None:
    (tmp_path / "{2 + 2}.jinja").write_text("{% from 'm' import nope %}{{ nope }}")
    (tmp_path / "m").touch()
    with pytest.raises(ProblemError, match=r"in '\{2 \+ 2\}\.jinja'\) does not export.*'nope'"):
        Renderer(templates_folder(), tmp_path).render("{2 + 2}.jinja", {})


def test_a_template_may_use_what_prints(tmp_path: Path) -> None:
    text = """{% macro twice(x) %}{{ caller() }}{{ x.upper() * 2 }}{% endmacro -%}
{% set ns = namespace(n=0) %}{% for k, v in {"a": 1}.items() %}{% set ns.n = ns.n + v %}
{{- loop.cycle("b", "c") }}{% endfor %}{{ ns.n }}{% call twice("d") %}e{% endcall %}
{{- "{}".format("f") }}{{ range(3) | join }}{% include "sub/part.jinja" %}
{%- set comma, turn = joiner(","), cycler("h", "i") %}
{%- for _ in range(3) %}{{ comma() }}{{ turn.next() }}{% endfor %}"""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "part.jinja").write_text("g")
    (tmp_path / "own.jinja").write_text(text)
    assert Renderer(templates_folder(), tmp_path).render("own.jinja", {}) == "b1eDDf012gh,i,h"


@pytest.mark.parametrize("text", ["def f(:\n", "x = '\n", "  x = 1\ny = 2\n", "x = 1 +\n"])
def test_a_template_whose_text_is_no_python_is_named(text: str, tmp_path: Path) -> None:
    problem = broken(tmp_path, text)
    assert problem.place == "methods.py.jinja"
    assert "not valid Python" in problem.message
    assert "line " in problem.message


def test_templates_of_the_user_go_first_and_ours_fill_in(tmp_path: Path) -> None:
    text = '{% include "_macros.jinja" %}MINE = {{ ir.id | literal }}\n'
    (tmp_path / "revision.py.jinja").write_text(text, encoding="utf-8")
    (tmp_path / "bridge.py.jinja").write_text("")
    package = generate(GenerationOptions((REVISION,), templates=tmp_path, parts=tuple(PARTS)))
    assert schemas.text_of(package, "v2024_11_05/__init__.py") == f'{HEAD}MINE = "{REVISION}"\n'
    assert "class Server(" in schemas.text_of(package, "v2024_11_05/server.py")
    # An empty template makes a module with only the head.
    assert schemas.text_of(package, "bridge.py").strip() == HEAD.strip()


def test_schema_text_is_no_template(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{{ text }}|{{ text | literal }}")
    found = Renderer(templates_folder(), tmp_path).render("x.jinja", {"text": "{{ 1 + 1 }}"})
    assert found == '{{ 1 + 1 }}|"{{ 1 + 1 }}"'


def test_a_template_that_is_not_there_is_named() -> None:
    with pytest.raises(ProblemError) as caught:
        Renderer(templates_folder()).render("nothing.jinja", {})
    assert caught.value.problems[0].place == "nothing.jinja:1"
