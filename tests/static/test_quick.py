"""`make quick`: which tests it chooses for a change, and how a run is recorded for it."""

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from support.folders import ROOT
from support.programs import run_program
from support.quick.record import Record, load_record, plain_id, save_record
from support.quick.selection import Selection, closest_tests, select, select_by_name, word_for

PAGING = "codegen/mcp_protogen/runtime/core/pagination.py"
PEER = "codegen/mcp_protogen/runtime/rpc/peer.py"
ERRORS = "codegen/mcp_protogen/runtime/core/errors.py"
ARCHITECTURE = "tests/unit/test_architecture.py"
OWN = "tests/runtime/test_pagination.py::test_own"
SMALL, LARGE = "tests/http/test_http.py::test_small", "tests/http/test_http.py::test_large"
CASE = "tests/replay/test_replay.py::test_case[new-server]"
PAGE = "tests/docs/test_blocks.py::test_page[command-call.md]"
RECORD = Record(
    {OWN: 1.0, SMALL: 1.0, LARGE: 1.0, CASE: 1.0, PAGE: 1.0},
    {
        OWN: frozenset({PAGING, PEER, "a.py", "b.py"}),
        SMALL: frozenset({PAGING, PEER}),
        LARGE: frozenset({PAGING, PEER, "a.py", "b.py", "c.py"}),
        CASE: frozenset({"tests/replay/replay.py"}),
    },
)


def find_nothing(path: str) -> Iterable[str]:
    del path
    return ()


def chosen(selection: Selection, record: Record = RECORD) -> set[str]:
    tests = {test for test in record.seconds if test.partition("::")[0] in selection.files}
    return tests - selection.left_out


def test_closest_tests_come_first() -> None:
    assert closest_tests(PAGING, RECORD, find_nothing) == [OWN, SMALL, LARGE]


def test_module_that_is_only_imported_has_the_tests_of_its_importers() -> None:
    assert closest_tests(ERRORS, RECORD, find_nothing) == []
    assert closest_tests(ERRORS, RECORD, {ERRORS: [PEER]}.__getitem__) == [SMALL, OWN, LARGE]


@pytest.mark.parametrize(
    ("path", "test"),
    [("docs/command-call.md", PAGE), ("tests/replay/cases/new-server/stdout", CASE)],
)
def test_file_has_the_tests_whose_parameter_it_is(path: str, test: str) -> None:
    assert closest_tests(path, RECORD, find_nothing) == [test]
    # And those of files that name it, which are further away.
    assert closest_tests(path, RECORD, lambda _: [PEER])[0] == test


@pytest.mark.parametrize(
    ("path", "word"),
    [
        (PAGING, "pagination"),
        ("codegen/mcp_protogen/pipeline/emit/__init__.py", "emit"),
        ("templates/package/server.py.jinja", "server.py.jinja"),
        ("tests/replay/cases/new-server/stdout", "new-server"),
        ("Makefile", "Makefile"),
    ],
)
def test_word_for_a_file_is_the_one_that_others_use(path: str, word: str) -> None:
    assert word_for(path) == word


def test_tests_beyond_the_budget_are_left_out_and_counted() -> None:
    selection = select([PAGING], RECORD, find_nothing, 3.0)
    assert chosen(selection) == {OWN, SMALL}
    assert (selection.chosen, selection.found, selection.left_out) == (2, 3, frozenset({LARGE}))


def test_slow_test_does_not_use_up_the_budget_of_others() -> None:
    slow = replace(RECORD, seconds={**RECORD.seconds, OWN: 100.0})
    assert chosen(select([PAGING], slow, find_nothing, 6.0), slow) == {SMALL, LARGE}


def test_each_changed_file_has_its_turn() -> None:
    selection = select(
        [PAGING, "docs/command-call.md", "tests/replay/replay.py"], RECORD, find_nothing, 4.0
    )
    assert chosen(selection) == {OWN, PAGE, CASE}


def test_changed_test_file_runs_although_the_record_lacks_it() -> None:
    new = "tests/unit/test_new.py"
    assert select([new], RECORD, find_nothing, 60.0) == Selection((new,), frozenset(), 0, 0)


def test_changed_code_runs_tests_that_read_all_code() -> None:
    reading = f"{ARCHITECTURE}::test_functions_are_short"
    record = Record({reading: 1.0}, {})
    assert chosen(select([PAGING], record, find_nothing, 60.0), record) == {reading}
    assert chosen(select(["docs/command-call.md"], record, find_nothing, 60.0), record) == set()


def test_changed_page_runs_tests_that_read_all_pages() -> None:
    reading = "tests/docs/test_blocks.py::test_commands_of_pages"
    record = Record({reading: 1.0}, {})
    assert chosen(select(["docs/http.md"], record, find_nothing, 60.0), record) == {reading}
    by_name = select_by_name(["docs/http.md"], [], find_nothing)
    assert by_name.files == ("tests/docs/test_blocks.py",)


def test_without_a_record_tests_are_chosen_by_name() -> None:
    files = [
        "tests/call/test_forms.py",
        "tests/call/test_terminal.py",
        "tests/runtime/test_pagination.py",
        "tests/docs/test_blocks.py",
    ]

    def by_name(path: str, *naming: str) -> tuple[str, ...]:
        return select_by_name([path], files, lambda _: naming).files

    assert by_name(PAGING) == ("tests/runtime/test_pagination.py", ARCHITECTURE)
    assert by_name("codegen/mcp_protogen/servers/call/asking.py") == (*files[:2], ARCHITECTURE)
    assert by_name("docs/command-call.md", files[3]) == ("tests/docs/test_blocks.py",)
    assert by_name(files[1]) == ("tests/call/test_terminal.py",)


def test_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    save_record(RECORD, tmp_path / "there" / "record.json")
    found = load_record(tmp_path / "there" / "record.json")
    assert found == Record(RECORD.seconds, {**RECORD.files, PAGE: frozenset()})
    assert load_record(tmp_path / "record.json") is None


@pytest.mark.parametrize("written", ["a.py::t[x@y]@alone (call)", "a.py::t[x@y]", "a.py::t[x@y]@g"])
def test_ids_of_tests_are_without_phase_and_group(written: str) -> None:
    assert plain_id(written) == "a.py::t[x@y]"


OURS = "tests/static/test_skipping.py"
TINY = """
import os, subprocess, sys

def test_within():
    from support.missing import lines
    assert list(lines([])) == []

def test_process():
    code = "import support.missing as m; list(m.lines([]))"
    subprocess.run([sys.executable, "-c", code], check=True)

def test_fork():
    from support.missing import lines
    if (child := os.fork()) == 0:
        list(lines([]))
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

def test_other():
    pass
"""


def run(*arguments: str) -> str:
    outer = ("COVERAGE_PROCESS_START", "PYTEST_CURRENT_TEST")
    environment = {name: value for name, value in os.environ.items() if name not in outer}
    environment["PYTHONPATH"] = str(ROOT / "tests")
    settings = f"--config-file={ROOT / 'pyproject.toml'}"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", settings, *arguments]
    return run_program(*command, cwd=ROOT, env=environment)


def run_tiny(folder: Path, *options: str) -> str:
    (folder / "test_tiny.py").write_text(TINY)
    return run(*options, OURS, str(folder / "test_tiny.py"))


@pytest.mark.parametrize("processes", ["-n0", "-n1"])
def test_run_records_files_of_tests_and_of_their_processes(processes: str, tmp_path: Path) -> None:
    old = Record({"gone": 1.0, "::test_within": 99.0}, {})
    save_record(old, tmp_path / "record.json")
    printed = run_tiny(tmp_path, processes, f"--record={tmp_path / 'record.json'}")
    assert "the 6 tests of this run, others kept" in printed
    record = load_record(tmp_path / "record.json")
    assert record and record.seconds.keys() > {"gone", "::test_process"}
    running = record.tests_of("tests/support/missing.py")
    assert {"::test_within", "::test_process", "::test_fork"} < running
    assert "::test_other" not in running and record.seconds["::test_within"] < 99


def test_record_of_a_full_run_replaces_the_one_before(tmp_path: Path) -> None:
    save_record(Record({"gone": 1.0}, {}), tmp_path / "record.json")
    options = ("-p", "no:xdist", f"--record={tmp_path / 'record.json'}")
    assert "what tests run: all tests, in" in run(*options, "-o", f"testpaths={OURS}")
    record = load_record(tmp_path / "record.json")
    assert record and {test.partition("::")[0] for test in record.seconds} == {OURS}


def test_run_leaves_out_tests_and_ends_in_time(tmp_path: Path) -> None:
    (tmp_path / "left-out").write_text("::test_process\n::test_fork")
    printed = run_tiny(tmp_path, f"--leave-out={tmp_path / 'left-out'}", "--until=0")
    # Only ours: hooks of a folder about single tests are not for tests elsewhere.
    assert "NOT TESTED for want of time, 2 tests" in printed
    assert "2 passed, 2 skipped, 2 deselected" in printed
