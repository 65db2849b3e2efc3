"""New projects, and environments to run them in.

What projects need is installed once, by `make setup` of one of them in an empty folder: a server
with both transports needs all that any project does. Each project gets an environment of its own
that refers to that one, and to the project as an editable installation does.
"""

import json
import os
import re
import subprocess
import sys
import venv
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.files import project_files, protocol_folder
from mcp_protogen.scaffold.project_name import project_name
from mcp_protogen.scaffold.requirements import ENGINES
from mcp_protogen.scaffold.revisions import default_revisions

from support.folders import TESTS
from support.generated.package_copy import copied_package
from support.peers.places import make_once, run_command
from support.revisions import ERAS, REVISIONS

CONSTRAINTS: Final = TESTS / "scaffold" / "constraints.txt"
OTHER_REVISIONS: Final = tuple(
    revision for revision in REVISIONS if revision != default_revisions()[0]
)
ALL_REVISIONS: Final = (default_revisions()[0], *OTHER_REVISIONS)
# A make that runs these tests tells those below it that they are not the first.
FIRST: Final = {"MAKEFLAGS": "", "MAKELEVEL": ""}
# What pip ends with after the last of its retries; after any earlier one it may still succeed.
_GAVE_UP: Final = re.compile(r"Retry\(total=0,.* connection broken .*\n\s*error: ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Project:
    """A project that can be run."""

    folder: Path
    choices: ProjectChoices

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ".venv" / "bin" / "python"

    @property
    def package(self) -> str:
        """What it is imported as."""
        return self.choices.name.package


def choices(
    kind: ProjectKind,
    transport: ProjectTransport,
    revisions: Sequence[str] = ERAS,
    name: str = "",
    shared: ProjectEngine | None = None,
) -> ProjectChoices:
    """What is decided on for a project; its code is written in the first of the revisions.

    Without a name it has the most awkward one: that of a module of its tests.
    """
    named = project_name(name or f"test-{kind}")
    return ProjectChoices(named, kind, transport, revisions[0], tuple(sorted(revisions)), shared)


def sharing(
    engine: ProjectEngine,
    transport: ProjectTransport = ProjectTransport.HTTP,
    revisions: Sequence[str] = ERAS,
    name: str = "",
) -> ProjectChoices:
    """What is decided on for a server whose workers share something."""
    return choices(ProjectKind.SERVER, transport, revisions, name, engine)


VARIETY: Final = (
    # What it is when nobody says otherwise.
    choices(ProjectKind.SERVER, ProjectTransport.STDIO, default_revisions()),
    choices(ProjectKind.SERVER, ProjectTransport.STDIO, ["2024-11-05"]),
    choices(ProjectKind.SERVER, ProjectTransport.STDIO, ["2025-06-18"]),
    choices(ProjectKind.SERVER, ProjectTransport.HTTP, ["2025-03-26"]),
    choices(ProjectKind.SERVER, ProjectTransport.HTTP, ["2026-07-28"]),
    choices(ProjectKind.SERVER, ProjectTransport.BOTH, ["2025-11-25"]),
    sharing(ProjectEngine.REDIS, revisions=["2025-11-25", "2026-07-28"]),
    sharing(ProjectEngine.POSTGRES, ProjectTransport.BOTH, ["2025-06-18"]),
    choices(ProjectKind.CLIENT, ProjectTransport.STDIO, ["2024-11-05"]),
    choices(ProjectKind.CLIENT, ProjectTransport.HTTP, ["2026-07-28"]),
    choices(ProjectKind.CLIENT, ProjectTransport.BOTH, ["2025-11-25"]),
    choices(ProjectKind.GATEWAY, ProjectTransport.STDIO, ["2026-07-28"]),
    choices(ProjectKind.GATEWAY, ProjectTransport.HTTP, ["2024-11-05"]),
    choices(ProjectKind.GATEWAY, ProjectTransport.BOTH, ["2025-11-25"]),
)
"""Every kind over every transport, and every revision that a server can be written in."""


def describe_choices(choices: ProjectChoices) -> str:
    """What tells one of `VARIETY` from the others."""
    shared = f"-{choices.shared}" if choices.shared else ""
    return f"{choices.kind}-{choices.transport}-{choices.revision}{shared}"


def start_project(folder: Path, wanted: ProjectChoices) -> Project:
    """A new project in a new folder, that can be run."""
    project = Project(folder / wanted.name.distribution, wanted)
    write_project(project.folder, wanted)
    set_up(project)
    return project


def write_project(folder: Path, wanted: ProjectChoices) -> None:
    """Write a project into a folder; its package, of all revisions, is the committed one."""
    for path, content in project_files(wanted).items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    (folder / protocol_folder(wanted)).symlink_to(copied_package())


def set_up(project: Project) -> None:
    """Give a project what `make setup` would, without installing anything."""
    folder = project.folder / ".venv"
    environment(folder, project.folder / "src")
    for name in ("pyright", "ruff"):
        (folder / "bin" / name).symlink_to(tool(name))
    program = folder / "bin" / project.choices.name.distribution
    program.write_text(
        f"#!{project.python}\nfrom {project.package}.__main__ import main\n\nmain()\n"
    )
    program.chmod(0o755)
    (folder / ".ready").touch()


def environment(folder: Path, *sources: Path) -> None:
    """Make a virtual environment in which `sources` can be imported, and what projects need."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "project.pth").write_text("".join(f"{path}\n" for path in (*sources, others())))


def run(
    *command: str | Path,
    cwd: Path,
    env: Mapping[str, str] | None = None,
    wanted: int = 0,
    timeout: float = 300,
) -> str:
    """What a command wrote, all of it; it has to end with the exit code that is `wanted`."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, **FIRST, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == wanted, f"{command} ended with {done.returncode}\n{done.stdout}"
    return done.stdout


@contextmanager
def logged_url(
    program: Sequence[str | Path], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """A server over HTTP, as the first process of a group, with the URL that is in its log."""
    with subprocess.Popen(
        program,
        cwd=cwd,
        env={**os.environ, **FIRST, **(env or {})},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as server:
        assert server.stderr is not None
        places = (re.search(r"http://[\d.:]+", line) for line in server.stderr)
        try:
            yield server, f"{next(found[0] for found in places if found)}/mcp"
        finally:
            server.terminate()


def answers(url: str, host: str = "") -> int:
    """The status of a server's answer to its first message, as the host it is called by."""
    place = urlsplit(url)
    hello: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
    fields = {
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "Host": f"{host or place.hostname}:{place.port}",
    }
    connection = HTTPConnection("127.0.0.1", place.port, timeout=30)
    with closing(connection):
        connection.request("POST", place.path, json.dumps(message), fields)
        return connection.getresponse().status


def workflow_steps(text: str) -> list[str]:
    """The commands that a workflow runs, in their order."""
    # By name: types of it are not installed.
    yaml: Any = import_module("yaml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def tool(name: str) -> Path:
    """A program of the environment of what projects need."""
    return others().parents[2] / "bin" / name


@cache
def others() -> Path:
    """The `site-packages` of what projects need from others; skips if it cannot be installed."""
    first, *others = ProjectEngine
    wanted = sharing(first, ProjectTransport.BOTH, name="needs-everything")
    files = project_files(wanted)
    # A project has one engine, and all are tried.
    engines = '",\n    "'.join(ENGINES[engine] for engine in (first, *others)).encode()
    asking = files["pyproject.toml"].replace(ENGINES[first].encode(), engines)
    files |= {
        "pyproject.toml": asking,
        f"{protocol_folder(wanted)}/__init__.py": b"",
        "constraints.txt": CONSTRAINTS.read_bytes(),
    }

    def make(folder: Path) -> None:
        for path, content in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(content)
        pip = {"PIP_CONSTRAINT": "constraints.txt", "PIP_NO_COMPILE": "1"}
        settings = [f"{name}={value}" for name, value in (FIRST | pip).items()]
        setup = ["make", "-C", str(folder), "setup", f"PYTHON={sys.executable}"]
        try:
            run_command(["env", *settings, *setup])
        except RuntimeError as error:
            # Where pip reaches no index, nothing can be tried; else it is a fault of the project.
            assert _GAVE_UP.search(str(error)), error
            raise

    asked = {path: files[path] for path in ("pyproject.toml", "Makefile", "constraints.txt")}
    folder = make_once("projects", f"{sys.version}{asked}", make)
    (site,) = folder.glob(".venv/lib/python3*/site-packages")
    return site
