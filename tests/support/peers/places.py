"""Environments with foreign peers, each made once, on first use, under `build/peers`.

The requirement files of `tests/peers` pin the installed packages; a change of a pin makes a new
environment. Workers of one test run wait for each other.
"""

import shutil
import subprocess
import sys
import venv
from collections.abc import Callable, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from time import time
from typing import Final

from support.folders import ROOT, TESTS, alone
from support.missing import skip_untested

PEERS: Final = TESTS / "peers"
BUILD: Final = ROOT / "build" / "peers"
PROGRAMS: Final = PEERS / "programs"

Command = Sequence[str | Path]

# Seconds before a failed installation is tried again.
_RECENT: Final = 600.0


@cache
def python_with(name: str) -> Path:
    """Return the interpreter of the environment of `requirements-<name>.txt`."""
    pins = PEERS / f"requirements-{name}.txt"

    def make(folder: Path) -> None:
        install(folder, "-r", pins)

    return make_once(name, f"{sys.version}{pins.read_text()}", make) / "bin" / "python"


def install(folder: Path, *requirements: str | Path) -> None:
    """Make a new environment without pip, and install into it."""
    venv.create(folder, clear=True, symlinks=True, with_pip=False)
    # Only a part is ever used, and is compiled then.
    pip = (sys.executable, "-m", "pip", "--python", folder, "install", "-q", "--no-compile")
    run_command([*pip, *requirements])


@cache
def node_modules(wanted: str = "package.json", what: str = "the TypeScript SDK") -> Path:
    """Return the folder of the Node packages of a file; skip `what` without Node."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        skip_untested("node and npm", what)
    file = PEERS / wanted
    name = file.stem.replace("package", "node")
    return make_once(name, file.read_text(), partial(install_node, file)) / "node_modules"


def install_node(packages: Path, folder: Path, *options: str) -> None:
    """Install the Node packages that a file pins into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copy(packages, folder / "package.json")
    quietly = ("--no-audit", "--no-fund", "--silent")
    run_command(["npm", "install", *quietly, *options, "--prefix", folder])


def make_once(name: str, state: str, make: Callable[[Path], None]) -> Path:
    """Return the folder of an environment, which `make` makes once for each `state`.

    Skips the test if it cannot be installed.
    """
    folder = BUILD / f"{name}-{sha256(state.encode()).hexdigest()[:12]}"
    ready, failed = folder / ".ready", BUILD / f"{name}.failed"
    BUILD.mkdir(parents=True, exist_ok=True)
    with alone(failed):
        if not ready.exists() and not _is_recent(failed):
            try:
                make(folder)
                ready.touch()
            except RuntimeError as error:
                failed.write_text(str(error))
    if not ready.exists():
        reason = failed.read_text().strip().splitlines()[-1]
        skip_untested("what could not be installed", f"{name} ({reason})")
    return folder


def _is_recent(failed: Path) -> bool:
    """Return whether the attempt failed in this run or just before it."""
    return failed.exists() and time() - failed.stat().st_mtime < _RECENT


def run_command(command: Command) -> str:
    """Return the output of a command; raise `RuntimeError` with its standard error if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{command} failed:\n{done.stderr}")
    return done.stdout
