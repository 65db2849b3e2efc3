"""A new project from an empty folder to a wheel, as its README and its workflow say.

Nothing is prepared: it makes its own environment, in which it has mcp-gen from a local wheel.
"""

import json
import os
import shlex
import sys
import tomllib
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from projects import ROOT, logged_url, run, workflow_steps

pytestmark = pytest.mark.xdist_group("workflow")


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheels")
    run(sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT, cwd=folder)
    return folder


@pytest.fixture(scope="module")
def project(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a project that was started by the command."""
    place = tmp_path_factory.mktemp("workflow")
    command = ("mcp_protogen", "new", "word-clock", "--transport", "both")
    run(sys.executable, "-m", *command, cwd=place)
    return place / "word-clock"


@pytest.fixture(scope="module")
def environment(wheels: Path) -> dict[str, str]:
    """Where pip finds our wheel; a virtual environment of ours is none of the project's."""
    found = os.environ.get("PIP_FIND_LINKS", "")
    return {"PIP_FIND_LINKS": f"{wheels} {found}".strip(), "VIRTUAL_ENV": ""}


@pytest.fixture(scope="module")
def steps(project: Path, environment: dict[str, str]) -> list[str]:
    """The commands of the workflow, which have been run one after another."""
    commands = workflow_steps((project / ".github" / "workflows" / "ci.yml").read_text())
    python = f"PYTHON={sys.executable}"
    for command in commands:
        words = shlex.split(command)
        made = [*words, python] if words[0] == "make" else words
        run(*made, cwd=project, env=environment, timeout=500)
    return commands


def test_every_step_of_the_workflow_succeeds(steps: list[str]) -> None:
    assert len(steps) >= 4


@pytest.mark.usefixtures("steps")
def test_the_program_is_installed_under_the_name_of_the_project(project: Path) -> None:
    program = project / ".venv" / "bin" / "word-clock"
    assert run(program, "--version", cwd=project) == "word-clock 0.1.0\n"
    assert run("make", "run", "ARGS=--version", cwd=project).endswith("word-clock 0.1.0\n")


@pytest.mark.usefixtures("steps")
def test_make_alone_shows_what_there_is(project: Path) -> None:
    shown = [line.split()[0] for line in run("make", cwd=project).splitlines()]
    assert shown == ["help", "setup", "test", "check", "run", "sync"]


@pytest.mark.usefixtures("steps")
def test_make_sync_brings_the_package_in_step(project: Path) -> None:
    marker = project / "src" / "word_clock" / "protocol" / "py.typed"
    marker.unlink()
    assert "create: py.typed" in run("make", "sync", cwd=project)
    assert marker.is_file()


@pytest.mark.usefixtures("steps")
def test_make_check_finds_what_is_wrong(project: Path) -> None:
    server = project / "src" / "word_clock" / "server.py"
    usual = server.read_text()
    try:
        server.write_text(usual + '\n\nx: int = "text"\n')
        assert "reportAssignmentType" in run("make", "check", cwd=project, wanted=2)
    finally:
        server.write_text(usual)


@pytest.mark.usefixtures("steps")
def test_the_wheel_has_the_whole_package_and_nothing_else(
    project: Path, environment: dict[str, str]
) -> None:
    readme = (project / "README.md").read_text()
    (shipping,) = (line.strip() for line in readme.splitlines() if "pip wheel" in line)
    run(*shlex.split(shipping), cwd=project, env=environment)
    (wheel,) = (project / "dist").glob("*.whl")
    names = run(sys.executable, "-m", "zipfile", "--list", wheel, cwd=project)
    listed = {line.split()[0] for line in names.splitlines()[1:]}
    package = project / "src" / "word_clock"
    files = {
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in listed if ".dist-info/" not in name} == files
    assert "word_clock/protocol/mcp-gen.lock" in files


@pytest.mark.usefixtures("steps")
def test_git_would_keep_what_is_written_and_nothing_that_is_made(project: Path) -> None:
    run("git", "init", "--quiet", cwd=project)
    listed = run("git", "ls-files", "--others", "--exclude-standard", cwd=project).splitlines()
    assert "src/word_clock/protocol/mcp-gen.lock" in listed
    strange = [p for p in listed if p.split("/")[0] not in ("src", "tests", ".github") and "/" in p]
    assert strange == []
    assert not [path for path in listed if path.endswith(".pyc")]


@pytest.mark.usefixtures("steps")
def test_what_is_installed_is_what_the_project_asks_for(project: Path) -> None:
    asked = tomllib.loads((project / "pyproject.toml").read_text())["dependency-groups"]["dev"]
    (tool,) = (each for each in asked if each.startswith("mcp-protogen"))
    shown = run(project / ".venv" / "bin" / "mcp-gen", "--version", cwd=project)
    assert tool == f"mcp-protogen=={shown.split()[-1]}"


@pytest.mark.usefixtures("steps")
def test_the_installed_command_starts_projects_itself(project: Path, tmp_path: Path) -> None:
    mcp_gen = project / ".venv" / "bin" / "mcp-gen"
    run(mcp_gen, "new", "another", "--kind", "gateway", cwd=tmp_path)
    run(mcp_gen, "sync", "another", "--check", cwd=tmp_path)
    assert (tmp_path / "another" / "src" / "another" / "gateway.py").is_file()


@pytest.mark.usefixtures("steps")
def test_what_the_image_starts_answers_by_the_names_it_is_published_under(project: Path) -> None:
    lines = (project / "Dockerfile").read_text().splitlines()
    entry, usual = (
        json.loads(line.removeprefix(f"{word} "))
        for word in ("ENTRYPOINT", "CMD")
        for line in lines
        if line.startswith(f"{word} ")
    )
    program = [project / ".venv" / "bin" / entry[0], *entry[1:], *usual, "--port", "0"]
    hello: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    fields = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    with logged_url(program) as (_, url):
        port = urlsplit(url).port
        assert urlsplit(url).hostname == "0.0.0.0"
        for host, status in (("localhost", 200), ("127.0.0.1", 200), ("elsewhere", 421)):
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            named = {**fields, "Host": f"{host}:{port}"}
            connection.request("POST", "/mcp", json.dumps(message), named)
            assert connection.getresponse().status == status, host
            connection.close()
