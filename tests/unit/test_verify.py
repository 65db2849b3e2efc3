"""Faults of generated modules are named without running them."""

import ast

import pytest
from mcp_protogen.pipeline.emit import verify
from mcp_protogen.pipeline.ir import RevisionIR
from support import tables
from support.unit import schemas


@pytest.fixture(scope="module")
def ir() -> RevisionIR:
    return schemas.derive(schemas.schema()).ir


@pytest.fixture(scope="module")
def body() -> str:
    derived = schemas.derive(schemas.schema())
    return schemas.models_source(derived.ir).body


def test_unsound_modules_are_named() -> None:
    for source, message in (
        ("return 1", "is not Python"),
        ("x = 1\nx = 2", "x is defined twice"),
        ("class A: ...\ndef A(): ...", "A is defined twice"),
        ("x: int = 1\nasync def x(): ...", "x is defined twice"),
        ("__all__ = ['y']\nx = 1", "__all__ lists y"),
        ("def f(a: b) -> None: ...", "b is used but not defined"),
    ):
        with tables.case(source):
            (problem,) = verify.module(ast.parse(source), "m.py")
            assert (problem.code, problem.place) == ("bad-output", "m.py")
            assert message in problem.message


def test_a_sound_module_passes() -> None:
    imported = "from x import y as z\n__all__ = ['A', 'z', 'f', 'v']\n"
    source = imported + "class A: ...\ndef f(): ...\nv: int = 1"
    assert verify.module(ast.parse(source), "m.py") == ()


def test_unresolved_imports_between_modules_are_named() -> None:
    sources = {
        "methods": "from . import models as m\nX = m.A\ndef f(): return m.B",
        "server": "from . import methods\nfrom .methods import f, g\nprint(methods.X, methods.Y)",
    }
    trees = {name: ast.parse(source) for name, source in sources.items()}
    found = [(member.place, member.message) for member in verify.members(trees, ["A"], "v1")]
    assert found == [
        ("v1/methods.py", "models.B is missing"),
        ("v1/server.py", "methods.Y is missing"),
        ("v1/server.py", "methods.g is missing"),
    ]


def test_written_models_match_ir(ir: RevisionIR, body: str) -> None:
    assert verify.models(ast.parse(body), ir.types, "models.py") == ()


TAMPERED = {
    "member of another type": ("    text: str\n", "    text: int\n", "TextBlock.text"),
    "member missing": ("    weight: ", "    ANY_OF_REQUIRED: ", "LinkBlock.weight is missing"),
    "member added": ("    text: str\n", "    text: str\n    more: str\n", "more is in no schema"),
    "default changed": ('= "text"', '= "tex"', "TextBlock.type"),
    "default dropped": (' = "link"', "", "LinkBlock.type"),
    "bound changed": ("ge=0", "ge=1", "LinkBlock.weight"),
    "type missing": ("class TextBlock(", "class Renamed(", "type TextBlock is missing"),
    "another base": ("class TextBlock(WireModel)", "class TextBlock(Evil)", "out of place"),
    "a metaclass": ("TextBlock(WireModel)", "TextBlock(WireModel, metaclass=M)", "out of place"),
    "a decorator": ("class TextBlock(", "@evil\nclass TextBlock(", "out of place"),
    "a call": ("class TextBlock(", "evil()\n\n\nclass TextBlock(", "evil() is out of place"),
    "a call in a class": (
        "    text: str\n",
        "    text: str\n    evil()\n",
        "evil() is out of place",
    ),
    "a method": ("    text: str\n", "    text: str\n    def f(self): ...\n", "out of place"),
    "an import": (
        "class TextBlock(",
        "import os\n\n\nclass TextBlock(",
        "import os is out of place",
    ),
    "a rule too many": (
        "    text: str\n",
        "    ANY_OF_REQUIRED: ClassVar = ('x',)\n    text: str\n",
        "ANY_OF_REQUIRED",
    ),
    "an alias of something else": ('    "Mode",\n    Literal', '    "Mode",\n    list', "Mode is"),
    "an alias called otherwise": ('    "Mode",\n', '    "Mood",\n', "out of place"),
}


def test_an_alias_that_is_said_twice_is_the_same_both_times() -> None:
    document = schemas.schema()
    document["$defs"]["Tree"] = {"type": "array", "items": schemas.ref("Tree")}
    ir = schemas.derive(document).ir
    body = schemas.models_source(ir).body
    assert verify.models(ast.parse(body), ir.types, "models.py") == ()
    for old, new in (
        ('Tree: TypeAlias = "list[Tree]"', 'Tree: TypeAlias = "list[int]"'),
        ('TypeAliasType("Tree", "list[Tree]")', 'TypeAliasType("Tree", "list[int]")'),
        ("if TYPE_CHECKING:\n", "if evil():\n"),
        ("else:\n", "    evil()\nelse:\n"),
    ):
        assert old in body
        found = verify.models(ast.parse(body.replace(old, new)), ir.types, "models.py")
        assert any("out of place" in problem.message for problem in found), new


@pytest.mark.parametrize(("old", "new", "message"), TAMPERED.values(), ids=TAMPERED)
def test_every_departure_from_the_ir_is_named(
    old: str, new: str, message: str, ir: RevisionIR, body: str
) -> None:
    assert old in body
    # Quotes may differ in the published file; here they are as the writer leaves them.
    found = verify.models(ast.parse(body.replace(old, new)), ir.types, "models.py")
    assert message in "\n".join(problem.message for problem in found)
    assert {problem.code for problem in found} == {"bad-output"}


def test_a_class_in_place_of_an_alias_is_named(ir: RevisionIR, body: str) -> None:
    start = body.index("Mode = TypeAliasType(")
    end = body.index(")", body.index("]", start)) + 1
    tampered = body[:start] + "class Mode(WireModel):\n    pass\n" + body[end:]
    assert "Mode is a class" in "\n".join(
        problem.message for problem in verify.models(ast.parse(tampered), ir.types, "models.py")
    )
