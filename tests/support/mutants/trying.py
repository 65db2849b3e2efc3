"""Tries tests with one change of the code, in a copy of the checkout.

This process imports pytest once, and each run of tests is a fork of it.
"""

import fcntl
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain, zip_longest
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

import pytest
from support.mutants.mutations import Mutation
from support.quick.record import plain_id, test_file
from support.quick.selection import matches_name

# Imported before the fork, because no change of our code touches them.
_IMPORTED: Final = ("hypothesis", "pydantic", "jsonschema", "anyio", "jinja2", "typer")
_OURS: Final = ("mcp_protogen", "mcp_revisions", "support", "replay")
# They install programs of others, or the package itself, which takes minutes in a new copy.
_INSTALLING: Final = ("tests/peers/", "tests/conformance/", "tests/packaging/", "tests/scaffold/")
# Bytes of a process, and seconds of a processor that a run may spend when its time is over.
_MEMORY: Final = 4 << 30
_REST: Final = 20
# Tests that come first: by closeness, of the files named like the module, and by their names.
_CLOSEST: Final = 5
_OWN: Final = 50
_NAMED: Final = 10
# Test files of a batch.
_FILES: Final = 6
# Seconds of a slow test.
_SLOW: Final = 1.5
RECORDED: Final = 2
"""How much longer tests take in a recorded run."""


class Run(NamedTuple):
    """The end of a run: the test or test file that failed or hung, if any, else the seconds.

    "" stands for a failure before any test.
    """

    failed: str | None
    passed: int
    seconds: float = 0.0


@dataclass
class Workshop:
    """A copy of a checkout to change at one place at a time, and to run tests in."""

    root: Path
    folder: Path
    patience: float = 20.0
    """Seconds that a test may be silent, beside what was recorded."""
    _clock: int = field(default=1_000_000_000, init=False)

    @property
    def tree(self) -> Path:
        """The copy."""
        return self.folder / "tree"

    def lay_out(self) -> None:
        """Copy the files that git knows or would take, in place of what an earlier run left."""
        for left in ("tree", "tmp"):
            shutil.rmtree(self.folder / left, ignore_errors=True)
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=self.root,
            capture_output=True,
            check=True,
        )
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (self.root / name).is_file():
                (self.tree / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(self.root / name, self.tree / name)
        # Tests find it beside the checkout.
        if not (shared := self.folder / "shared").is_symlink():
            shared.symlink_to(self.root.parent / "shared")
        for name in _IMPORTED:
            with suppress(ImportError):
                import_module(name)

    @contextmanager
    def change(self, path: str, source: str) -> Generator[None, None, None]:
        file = self.tree / path
        before, when = file.read_bytes(), file.stat().st_mtime
        try:
            # Python compiles a file anew if its time differs, in whole seconds.
            self._clock += 1
            _write(file, source.encode(), self._clock)
            yield
        finally:
            _write(file, before, when)

    def run(self, tests: Sequence[str], seconds: float, longest: float = 0.0) -> Run:
        """Run tests in this order until one fails, or until their time is over.

        `seconds` are those of a processor. `longest` is what the longest test has taken before.
        """
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            os.close(reading)
            _run_in_child(self, tests, seconds, writing)
        os.close(writing)
        try:
            return _follow(reading, self.patience + 5 * longest)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)
            shutil.rmtree(self.folder / "tmp", ignore_errors=True)


def _write(file: Path, content: bytes, when: float) -> None:
    file.write_bytes(content)
    os.utime(file, (when, when))


