"""Generated code has the layout of black, which formats only the output of users' templates."""

import ast
import json
import re
from collections.abc import Iterator
from itertools import groupby, product
from pathlib import Path
from typing import Any

import black
import mcp_protogen.pipeline.generate as generating
import pytest
from black.mode import Mode, TargetVersion
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.emit import formatting, rows, text
from mcp_protogen.pipeline.emit.text import WIDTH
from mcp_protogen.pipeline.emit.wrapping import UnknownStatement, wrap_module
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.package import Package
from mcp_protogen.pipeline.parts import PARTS, parse_parts
from mcp_protogen.runtime.translation.plans import (
    Apply,
    Arms,
    Drop,
    Each,
    Either,
    Members,
    Move,
    To,
    When,
)
from support import tables
from support.generated.golden_package import PACKAGE
from support.generated.made_up_schemas import SCHEMAS
from support.made_once import generated_once
from support.unit import schemas

MODE = Mode(line_length=WIDTH, target_versions={TargetVersion.PY311})

# `N` is a name, and `L` a long one.
STATEMENTS = (
    'N = ["a", "L", "b"]',
    "N: Final = Capability('server', ('a', \"L\"))",
    'N: Final = ErrorSpec(-32042, "L", data=m.N)',
    'N: Final[RequestSpec[m.N, m.L | m.N]] = RequestSpec(\n    "a/b",\n    params=m.N,\n)',
    "N: tuple[Revision, ...] = (Revision('L', module=f\"{__name__}.N\"),)",
    "N: dict[L] = {N: N, N: N}",
    'N: Mapping[str, Any] = MappingProxyType(\n    {\n        "L": (m.L, "on_N"),\n    }\n)',
    'N = P(\n    {\n        "N": (Need(L, "MUST", when=(When("N", one_of=("L",)),)),),\n    }\n)',
    'N = {\n    "N": "L L",\n}',
    'N = "L"',
    "from .L.N import A, L, N",
    "async def N(self, params: m.L) -> None:\n    pass",
    "async def N(self, params: m.L | None = None, **options: Unpack[N]) -> m.N | m.L:\n    pass",
    "def N(self, N: L = 1) -> Iterator[m.N]:\n    return all_items(self, m.N, lambda a: a.L, N)",
    "class N(WireModel):\n    L: Annotated[N | None, Field(alias='L', ge=0, le=1)] = None",
    "class N(WireModel):\n    N: Annotated[Literal['a', \"L\"] | None, Field(alias='N')] = \"L\"",
    "class N(WireModel):\n    N: Annotated[L, Field(alias='L')]",
    "class N(WireModel):\n    N: Literal['L'] = 'L'",
    "class N(WireModel):\n    N: L = SUPPLIED",
    "class N(WireModel):\n    N: dict[str, L] | None = None",
    "class N(WireModel):\n    N: 'L | None' = None",
    "class N(WireModel):\n    N: A | L | None = None",
    'N = TypeAliasType(\n    "N",\n    Annotated[A | L | N, Field(discriminator="N")],\n)',
    'N = TypeAliasType(\n    "N",\n    A | L | N,\n)',
    'N = TypeAliasType(\n    "N",\n    list[dict[str, A | L | N]],\n)',
    'N = TypeAliasType("N", "list[L]")',
    "if TYPE_CHECKING:\n    N: TypeAlias = 'L'",
)


def by_black(source: str) -> str:
    """Format a module with black."""
    return black.format_str(source, mode=MODE)


def below_the_head(source: str) -> str:
    """Return a module without its head, which switches black off."""
    assert source.startswith(formatting.HEAD)
    return source.removeprefix(formatting.HEAD)


def with_names(statement: str, short: int) -> Iterator[str]:
    """Yield a statement with long names of each length."""
    for long in range(1, 130):
        source = re.sub(r"\bL\b", "l" * long, statement.replace("'", '"'))
        yield re.sub(r"\bN\b", "n" * short, f"{source}\n")


def layout_of(source: str) -> str:
    """Return the lines that a statement is put on, whatever the length of its names."""
    try:
        wrapped = wrap_module(source)
    except UnknownStatement:
        assert "l" * 60 in source
        return "unknown"
    return re.sub(r"l+", "l", wrapped)


def test_statements_of_any_length_are_as_black_puts_them() -> None:
    for statement, short in product(STATEMENTS, (1, 9)):
        for _, one_layout in groupby(with_names(statement, short), layout_of):
            # Black has none between these that it does not have at one of the ends.
            first, *others = one_layout
            for source in (first, *others[-1:]):
                with tables.case(source):
                    assert formatting.format_module(source, ours=True) == by_black(source)


@pytest.mark.parametrize(
    "source",
    [
        "x = 1\n",
        f"{'x' * 90} = a | {'b' * 20}\n",
        f"def {'x' * 90}() -> None: ...\n",
        f"return {'x' * 90}[a](b).{'c' * 20}\n",
        f'x = ["{chr(0x6F22) * 90}", "a"]\n',
        f'x = ["{chr(0x6F22) * 46}", "a"]\n',
    ],
)
def test_only_what_fits_or_is_a_known_statement_needs_no_black(source: str) -> None:
    if len(source) <= WIDTH and source.isascii():
        assert wrap_module(source) is source
    else:
        with pytest.raises(UnknownStatement):
            wrap_module(source)


