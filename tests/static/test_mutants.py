"""`make mutants`: the changes of the code that it tries, and its verdicts."""

import subprocess
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Final

import pytest
from support import tables
from support.folders import ROOT
from support.mutants.__main__ import Verdicts, read_uncounted, score_of
from support.mutants.mutations import Mutation, find_mutations
from support.mutants.sampling import area_of, find_all, sample
from support.mutants.trying import Judge, Workshop, make_batches, order_tests

CODE: Final = "codegen/mcp_protogen/base/sums.py"
TESTS: Final = "tests/test_sums_of_a_small_project.py"
SOURCE: Final = dedent('''
    LIMIT = 3


    def is_small(number: int) -> bool:
        """Return true below the limit."""
        return number < LIMIT


    def count_down(number: int) -> int:
        while number > 0:
            number -= 1
        return number
    ''')
OWN_TESTS: Final = dedent("""
    from pathlib import Path

    from mcp_protogen.base import sums


    def test_text() -> None:
        assert Path(sums.__file__).stat().st_size == SIZE


    def test_sums() -> None:
        assert sums.is_small(1) and not sums.is_small(5)


    def test_counting() -> None:
        assert sums.count_down(2) == 0
    """)
TEXT, SUMS, COUNTING = (f"{TESTS}::test_{name}" for name in ("text", "sums", "counting"))


