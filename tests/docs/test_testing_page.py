"""The tests that the page about testing shows run, under each plug-in that runs coroutines."""

import re
import subprocess
from pathlib import Path

import pytest
from support.docs.pages import beside_package, block_texts
from support.peers.places import python_with
from support.tables import case, some

SERVER, TESTS, FIXTURES, SNAPSHOT = block_texts("testing.md")
BACKEND = """
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""
FOR_ANYIO = re.sub(r"fixture\(app(.*)\)", r"fixture(app\1, decorator=pytest.fixture)", FIXTURES)
# The plug-ins that are there, those of the fixtures, and the arguments of pytest.
PLUGINS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "anyio": ("pytest.mark.anyio", FIXTURES, ("-p", "no:asyncio")),
    "pytest-asyncio": ("pytest.mark.asyncio", FIXTURES, ("-p", "no:anyio")),
    "pytest-asyncio, by itself": ("[]", FIXTURES, ("-o", "asyncio_mode=auto")),
    "both, and marks of pytest-asyncio": ("pytest.mark.asyncio", FIXTURES, ()),
    "both, and marks of anyio": ("pytest.mark.anyio", FOR_ANYIO, ()),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with the server and the tests of the page, and the package."""
    files = {"welcome.py": SERVER, "conftest.py": BACKEND, "test_snapshot.py": SNAPSHOT}
    return beside_package(tmp_path, files)


@pytest.mark.long
def test_the_tests_of_the_page_pass_under_each_plugin_and_see_what_changes(folder: Path) -> None:
    python = python_with("pytest")
    for name, (mark, fixtures, arguments) in some([*PLUGINS.items()], 2, "plug-ins"):
        with case(name):
            for file, text in (("test_welcome.py", TESTS), ("test_fixtures.py", fixtures)):
                (folder / file).write_text(text.replace("pytest.mark.anyio", mark))
            said = outcome(folder, python, *arguments)
            assert re.search(r"\b7 passed\b", said), said
    (folder / "welcome.py").write_text(SERVER.replace("Say hello.", "Say hi."))
    assert "Say hi." in outcome(folder, python, "test_snapshot.py")


def outcome(folder: Path, python: Path, *arguments: str) -> str:
    command = [
        str(python),
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *arguments,
        "--tb=short",
        "-vv",
    ]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr
