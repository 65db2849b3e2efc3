"""The tests of `tests/http` for one application also pass for several on one engine."""

import re
from collections.abc import Iterable
from typing import Final

import pytest
from support import folders
from support.http.behind import ALONE, DIRECT, ENGINES, run_tests
from support.tables import case

FOLDER: Final = folders.TESTS / "http"
SAMPLE: Final = ("test_http_resuming.py", "test_http_streams.py")


def check(files: Iterable[str], engine: str) -> None:
    """Run the tests of some files with workers."""
    paths = (FOLDER / file for file in files)
    run_tests(paths, f"--workers-sharing={engine}", f"workers: sharing {engine}")


@pytest.mark.long
def test_sessions_are_served_by_whichever_worker_is_asked() -> None:
    check(SAMPLE, "memory")


def is_served(text: str) -> bool:
    """Return whether tests get a server by the functions that can give them workers."""
    return re.search(r"\b(serving|serve_under_attack)\(", text) is not None


@pytest.mark.long
@pytest.mark.sampled(0)
@pytest.mark.parametrize("engine", ENGINES)
def test_suite_of_application_passes_behind_workers(engine: str) -> None:
    files = {path.name for path in FOLDER.glob("test_*.py") if is_served(path.read_text())}
    assert files.issuperset(SAMPLE)
    check(files, engine)


def test_each_omitted_test_is_there() -> None:
    alone = [f"http/{name}" for names in ALONE.values() for name in names]
    for name in (*alone, *(name for names in DIRECT.values() for name in names)):
        with case(name):
            file, *steps = name.partition("[")[0].split("::")
            text = (folders.TESTS / file).read_text()
            assert all(re.search(rf"(class|def) {step}", text) for step in steps)
