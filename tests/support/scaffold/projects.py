"""New projects, and environments to run them in.

Dependencies are installed once, by `make setup` of one project in an empty folder: a server with
both transports needs all that any project does. Each project gets its own environment, which refers
to that one, and to the project as an editable installation does.
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
# Otherwise a make that runs these tests passes its options to inner ones.
FIRST: Final = {"MAKEFLAGS": "", "MAKELEVEL": ""}
# The end of pip's output after its last retry; after an earlier one it may still succeed.
_GAVE_UP: Final = re.compile(r"Retry\(total=0,.* connection broken .*\n\s*error: ", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Project:
    folder: Path
    choices: ProjectChoices

    @property
    def python(self) -> Path:
        return self.folder / ".venv" / "bin" / "python"

    @property
    def package(self) -> str:
        """Return its import name."""
        return self.choices.name.package


def choices(
    kind: ProjectKind,
    transport: ProjectTransport,
    revisions: Sequence[str] = ERAS,
    name: str = "",
    shared: ProjectEngine | None = None,
) -> ProjectChoices:
    """Return the choices for a project; its code is written in the first revision.

    The default name is the most awkward one: that of a module of its tests.
    """
    named = project_name(name or f"test-{kind}")
    return ProjectChoices(named, kind, transport, revisions[0], tuple(sorted(revisions)), shared)


def sharing(
    engine: ProjectEngine,
    transport: ProjectTransport = ProjectTransport.HTTP,
    revisions: Sequence[str] = ERAS,
    name: str = "",
) -> ProjectChoices:
    """Return the choices for a server whose workers share an engine."""
    return choices(ProjectKind.SERVER, transport, revisions, name, engine)


VARIETY: Final = (
    # The default.
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
    """Return the distinguishing part of one of `VARIETY`."""
    shared = f"-{choices.shared}" if choices.shared else ""
    return f"{choices.kind}-{choices.transport}-{choices.revision}{shared}"


def start_project(folder: Path, wanted: ProjectChoices) -> Project:
    """Write a new project into a new folder, ready to run."""
    project = Project(folder / wanted.name.distribution, wanted)
    write_project(project.folder, wanted)
    set_up(project)
    return project


def write_project(folder: Path, wanted: ProjectChoices) -> None:
    """Write a project into a folder, with the committed package of all revisions."""
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
    """Make a virtual environment that can import `sources` and the dependencies of projects."""
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
    """Run a command, expecting the exit code `wanted`; return its output."""
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
    """Start a server over HTTP in its own process group; yield it and the URL from its log."""
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
    """Return the status of a server's first answer under a host name."""
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
    """Return the commands of a workflow, in order."""
    # By name, because its types are not installed.
    yaml: Any = import_module("yaml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def tool(name: str) -> Path:
    """Return a program from the environment of dependencies."""
    return others().parents[2] / "bin" / name


@cache
def others() -> Path:
    """Return the `site-packages` of dependencies; skip the test if they cannot be installed."""
    first, *others = ProjectEngine
    wanted = sharing(first, ProjectTransport.BOTH, name="needs-everything")
    files = project_files(wanted)
    # A project has one engine, but all are tested.
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
            # Without an index nothing can be tested; any other failure is a fault of the project.
            assert _GAVE_UP.search(str(error)), error
            raise

    asked = {path: files[path] for path in ("pyproject.toml", "Makefile", "constraints.txt")}
    folder = make_once("projects", f"{sys.version}{asked}", make)
    (site,) = folder.glob(".venv/lib/python3*/site-packages")
    return site
