"""The record of a full run: which files each test ran, and how long it took."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from support.folders import ROOT

DEFAULT: Final = ROOT / "build" / "quick.json"


def plain_id(test: str) -> str:
    """Return the id of a test without the phase that pytest and the group that xdist append."""
    return re.sub(r"@[^\]@]*$", "", re.sub(r" \((setup|call|teardown)\)$", "", test))


def test_file(test: str) -> str:
    return test.partition("::")[0]


@dataclass(frozen=True, slots=True)
class Record:
    """Seconds and files of tests, by their ids; paths are relative to the checkout."""

    seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    files: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    def merge(self, newer: "Record") -> "Record":
        """Return a record of the tests of both; `newer` wins."""
        return Record({**self.seconds, **newer.seconds}, {**self.files, **newer.files})

    def tests_of(self, path: str) -> set[str]:
        """Return the tests that run a file, or that a test file contains."""
        return {
            test
            for test in self.seconds
            if path == test_file(test) or path in self.files.get(test, ())
        }


def load_record(file: Path) -> Record | None:
    """Read a record; return None before the first one."""
    if not file.exists():
        return None
    content: dict[str, Any] = json.loads(file.read_text("utf-8"))
    paths: list[str] = content["files"]
    tests: dict[str, tuple[float, list[int]]] = content["tests"]
    return Record(
        {test: seconds for test, (seconds, _) in tests.items()},
        {test: frozenset(paths[n] for n in numbers) for test, (_, numbers) in tests.items()},
    )


def save_record(record: Record, file: Path) -> None:
    paths = sorted({path for files in record.files.values() for path in files})
    numbers = {path: number for number, path in enumerate(paths)}
    tests = {
        test: [round(seconds, 3), sorted(numbers[path] for path in record.files.get(test, ()))]
        for test, seconds in sorted(record.seconds.items())
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    written = file.with_suffix(".new")
    written.write_text(json.dumps({"files": paths, "tests": tests}, separators=(",", ":")), "utf-8")
    written.replace(file)