def changes(source: str) -> list[str]:
    return [mutation.change for mutation in find_mutations(CODE, dedent(source))]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A checkout of one module and its tests."""
    for name, text in ((CODE, SOURCE), (TESTS, OWN_TESTS), ("pyproject.toml", "")):
        (tmp_path / "project" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "project" / name).write_text(text, "utf-8")
    for folder in ("codegen/mcp_protogen", "codegen/mcp_protogen/base"):
        (tmp_path / "project" / folder / "__init__.py").touch()
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path / "project", check=True)
    return tmp_path / "project"


def find_change(kind: str, function: str) -> Mutation:
    (found,) = (
        mutation
        for mutation in find_mutations(CODE, SOURCE)
        if (mutation.kind, mutation.function) == (kind, function)
    )
    return found


def test_changes_of_conditions() -> None:
    for source, expected in (
        ("x = a == b", ["flipped comparison: a == b -> a != b"]),
        ("x = a <= b", ["flipped comparison: a <= b -> a > b", "boundary: a <= b -> a < b"]),
        (
            "x = a and b and c",
            [
                "first part left out: a and b and c -> b and c",
                "last part left out: a and b and c -> a and b",
            ],
        ),
        ("if a():\n  x = 'y'", ["negated condition: a() -> not (a())"]),
        ("x = [a for a in b if a]", ["filter left out: a -> True"]),
        ("x = 7", ["limit + 1: 7 -> 8", "limit - 1: 7 -> 6"]),
        ("x = True", ["swapped boolean: True -> False"]),
    ):
        with tables.case(source):
            assert changes(source) == expected


def test_changes_of_statements() -> None:
    for source, expected in (
        ("def f() -> bool:\n  return g()", ["negated result: return g() -> return not (g())"]),
        ("def f() -> bool:\n  return True", ["swapped boolean: True -> False"]),
        ("def f() -> list[int]:\n  return g()", ["empty result: return g() -> return []"]),
        ("def f() -> A:\n  return g()", ["empty result: return g() -> return None"]),
        ("async def f() -> None:\n  await g()", ["call left out: await g() -> pass"]),
        ("raise Error", ["raise left out: raise Error -> pass"]),
    ):
        with tables.case(source):
            assert changes(source) == expected


def test_annotations_strings_and_asserts_stay() -> None:
    assert not changes('''
        """Text."""
        if TYPE_CHECKING:
            x: Literal[1] = f"{2}"
        Kind: TypeAlias = "A | B"
        Size = Annotated[int, 3]

        @decorated(frozen=True)
        class A(B, total=False):
            member: Literal[4]

            def f(self, a: Literal[5]) -> Literal[6]:
                assert a == 7

            def g(self, a: bool = True) -> None:
                """Text."""
                ...
        ''')


def test_change_is_made_at_its_place_alone() -> None:
    source = "é = 'é', a(\n    b,\n) == c\nd = 1\n"
    flipped, *_ = find_mutations(CODE, source)
    assert flipped.apply(source) == "é = 'é', (a(b) != c)\nd = 1\n"


def test_equal_changes_of_a_function_are_numbered() -> None:
    assert changes("raise Error\nraise Error") == [
        "raise left out: raise Error -> pass",
        "raise left out: raise Error -> pass (number 2)",
    ]


def test_sample_has_several_kinds_and_stays_when_other_code_changes() -> None:
    source = "x = [1, 2, 3, 4, 5, 6, 7, 8, a == b, a and b]\n"
    found = find_mutations(CODE, source)
    chosen = sample(found, "0", 100)
    assert len(chosen) == 3 == len({mutation.kind for mutation in chosen})
    assert sample(found, "0", len(found) // 5) == sample(found[::-1], "0", len(found) // 5)
    others = [mutation for mutation in found if mutation not in chosen]
    assert sample([mutation for mutation in found if mutation != others[-1]], "0", 100) == chosen
    moved = find_mutations(CODE.replace("/base/", "/pipeline/"), source)
    assert [mutant.change for mutant in sample(moved, "0", 100)] == [
        mutant.change for mutant in chosen
    ]


def test_areas_are_those_of_the_map_of_the_house() -> None:
    assert area_of("codegen/mcp_protogen/instep/audit/probe/class_members.py") == "instep/audit"
    assert area_of("codegen/mcp_protogen/runtime/features/auth/keys.py") == "runtime/features"
    assert area_of("codegen/mcp_protogen/runtime/connection.py") == "runtime"
    assert area_of("codegen/mcp_protogen/pipeline/generate.py") == "pipeline"


def test_changes_that_do_not_count_are_in_the_code_and_have_reasons() -> None:
    reasons = read_uncounted(find_all(ROOT))
    assert all(len(reason.split()) > 3 for reason in reasons.values())
    with pytest.raises(SystemExit, match="has what the code no longer has"):
        read_uncounted({})


def test_tests_notice_changes_or_not(project: Path, tmp_path: Path) -> None:
    workshop = Workshop(project, tmp_path / "workshop")
    workshop.lay_out()
    judge = Judge(workshop, 20.0, {})
    # A test that fails with another text of the same meaning notices nothing.
    tests = [TEXT, SUMS, COUNTING]
    assert judge.judge(find_change("flipped comparison", "is_small"), tests).killer == SUMS
    assert judge.judge(find_change("boundary", "is_small"), tests) == (None, 2)
    assert judge.judge(find_change("empty result", "count_down"), [SUMS]) == (None, 1)
    assert (project / CODE).read_text("utf-8") == SOURCE


def test_copy_that_a_killed_run_has_left_is_put_right(project: Path, tmp_path: Path) -> None:
    workshop, copy = Workshop(project, tmp_path / "workshop"), tmp_path / "workshop" / "tree" / CODE
    workshop.lay_out()
    copy.write_text("changed", "utf-8")
    workshop.lay_out()
    assert copy.read_text("utf-8") == SOURCE


def test_change_that_breaks_the_import_or_hangs_is_noticed(project: Path, tmp_path: Path) -> None:
    workshop = Workshop(project, tmp_path / "workshop", patience=5.0)
    workshop.lay_out()
    judge = Judge(workshop, 20.0, {})
    asleep = "__import__('time').sleep(99)"
    endless = replace(find_change("flipped comparison", "count_down"), replacement=asleep)
    assert judge.judge(endless, [SUMS, COUNTING]).killer == COUNTING
    broken = replace(find_change("flipped comparison", "count_down"), replacement="]")
    assert judge.judge(broken, [SUMS]).killer == SUMS


def test_verdict_lasts_until_code_or_test_changes(project: Path, tmp_path: Path) -> None:
    flipped, boundary = (
        find_change(kind, "is_small") for kind in ("flipped comparison", "boundary")
    )
    verdicts = Verdicts(tmp_path / "verdicts.json", project)
    verdicts.add(flipped, SUMS)
    verdicts.add(boundary, None)
    for file in (CODE, TESTS):
        again = Verdicts(tmp_path / "verdicts.json", project)
        assert again.killer(flipped) == SUMS
        assert again.killer(boundary) is None
        before = (project / file).read_bytes()
        (project / file).write_bytes(before + b"#")
        assert again.killer(flipped) is None
        (project / file).write_bytes(before)


def test_score_lists_what_survived_and_what_does_not_count(project: Path, tmp_path: Path) -> None:
    mutations = find_mutations(CODE, SOURCE)
    killed, left_out, *survived = mutations
    verdicts = Verdicts(tmp_path / "verdicts.json", project)
    verdicts.add(killed, SUMS)
    reasons = {(left_out.place, left_out.change): "nothing can notice it"}
    score = score_of({"base": mutations}, reasons, verdicts)
    assert (score["made"], score["counted"], score["killed"]) == (
        len(mutations),
        len(mutations) - 1,
        1,
    )
    assert score["percent"] == round(100 / (len(mutations) - 1), 1)
    area = score["areas"]["base"]
    assert [entry["change"] for entry in area["survived"]] == [entry.change for entry in survived]
    assert [entry["reason"] for entry in area["uncounted"]] == ["nothing can notice it"]


def test_closest_tests_come_before_those_named_alike_and_slow_ones_last() -> None:
    closest = [f"tests/test_a.py::test_{number}" for number in range(5)]
    many = [f"tests/test_b.py::test_{number}" for number in range(20)]
    own = "tests/test_small_sums.py::test_addition"
    naming = "tests/test_c.py::test_is_small_below_the_limit"
    quick, slow = "tests/test_d.py::test_quick", "tests/test_d.py::test_slow"
    tests = [*closest, *many, slow, quick, naming, own]
    recorded = {**dict.fromkeys(tests, 1.0), slow: 9.0}
    ordered = order_tests(find_change("boundary", "is_small"), tests, recorded)
    assert ordered[:7] == [*closest, own, naming]
    assert ordered.index(quick) < ordered.index(many[-1])
    assert ordered[-1] == slow
    assert len(ordered) == len(tests)


def test_tests_run_in_batches_of_few_files() -> None:
    tests = [f"tests/test_{name}.py::test" for name in "abcdefghij"]
    recorded = dict.fromkeys(tests, 1.0)
    assert [*make_batches(tests, recorded, 40.0)] == [tests[:6], tests[6:]]
    assert [*make_batches(tests, recorded, 8.0)] == [tests[n : n + 3] for n in range(0, 10, 3)]
