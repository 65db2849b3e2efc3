"""A new project from its generation to a wheel, as its README and its workflow say.

It has what `make setup` gives it, and finds mcp-gen on PATH.
"""

import json
import shlex
import shutil
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp_protogen.scaffold.choices import ProjectKind, ProjectTransport
from mcp_protogen.scaffold.create import create
from support.scaffold.projects import (
    Project,
    answers,
    choices,
    logged_url,
    run,
    set_up,
    workflow_steps,
)

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("workflow")]
MCP_GEN = Path(sys.executable).with_name("mcp-gen")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a project with its own generated package."""
    wanted = choices(ProjectKind.SERVER, ProjectTransport.BOTH, ["2024-11-05"], "word-clock")
    folder = tmp_path_factory.mktemp("workflow") / "word-clock"
    create(wanted, folder)
    set_up(Project(folder, wanted))
    return folder


def test_every_step_of_the_workflow_succeeds(project: Path) -> None:
    steps = workflow_steps((project / ".github" / "workflows" / "ci.yml").read_text())
    assert len(steps) == 4
    program = project / ".venv" / "bin" / MCP_GEN.name
    program.symlink_to(MCP_GEN)
    try:
        for step in steps:
            # Any installed package will do for pip to fetch.
            run("sh", "-c", step, cwd=project, env={"MCP_GEN_SOURCE": "pydantic"})
    finally:
        program.unlink()


def test_check_and_sync_use_the_mcp_gen_there_is_and_say_so_where_there_is_none(
    project: Path, tmp_path: Path
) -> None:
    nowhere, stand_in = tmp_path / "nowhere", tmp_path / "stand-in" / MCP_GEN.name
    stand_in.parent.mkdir()
    stand_in.write_text("#!/bin/sh\n")
    stand_in.chmod(0o755)
    somewhere = tmp_path / "somewhere"
    somewhere.mkdir()
    (somewhere / MCP_GEN.name).symlink_to(MCP_GEN)
    make = shutil.which("make")
    assert make
    program = project / ".venv" / "bin" / MCP_GEN.name
    # The rest of `make lint` and `make check` is tested elsewhere.
    for habit, folder in ((("check", "-o", "lint"), stand_in.parent), (("sync",), somewhere)):
        said = run(make, "-s", *habit, cwd=project, env={"PATH": str(nowhere)}, wanted=2)
        line, failed = said.splitlines()
        assert line.startswith("mcp-gen is neither in .venv/bin nor on PATH; install it: ")
        assert failed.startswith("make: *** ")
        found = run(make, *habit, cwd=project, env={"PATH": str(folder)})
        assert found.splitlines()[0].startswith("mcp-gen ")
        program.symlink_to(stand_in)
        try:
            found = run(make, *habit, cwd=project, env={"PATH": str(nowhere)})
        finally:
            program.unlink()
        assert found.splitlines()[0].startswith(".venv/bin/mcp-gen ")


def test_the_program_is_installed_under_the_name_of_the_project(project: Path) -> None:
    program = project / ".venv" / "bin" / "word-clock"
    assert run(program, "--version", cwd=project) == "word-clock 0.1.0\n"
    assert run("make", "run", "ARGS=--version", cwd=project).endswith("word-clock 0.1.0\n")


def test_make_alone_shows_what_there_is(project: Path) -> None:
    shown = [line.split()[0] for line in run("make", cwd=project).splitlines()]
    assert shown == ["help", "setup", "test", "lint", "check", "run", "sync"]


def test_the_wheel_has_the_whole_package_and_nothing_else(project: Path) -> None:
    readme = (project / "README.md").read_text()
    (shipping,) = (line.strip() for line in readme.splitlines() if "pip wheel" in line)
    run(*shlex.split(shipping), cwd=project)
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


def test_git_would_keep_what_is_written_and_nothing_that_is_made(project: Path) -> None:
    run("git", "init", "--quiet", cwd=project)
    listed = run("git", "ls-files", "--others", "--exclude-standard", cwd=project).splitlines()
    assert "src/word_clock/protocol/mcp-gen.lock" in listed
    strange = [p for p in listed if p.split("/")[0] not in ("src", "tests", ".github") and "/" in p]
    assert strange == []
    assert not [path for path in listed if path.endswith(".pyc")]


def test_image_answers_by_its_published_names(project: Path) -> None:
    lines = (project / "Dockerfile").read_text().splitlines()
    entry, usual = (
        json.loads(line.removeprefix(f"{word} "))
        for word in ("ENTRYPOINT", "CMD")
        for line in lines
        if line.startswith(f"{word} ")
    )
    program = [project / ".venv" / "bin" / entry[0], *entry[1:], *usual, "--port", "0"]
    with logged_url(program) as (_, url):
        assert urlsplit(url).hostname == "0.0.0.0"
        for host, status in (("localhost", 200), ("127.0.0.1", 200), ("elsewhere", 421)):
            assert answers(url, host) == status, host