WORDS = st.sampled_from(
    ['"', '"""', "\\", "it's", '"a', 'a"', "x" * 90, "y" * 120, "漢字", "\n", "\n\n", "  ", "code"]
)


@settings(derandomize=True, database=None, max_examples=300)
@given(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), st.sampled_from([0, 4, 8]))
def test_texts_are_as_black_leaves_them(said: str, indent: int) -> None:
    assume(text.docstring(said, 0).strip('"\n '))
    outer = {0: "x = 1\n", 4: "class A:\n", 8: "class A:\n    def f(self) -> None:\n"}[indent]
    source = f"{outer}{' ' * indent}{text.docstring(said, indent)}\n"
    assert by_black(source) == source
    member = f"class A:\n    x = 1\n    {text.docstring(said, 4, of_member=True)}\n"
    assert by_black(member) == member


VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9) | st.integers()


@settings(derandomize=True, database=None, max_examples=300)
@given(VALUES | st.dictionaries(st.text(max_size=9), VALUES, max_size=1))
def test_values_are_as_black_leaves_them(value: object) -> None:
    source = f"x = {text.literal(value)}\n"
    assert by_black(source) == source


BEFORE = "N: Final[Mapping[str, Plan]] = "


def rows_with(name: str, other: str, said: str) -> Iterator[dict[str, Any]]:
    """Return plans with names and texts in all places."""
    yield {name: Drop(said)}
    yield {"a": Members(name, drop={"b": Drop(other)}, inside={name: To(other)})}
    yield {"a": Members("b", move={"c": (Move((other, name), f"{said}w {other}"),)})}
    yield {"a": Members("b", add={name: [other, {"c": name}]}, undefined=(other, name))}
    yield {"a": Arms("b", "c", arms={name: To(other)}, apply={"d": Apply("e", said)})}
    yield {"a": Each(To(name)), "b": Either(To(other), Each(Each(To(name))))}
    yield {"a": When((("b", other, None), ("c", "d", To(name))))}


def test_rows_of_any_length_are_as_black_puts_them() -> None:
    for long, letter in product((1, 60, 84, 94, 97, 130), ("l", "é", "e\u0301", "漢")):
        texts = letter * long, letter * max(110 - long, 1), f"{letter * 9} " * (long // 3)
        for number, plans in enumerate(rows_with(*texts)):
            with tables.case((number, long, letter)):
                got = formatting.format_module(f"{rows.lay_out(plans, BEFORE)}\n", ours=True)
                assert by_black(got) == got
                assert ast.dump(ast.parse(got)) == ast.dump(ast.parse(BEFORE + rows.row(plans)))


OWN = [path for path in PACKAGE.rglob("*.py") if "_runtime" not in path.parts]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", sorted(OWN), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_the_committed_package_is_as_black_leaves_it(path: Path) -> None:
    source = below_the_head(path.read_text(encoding="utf-8"))
    assert by_black(source) == source


def make_package(what: str) -> Package:
    """A package of few parts, of a made-up revision, or one that imports its runtime."""
    match what:
        case "made up":
            document = schemas.schema()
            document["$defs"] |= SCHEMAS | {
                "Uneven": schemas.record(
                    x={"enum": ["漢" * 20, "字" * 15]}, y={"const": "e\u0301" * 60}
                )
            }
            return schemas.make(document)
        case "one leniency":
            snapshot = read_snapshot("2026-07-28", schema_folder())
            document = json.loads(re.sub(rb'"(ttlMs|cacheScope)"', rb'"\1Else"', snapshot))
            return schemas.make(document)
        case "installed runtime":
            return generated_once(GenerationOptions(("2025-06-18",), runtime="runtime"))
        case part:
            return generated_once(GenerationOptions(("2026-07-28",), parts=parse_parts([part])))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("what", ["made up", "one leniency", "installed runtime", "none", *PARTS])
def test_other_packages_are_as_black_leaves_them(what: str) -> None:
    for file in make_package(what).files:
        if file.path.endswith(".py") and not file.path.startswith("_runtime/"):
            with tables.case(file.path):
                source = below_the_head(file.content.decode())
                assert by_black(source) == source


def test_no_package_of_ours_needs_black(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise AssertionError("black is not needed")

    monkeypatch.setattr(black, "format_str", refuse)
    generating.generate(GenerationOptions(("2024-11-05", "2026-07-28")))


def test_text_that_is_no_python_is_named_with_its_line() -> None:
    for source, line in (("x = 1\ny = (\n", 2), ("x = '\x00'", 1)):
        with pytest.raises(ProblemError) as caught:
            formatting.parse_module(source, "v1/methods.py", "methods.py.jinja")
        (problem,) = caught.value.problems
        assert (problem.code, problem.place) == ("template-error", "methods.py.jinja")
        assert "v1/methods.py" in problem.message
        assert f"line {line}" in problem.message or "null bytes" in problem.message
