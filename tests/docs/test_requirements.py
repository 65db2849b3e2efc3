"""The lists of requirements agree with the marks of tests, and are complete."""

import ast
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

import pytest
from support import missing
from support.folders import ROOT
from support.tables import case

TESTS: Final = ROOT / "tests"

APPLICATION: Final = "the application's duty"
DUTIES: Final = (
    APPLICATION,
    "the authorization server's duty",
    "the identity provider's duty",
)
"""Who has to see to a row that no test shows."""


class Page(NamedTuple):
    """A page with a list: its file, how the ids of its rows look, and whose duties it has."""

    file: str
    ids: str
    duties: tuple[str, ...]


class Row(NamedTuple):
    """A row of a list; `where` has tests in code quotes, or a duty."""

    level: str
    cells: tuple[str, ...]
    where: str


PROTOCOL: Final = Page("requirements.md", r"S\d-\d\d", (APPLICATION,))
AUTHORIZATION: Final = Page("requirements-authorization.md", r"(?!T[CX])[A-Z]{2}-\d\d", DUTIES)
TASKS: Final = Page("requirements-tasks.md", r"T[CX]-\d\d", ())
PAGES: Final = (PROTOCOL, AUTHORIZATION, TASKS)

LEVEL: Final = re.compile(r"(MUST|SHOULD)( NOT)?|\w+")


def text_of(page: Page) -> str:
    return (ROOT / "docs" / page.file).read_text(encoding="utf-8")


def rows(page: Page) -> Mapping[str, Row]:
    """Return the rows of a page by id."""
    found: dict[str, Row] = {}
    for line in re.findall(rf"^\| ({page.ids} \| .+) \|$", text_of(page), re.MULTILINE):
        id, level, *cells, where = line.split(" | ")
        assert id not in found
        found[id] = Row(level, tuple(cells), where)
    return found


def find_marked_tests(page: Page) -> Mapping[str, set[str]]:
    """Return the tests marked for each row, by its id."""
    found: dict[str, set[str]] = defaultdict(set)
    for ids, test in all_marks():
        for id in re.findall(page.ids, ids):
            found[id].add(test)
    return found


@cache
def all_marks() -> tuple[tuple[str, str], ...]:
    """Return all marks; reading them is slow."""
    return tuple(marks())


def marks() -> Iterator[tuple[str, str]]:
    """Yield each mark `shows` as written, and its test."""
    for path in sorted(TESTS.rglob("test_*.py")):
        text = path.read_bytes()
        for node in ast.walk(ast.parse(text)) if b"pytest.mark.shows(" in text else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                for mark in map(ast.unparse, node.decorator_list):
                    if mark.startswith("pytest.mark.shows("):
                        yield mark, f"`{path.relative_to(TESTS).as_posix()}::{node.name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_each_row_is_shown_by_a_test_that_says_so_or_is_a_duty(page: Page) -> None:
    showing = find_marked_tests(page)
    shown = {id: row.where for id, row in rows(page).items() if row.where.startswith("`")}
    assert set(shown) == set(showing)
    for id, tests in shown.items():
        with case(id):
            assert set(tests.split(", ")) <= showing[id]
    others = {row.where for row in rows(page).values() if not row.where.startswith("`")}
    assert others == set(page.duties)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.file)
def test_the_sums_are_right(page: Page) -> None:
    places = Counter(row.where for row in rows(page).values())
    tests = sum(number for where, number in places.items() if where.startswith("`"))
    duties = [f"{duty[0].upper()}{duty[1:]}: {places[duty]}." for duty in page.duties]
    assert " ".join([f"Shown by a test: {tests}.", *duties]) in text_of(page)


def test_every_requirement_is_listed_with_its_level() -> None:
    file = missing.reference("spec/seed-requirements.json", "that no requirement is forgotten")
    reference = json.loads(file.read_bytes())
    wanted = {row["id"]: row["level"] for row in reference["requirements"]}
    assert {id: row.level for id, row in rows(PROTOCOL).items()} == wanted


def test_every_row_of_authorization_is_listed_with_level_and_revisions() -> None:
    file = missing.reference("spec/authorization.json", "that no row is forgotten")
    reference = json.loads(file.read_bytes())
    wanted = {row["id"]: (level_of(row), revisions_of(row)) for row in reference["rows"]}
    listed = {id: (row.level, row.cells[0]) for id, row in rows(AUTHORIZATION).items()}
    assert listed == wanted


def test_every_row_of_tasks_is_listed_with_its_level_and_whom_it_holds() -> None:
    file = missing.reference("spec/tasks.json", "that no row is forgotten")
    reference = json.loads(file.read_bytes())
    wanted = {row["id"]: (row["level"], row["role"]) for row in reference["rows"]}
    assert {id: (row.level, row.cells[0]) for id, row in rows(TASKS).items()} == wanted


def level_of(row: Mapping[str, Any]) -> str:
    """Return the level of a row without the remarks on it."""
    found = LEVEL.match(row["level"])
    assert found is not None
    return found[0]


def revisions_of(row: Mapping[str, Any]) -> str:
    """Return the revisions of a row in the words of the page."""
    first, *later = row["revisions"]
    alone = {"extension": "–", "2026-07-28": "2026-07-28"}
    return f"{first} on" if later else alone.get(first, f"{first} only")
