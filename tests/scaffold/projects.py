"""New projects, and environments to run them in.

What projects need from others is installed once, under `build/scaffold`. Each project gets an
environment of its own that refers to that one, and to the project as an editable installation does.
"""

import fcntl
import os
import re
import subprocess
import sys
import venv
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import pytest
from mcp_protogen.config import Options
from mcp_protogen.generate import generate
from mcp_protogen.output.package import Package
from mcp_protogen.scaffold.choices import Choices, Kind, Transport
from mcp_protogen.scaffold.create import create
from mcp_protogen.scaffold.project_name import project_name

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
BUILD: Final = ROOT / "build" / "scaffold"
REQUIREMENTS: Final = HERE / "requirements.txt"
OTHER_REVISIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2026-07-28")
ALL_REVISIONS: Final = ("2025-11-25", *OTHER_REVISIONS)


@dataclass(frozen=True, slots=True)
class Project:
    """A project that can be run."""

    folder: Path
    choices: Choices

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ".venv" / "bin" / "python"

    @property
    def package(self) -> str:
        """What it is imported as."""
        return self.choices.name.package


def choices(
    kind: Kind,
    transport: Transport,
    revisions: Sequence[str] = ("2025-11-25", "2026-07-28"),
    name: str = "",
) -> Choices:
    """What is decided on for a project; its code is written in the first of the revisions.

    Without a name it has the most awkward one: that of a module of its tests.
    """
    named = project_name(name or f"test-{kind}")
    return Choices(named, kind, transport, revisions[0], tuple(sorted(revisions)))


VARIETY: Final = (
    *(choices(kind, transport) for kind, transport in product(Kind, Transport)),
    *(choices(Kind.SERVER, Transport.STDIO, [revision]) for revision in OTHER_REVISIONS),
    choices(Kind.CLIENT, Transport.STDIO, ["2024-11-05"]),
    choices(Kind.CLIENT, Transport.STDIO, ["2026-07-28"]),
    choices(Kind.GATEWAY, Transport.STDIO, ["2026-07-28"]),
)
"""Every kind and transport, and every revision to write in."""


def described(choices: Choices) -> str:
    """What tells one of `VARIETY` from the others."""
    return f"{choices.kind}-{choices.transport}-{choices.revision}"


def made(folder: Path, wanted: Choices) -> None:
    """Start a project in a folder, and nothing else."""
    with patch("mcp_protogen.generate.generate", _generated_once):
        create(wanted, folder)


def environment(folder: Path, *sources: Path) -> None:
    """Make a virtual environment in which `sources` can be imported, and what projects need."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "project.pth").write_text("".join(f"{path}\n" for path in (*sources, others())))


def started(folder: Path, wanted: Choices) -> Project:
    """A new project in a new folder, with an environment."""
    project = Project(folder / wanted.name.distribution, wanted)
    made(project.folder, wanted)
    environment(project.folder / ".venv", project.folder / "src")
    return project


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
        # A make that runs these tests tells those below it that they are not the first.
        env={**os.environ, "MAKEFLAGS": "", "MAKELEVEL": "", **(env or {})},
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
def logged_url(program: Sequence[str | Path]) -> Generator[tuple["subprocess.Popen[str]", str]]:
    """A server over HTTP, as a process, with the URL that is in its log."""
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        places = (re.search(r"http://[\d.:]+", line) for line in server.stderr)
        try:
            yield server, f"{next(found[0] for found in places if found)}/mcp"
        finally:
            server.terminate()


def workflow_steps(text: str) -> list[str]:
    """The commands that a workflow runs, in their order."""
    # By name: types of it are not installed.
    yaml: Any = import_module("yaml")
    (job,) = yaml.safe_load(text)["jobs"].values()
    return [step["run"] for step in job["steps"] if "run" in step]


def tool(name: str) -> Path:
    """A program of the environment of what projects need."""
    return others().parents[2] / "bin" / name


def _generated_once(options: Options) -> Package:
    """The generated package, which is the same in all projects that speak the same."""
    return _generated(options.revisions)


@cache
def _generated(revisions: tuple[str, ...]) -> Package:
    return generate(Options(revisions))


@cache
def others() -> Path:
    """The `site-packages` of what projects need from others; skips if it cannot be installed."""
    state = sha256(f"{sys.version}{REQUIREMENTS.read_text()}".encode()).hexdigest()[:12]
    folder, ready = BUILD / state, BUILD / f"{state}.ready"
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        # Workers of one test run wait for each other.
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            _install(folder)
            ready.touch()
    (site,) = folder.glob("lib/python3*/site-packages")
    return site


def _install(folder: Path) -> None:
    venv.create(folder, with_pip=True, clear=True)
    pip: list[str | Path] = [
        folder / "bin" / "python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "-r",
        REQUIREMENTS,
    ]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1]
        pytest.skip(f"NOT TESTED: what new projects need could not be installed: {reason}")
