"""The list of requirements says what the tests say, and leaves out none."""

import ast
import json
import re
from collections import Counter
from collections.abc import Iterator

from support import missing
from support.folders import ROOT

TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "requirements.md"
ROW = re.compile(r"\| (S\d-\d\d) \| ([A-Za-z ]+) \| ([^|]+) \| ([^|]+) \|")
DUTY = "the application's duty"


def rows() -> dict[str, tuple[str, str]]:
    """By row: its level, and what the last column says."""
    found = ROW.findall(PAGE.read_text(encoding="utf-8"))
    listed = {id: (level, where) for id, level, _, where in found}
    assert len(listed) == len(found)
    return listed


def marked() -> Iterator[tuple[str, str]]:
    """Rows, each with a test that is marked to show it."""
    for path in sorted(TESTS.rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in map(ast.unparse, node.decorator_list):
                    if mark.startswith("pytest.mark.shows("):
                        for row in re.findall(r"S\d-\d\d", mark):
                            yield row, f"`{path.relative_to(TESTS).as_posix()}::{node.name}`"


def test_each_row_is_shown_by_the_test_that_says_so_or_is_a_duty() -> None:
    shown = {row: where for row, (_, where) in rows().items() if where.startswith("`")}
    assert shown == dict(marked())
    others = {where for _, where in rows().values() if not where.startswith("`")}
    assert others == {DUTY}


def test_the_sums_are_right() -> None:
    kinds = Counter(
        "shown" if where.startswith("`") else where.split(":")[0] for _, where in rows().values()
    )
    sums = f"Shown by a test: {kinds['shown']}. The application's duty: {kinds[DUTY]}."
    assert sums in PAGE.read_text(encoding="utf-8")


def test_every_requirement_is_listed_with_its_level() -> None:
    file = missing.reference("spec/seed-requirements.json", "that no requirement is forgotten")
    reference = json.loads(file.read_bytes())
    wanted = {row["id"]: row["level"] for row in reference["requirements"]}
    assert {row: level for row, (level, _) in rows().items()} == wanted
