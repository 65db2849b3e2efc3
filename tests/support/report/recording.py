"""Run the tests behind the report, all of every table, and record their outcomes.

PYTHONPATH=tests python -m support.report.recording [differential] [peers] [targets]
"""

import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Final, cast

import pytest
from support.folders import TESTS
from support.report import records
from support.report.peers import by_peer
from support.report.records import Json


class Recorder:
    """A recorder of the outcome and the counts of each test."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.counted: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Record the outcome of a test; a failure in setup or teardown counts."""
        if report.when == "call" or report.outcome != "passed":
            file, _, test = report.nodeid.partition("::")
            self.outcomes[f"{Path(file).stem}::{test}"] = report.outcome
        if report.when == "teardown":
            for name, value in report.user_properties:
                if name == "counted" and isinstance(value, dict):
                    self.counted.update(cast(dict[str, int], value))


def record_tests(tests: Iterable[str]) -> Recorder:
    """Run tests, all of every table; raise `SystemExit` if none has run."""
    recorder = Recorder()
    pytest.main([*tests, "--all", "-q", "-n", "2"], plugins=[recorder])
    if not recorder.outcomes:
        raise SystemExit("no test has run")
    return recorder


def differential() -> Json:
    """Compare all types with the schema; verdicts by revision or extension."""
    done = record_tests([str(TESTS / "generated" / "test_differential.py")])
    verdicts: dict[str, Counter[str]] = {}
    for key, number in sorted(done.counted.items()):
        revision, _, what = key.partition(" ")
        verdicts.setdefault(revision, Counter())[what] += number
    return {"tests": dict(Counter(done.outcomes.values())), "verdicts": verdicts}


def peers() -> Json:
    """Run the tests of all peers; return the outcomes by peer and side."""
    done = record_tests([str(TESTS / "peers")])
    return {"tests": dict(Counter(done.outcomes.values())), "peers": [*by_peer(done.outcomes)]}


def targets() -> Json:
    """Compare each target with the schema; return the outcomes."""
    done = record_tests(map(str, sorted((TESTS / "targets").glob("test_*_target.py"))))
    found: dict[str, Counter[str]] = {}
    for test, outcome in sorted(done.outcomes.items()):
        name = test.partition("::")[0].removeprefix("test_").removesuffix("_target")
        found.setdefault(name, Counter())[outcome] += 1
    return {"targets": found}


RUNS: Final = {"differential": differential, "peers": peers, "targets": targets}


def main(names: Iterable[str]) -> None:
    """Run and record the named parts, or all."""
    for name in tuple(names) or RUNS:
        records.write(name, RUNS[name]())


if __name__ == "__main__":
    main(sys.argv[1:])
