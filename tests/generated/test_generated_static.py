"""The generated package under the strictest checks, alone in an empty folder.

Without this checkout's configuration, as for users.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.pipeline.emit.formatting import HEAD
from support import tables
from support.docs.pages import programs
from support.examples import ported
from support.generated import user_programs
from support.generated.golden_package import PACKAGE
from support.generated.package_copy import copied_package
from support.typed_clients import contracts

pytestmark = pytest.mark.long

PROGRAMS = {
    "handshake.py": user_programs.HANDSHAKE,
    "stateless.py": user_programs.STATELESS,
    "between.py": user_programs.BETWEEN,
    "over_http.py": user_programs.HTTP,
    "calls.py": user_programs.CALLS,
    "connecting.py": user_programs.CONNECTING,
    "wrong.py": user_programs.WRONG,
    "toolkit.py": user_programs.TOOLKIT,
    "tables.py": user_programs.page_program("asking.md"),
    "asking.py": user_programs.ASKING,
    "middleware.py": user_programs.MIDDLEWARE,
    "middleware_page.py": user_programs.page_program("middleware.md"),
    "greeter.py": user_programs.page_program("app.md"),
    "app.py": user_programs.APP,
    **{
        name: user_programs.page_program("testing.md", place)
        for place, name in enumerate(("welcome.py", "calls_tests.py", "fixtures.py", "snapshot.py"))
    },
    "request_page.py": user_programs.page_program("http.md", 2),
    "routes_page.py": user_programs.page_program("http.md", 3),
    "workers_page.py": user_programs.page_program("http.md", 5),
    "mounting.py": user_programs.MOUNTING,
    "extended.py": user_programs.EXTENSIONS,
    "metadata_page.py": user_programs.page_program("authorization-servers.md", 1),
    "weather_client.py": contracts.text_of(
        *contracts.USUAL, prompts=[contracts.ASK], templates=[contracts.PLACE]
    ),
    "weather.py": contracts.USED,
    "weather_page.py": programs("typed-clients.md")[0],
    "travel.py": user_programs.page_program("mounting.md"),
    **{f"{name}.py": ported.source(name) for name in ported.SERVERS},
} | user_programs.of_pages(
    *(
        "client-calls.md",
        "extensions.md",
        "tasks.md",
        "from-fastmcp.md",
        "from-mcp-sdk.md",
        "models.md",
        "negotiation.md",
    ),
    *("sessions.md", "state.md", "toolkit.md", "translation.md"),
    *("deployment.md", "first-client.md", "first-server.md", "README.md", "security.md"),
)
EXPECTED = {
    (name, line)
    for name, program in PROGRAMS.items()
    for line in user_programs.wrong_lines(program)
}
# Its original is checked with our own code.
RUNTIME = f"{PACKAGE.name}/_runtime"

Finding = tuple[str, int]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package and the user programs, and nothing else."""
    place = tmp_path_factory.mktemp("static")
    hidden = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(copied_package(), place / PACKAGE.name, ignore=hidden)
    for name, program in PROGRAMS.items():
        (place / name).write_text(program)
    return place


def _run(folder: Path, *command: str, expected: tuple[int, ...] = (0, 1)) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in expected, done.stdout + done.stderr
    return done.stdout


def _explain(findings: dict[Finding, list[str]]) -> str:
    unexpected = [f"{at}: {findings[at]}" for at in sorted(findings.keys() - EXPECTED)][:20]
    overlooked = [str(at) for at in sorted(EXPECTED - findings.keys())]
    return "\n".join(["unexpected:", *unexpected, "overlooked:", *overlooked])


def test_pyright_strict_objects_to_wrong_programs_only(folder: Path) -> None:
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": ["."]}
    settings["exclude"] = [RUNTIME]
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    report = json.loads(_run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable))
    assert report["summary"]["filesAnalyzed"] == len(PROGRAMS) + len([*PACKAGE.rglob("*.py")])
    findings: dict[Finding, list[str]] = {}
    for found in report["generalDiagnostics"]:
        place = Path(found["file"]).resolve().relative_to(folder.resolve()).as_posix()
        at = (place, found["range"]["start"]["line"] + 1)
        findings.setdefault(at, []).append(found["message"])
    assert findings.keys() == EXPECTED, _explain(findings)


def test_mypy_strict_objects_to_wrong_programs_only(folder: Path) -> None:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-error-summary")
    cache = f"--cache-dir={folder / '.mypy_cache'}"
    output = _run(folder, "mypy", *options, cache, PACKAGE.name, *PROGRAMS)
    findings: dict[Finding, list[str]] = {}
    for line in output.splitlines():
        found: Any = re.match(r"(?P<file>[^:]+):(?P<line>\d+): error: (?P<text>.*)", line)
        if found:
            at = (found["file"].replace("\\", "/"), int(found["line"]))
            findings.setdefault(at, []).append(found["text"])
    assert findings.keys() == EXPECTED, _explain(findings) + output[-500:] * (not findings)


@pytest.mark.parametrize(
    "command",
    [
        "ruff check --isolated --select=ALL --exclude=_runtime",
        "ruff format --isolated --check --line-length=60 --exclude=_runtime",
        "black --check --quiet --line-length=60 --extend-exclude=/_runtime/",
        "isort --check --line-length=60 --skip=_runtime",
    ],
)
def test_linters_and_formatters_leave_it_alone_whatever_they_are_set_to(
    command: str, folder: Path
) -> None:
    _run(folder, *command.split(), PACKAGE.name, expected=(0,))


def test_imports_are_in_the_order_of_isort(tmp_path: Path) -> None:
    place = tmp_path / PACKAGE.name
    shutil.copytree(PACKAGE, place, ignore=shutil.ignore_patterns("__pycache__"))
    for path in place.rglob("*.py"):
        path.write_text(path.read_text().removeprefix(HEAD))
    for command in (
        ["isort", "--check", "--profile=black", "--line-length=100"],
        ["ruff", "check", "--isolated", "--select=I", "--line-length=100"],
    ):
        with tables.case(command[0]):
            _run(tmp_path, *command, PACKAGE.name, expected=(0,))


def test_every_module_says_what_it_is_for_and_no_line_is_too_long() -> None:
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(f'{HEAD}"""'), path
        assert max(map(len, text.splitlines())) <= 100, path
