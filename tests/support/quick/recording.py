"""`pytest --record=FILE`: write which files each test runs, with the contexts of coverage.

Every process of a run has its own data file: the workers of xdist, and the Python processes that
tests start, whose context is the test that pytest names in their environment. Modules that a test
finds imported count only if it runs one of their functions.
"""

import os
import shutil
import sqlite3
from collections import defaultdict
from collections.abc import Generator
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from coverage import Coverage, process_startup
from support.folders import ROOT
from support.quick.record import Record, load_record, plain_id, save_record, test_file

# Warnings would mix with the output of programs that tests start. The core for Python 3.14 does not
# support contexts. Children of a fork end with `os._exit`.
_SETTINGS: Final = """[run]
core = ctrace
patch = _exit
parallel = true
data_file = {folder}/data
context = ${{PYTEST_CURRENT_TEST-}}
include = {root}/*
omit =
    {root}/.venv/*
    {root}/build/*
disable_warnings = {warnings}
"""
_WARNINGS: Final = "couldnt-parse,no-ctracer,no-data-collected,module-not-measured,trace-changed"
_READ: Final = """
select distinct context.context, file.path from line_bits
join context on context.id = line_bits.context_id join file on file.id = line_bits.file_id
"""
_BEGIN: Final = "COVERAGE_PROCESS_START"
# Options that make a run of all folders a run of some tests.
_LIMITING: Final = (
    *("collectonly", "deselect", "keyword", "leave_out"),
    *("lf", "markexpr", "maxfail", "of"),
)


def configure(config: pytest.Config, file: str) -> None:
    """Record a run, in all its processes; the first one writes `file`."""
    if not hasattr(config, "workerinput"):
        into = config.rootpath / file
        # It stays when the run is over: processes that end later than the run write into it.
        folder = into.with_suffix(".parts")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        settings = folder / "settings.ini"
        text = _SETTINGS.format(folder=folder, root=ROOT, warnings=_WARNINGS)
        settings.write_text(text, "utf-8")
        # Workers and other processes inherit it, and coverage begins with them.
        os.environ[_BEGIN] = str(settings)
        config.pluginmanager.register(_Joiner(into, folder))
    if hasattr(config, "workerinput") or getattr(config.option, "dist", "no") == "no":
        process_startup()
        config.pluginmanager.register(_Switcher())


class _Switcher:
    """Makes each test that a process runs a context of its coverage."""

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        with pytest.MonkeyPatch.context() as patched:
            if lists_modules(item.path):
                patched.delenv(_BEGIN, raising=False)
            self._switch(item.nodeid)
            result = yield
            self._switch("")
        return result

    def _switch(self, context: str) -> None:
        # A test may have ended it.
        if (coverage := Coverage.current()) is not None:
            coverage.switch_context(context)

    def pytest_sessionfinish(self) -> None:
        if (coverage := Coverage.current()) is not None:
            coverage.stop()
            coverage.save()


class _Joiner:
    """Adds up seconds of tests, and joins what all processes have written."""

    def __init__(self, file: Path, folder: Path) -> None:
        self._file = file
        self._folder = folder
        self._seconds = defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[plain_id(report.nodeid)] += report.duration

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
    ) -> None:
        files, unreadable = read_contexts(self._folder)
        record = Record(self._seconds, {test: frozenset(files[test]) for test in self._seconds})
        full = is_full(config) and exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED)
        if not full:
            record = (load_record(self._file) or Record()).merge(record)
        save_record(record, self._file)
        run = "all tests" if full else f"the {len(self._seconds)} tests of this run, others kept"
        left = f"; {unreadable} processes were killed before theirs was written" * bool(unreadable)
        terminalreporter.write_line(f"recorded what tests run: {run}, in {self._file}{left}")


@cache
def lists_modules(file: Path) -> bool:
    """Return true if tests of a file list imported modules: coverage would be among them."""
    return "sys.modules" in file.read_text("utf-8")


def is_full(config: pytest.Config) -> bool:
    """Return true if a run has all tests, so that its record replaces the one before."""
    limits = (getattr(config.option, name, None) for name in _LIMITING)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not any(limits)


def read_contexts(folder: Path) -> tuple[dict[str, set[str]], int]:
    """Return the files that each test ran, and how many data files could not be read."""
    files = defaultdict[str, set[str]](set)
    unreadable = 0
    for data in folder.glob("data.*"):
        try:
            with closing(sqlite3.connect(data)) as connection:
                rows = connection.execute(_READ).fetchall()
            data.unlink()
        except sqlite3.DatabaseError:
            unreadable += 1
            continue
        for context, path in rows:
            test = plain_id(context)
            if test and Path(path).is_relative_to(ROOT):
                files[test].add(Path(path).relative_to(ROOT).as_posix())
    for test in files:
        files[test].discard(test_file(test))
    return files, unreadable