@contextmanager
def lock(folder: Path) -> Generator[None, None, None]:
    """Hold the lock of a folder, or raise `SystemExit`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise SystemExit(f"mutants: another run is at work in {folder}; wait for it") from None
        yield


def _follow(progress: int, patience: float) -> Run:
    """Read what a run tells, until it ends: its words are "begin", "failed" and "end"."""
    begun, running, text = 0, "", b""
    while select.select([progress], [], [], patience)[0] and (piece := os.read(progress, 65536)):
        *lines, text = (text + piece).split(b"\n")
        for line in lines:
            word, _, rest = line.decode().partition(" ")
            if word == "failed":
                return Run(rest, max(0, begun - 1))
            if word == "end":
                return Run(None, begun, float(rest))
            begun, running = begun + 1, rest
    # It hangs, or was killed for its time or memory.
    return Run(running, max(0, begun - 1))


class _Plugin:
    """Runs chosen tests in their order, and tells the process that waits."""

    def __init__(self, tests: Iterable[str], seconds: float, progress: int) -> None:
        self._ranks = {test: rank for rank, test in enumerate(tests)}
        self._seconds = seconds
        self._progress = progress
        self._parent = os.getppid()

    def tell(self, line: str) -> None:
        os.write(self._progress, f"{line}\n".encode())

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        ranked = [(self._ranks.get(plain_id(item.nodeid)), item) for item in items]
        chosen = [(rank, item) for rank, item in ranked if rank is not None]
        items[:] = [item for _, item in sorted(chosen, key=lambda entry: entry[0])]

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self.tell(f"begin {plain_id(nodeid)}")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.tell(f"failed {plain_id(report.nodeid)}")

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.tell(f"failed {report.nodeid}")

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logfinish(self) -> None:
        if os.getppid() != self._parent:
            os._exit(1)
        if _seconds_spent() > self._seconds:
            self.tell(f"end {_seconds_spent()}")
            os._exit(0)


def _seconds_spent() -> float:
    """Return the seconds of a processor of this process since its fork, and of its children."""
    return sum(os.times()[:4])


def _run_in_child(
    workshop: Workshop, tests: Sequence[str], seconds: float, progress: int
) -> NoReturn:
    code = 1
    try:
        os.setsid()
        limit = int(seconds) + _REST
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
        resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))
        _move_into(workshop)
        plugin = _Plugin(tests, seconds, progress)
        files = dict.fromkeys(map(test_file, tests))
        options = ["-p", "no:xdist", "-p", "no:cacheprovider", "-m", "not long", "--maxfail=1"]
        options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        exit_code = pytest.main([*options, *files], plugins=[plugin])
        plugin.tell("failed " if exit_code in (2, 3, 4) else f"end {_seconds_spent()}")
        code = 0
    finally:
        os._exit(code)


def _move_into(workshop: Workshop) -> None:
    """Make this process, and those that it starts, one of the copy."""
    tree = workshop.tree
    with (workshop.folder / "output.txt").open("w") as output:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output.fileno(), 1)
        os.dup2(output.fileno(), 2)
    os.chdir(tree)
    paths = [str(tree / name) for name in ("codegen", "generated", "tests")]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
    os.environ["TMPDIR"] = str(workshop.folder / "tmp")
    checkout = {str(workshop.root / name) for name in ("codegen", "generated", "tests")}
    sys.path[:] = [*paths, *(entry for entry in sys.path if entry and entry not in checkout)]
    for name in list(sys.modules):
        if name.partition(".")[0] in _OURS:
            del sys.modules[name]


class Verdict(NamedTuple):
    """The test that noticed a change; without one, the change survived. How many tests ran."""

    killer: str | None
    ran: int


@dataclass
class Judge:
    """Decides whether tests notice changes; leaves out tests that only compare texts of files."""

    workshop: Workshop
    seconds: float
    recorded: Mapping[str, float]
    _unfit: set[str] = field(default_factory=set[str], init=False)
    _fit: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]], init=False)

    def judge(self, mutation: Mutation, tests: Sequence[str]) -> Verdict:
        """Run tests, closest first, until one notices the change, or the time is over."""
        source = (self.workshop.tree / mutation.path).read_text("utf-8")
        changed = mutation.apply(source)
        short = [
            test
            for test in tests
            if self.recorded.get(test, 0.0) < self.seconds and not test.startswith(_INSTALLING)
        ]
        ran, left = 0, self.seconds
        ordered = order_tests(mutation, short, self.recorded)
        for batch in make_batches(ordered, self.recorded, self.seconds):
            while left > 0 and (fit := [test for test in batch if not self._is_unfit(test)]):
                with self.workshop.change(mutation.path, changed):
                    run = self.workshop.run(fit, left, self._longest(fit))
                if run.failed is None:
                    ran, left = ran + run.passed, left - run.seconds
                    break
                killer = next((test for test in fit if run.failed in (test, test_file(test))), "")
                if self._passes_unchanged(killer or fit[0], mutation.path, source):
                    return Verdict(killer or fit[0], ran + run.passed)
                self._unfit.add(run.failed or fit[0])
        return Verdict(None, ran)

    def _is_unfit(self, test: str) -> bool:
        return test in self._unfit or test_file(test) in self._unfit

    def _longest(self, tests: Iterable[str]) -> float:
        return max(self.recorded.get(test, 0.0) for test in tests)

    def _passes_unchanged(self, test: str, path: str, source: str) -> bool:
        """Return true if a test passes with another text of the same meaning."""
        if (test, path) not in self._fit:
            with self.workshop.change(path, f"{source}#\n"):
                run = self.workshop.run([test], self.seconds, self._longest([test]))
            if run.failed is not None or not run.passed:
                return False
            self._fit.add((test, path))
        return True


def order_tests(
    mutation: Mutation, tests: Sequence[str], recorded: Mapping[str, float]
) -> list[str]:
    """Return the closest tests, those named like the changed code, then of each file in turn.

    Slow tests are the last ones.
    """
    quick = [test for test in tests if recorded.get(test, 0.0) < _SLOW]
    closest = [*tests[:_CLOSEST], *filter(partial(matches_name, mutation.path), quick)][:_OWN]
    words = _words(f"{mutation.function} {mutation.before}")
    named = sorted(tests, key=lambda test: -len(words & _words(test)))[:_NAMED]
    by_file = defaultdict[str, list[str]](list)
    for test in quick:
        by_file[test_file(test)].append(test)
    rounds = filter(None, chain.from_iterable(zip_longest(*by_file.values())))
    return [*dict.fromkeys((*closest, *named, *rounds, *tests))]


def _words(text: str) -> set[str]:
    return set(re.findall("[a-z]{3,}", text.lower()))


def make_batches(
    tests: Iterable[str], recorded: Mapping[str, float], seconds: float
) -> Iterator[list[str]]:
    """Yield tests of a few files each: a run begins when all its test files are imported."""
    spent, batch, files = 0.0, list[str](), set[str]()
    for test in tests:
        batch.append(test)
        files.add(test_file(test))
        spent += recorded.get(test, 0.0) / RECORDED
        if spent > seconds / 8 or len(files) >= _FILES:
            yield batch
            spent, batch, files = 0.0, list[str](), set[str]()
    if batch:
        yield batch
