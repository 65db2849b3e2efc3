"""Places in the checkout, and the environments of compared programs."""

import json
import os
import shutil
import sys
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Final

from .timing import command

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / "build" / "bench"
_FOLDER: Final = Path(__file__).parent
REQUIREMENTS: Final = _FOLDER / "requirements.txt"
FASTMCP: Final = _FOLDER / "requirements-fastmcp.txt"
FASTMCP_TASKS: Final = _FOLDER / "requirements-fastmcp-tasks.txt"
_NPM: Final = _FOLDER / "package.json"
MCP_PROXY: Final = _FOLDER / "requirements-mcp-proxy.txt"
FASTMCP_3: Final = _FOLDER / "requirements-fastmcp3.txt"

REVISION: Final = "2025-11-25"
"""The revision that is compared wherever one is enough."""


def environment(**more: str) -> dict[str, str]:
    """Return the variables of measured processes, which find byte code as if installed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**kept, "PYTHONPYCACHEPREFIX": str(BUILD / "bytecode"), **more}


def revisions() -> list[str]:
    """Return every revision, oldest first."""
    return sorted(path.parent.name for path in ROOT.glob("schema/*/schema.json"))


def published_schema(revision: str) -> Path:
    """Return the schema for datamodel-codegen: the published one if it lies beside the checkout."""
    beside = ROOT.parent / "shared" / "published" / f"{revision}.schema.json"
    return beside if beside.is_file() else ROOT / "schema" / revision / "schema.json"


def pins() -> list[str]:
    """Return the compared packages with versions, as pip writes them, also those of npm."""
    files = (REQUIREMENTS, FASTMCP, FASTMCP_TASKS, FASTMCP_3, MCP_PROXY)
    lines = [line for file in files for line in file.read_text().splitlines()]
    listed = [line for line in dict.fromkeys(lines) if line and not line.startswith("#")]
    npm: dict[str, str] = json.loads(_NPM.read_bytes())["dependencies"]
    return [*listed, *(f"{name}=={version}" for name, version in npm.items())]


def tool(name: str) -> Path:
    """Return a command of the environment of the benchmarks."""
    return Path(sys.executable).with_name(name)


@cache
def package() -> Path:
    """Return a folder with `mcp_revisions`, as the checkout generates it now.

    Raise `RuntimeError` if generation fails.
    """
    folder = BUILD / "package"
    out = folder / "mcp_revisions"
    whole = ("--revision", "all", "--with", "all", "--extension", "tasks")
    command([tool("mcp-gen"), *whole, "--out", out, "--force"], ROOT, environment())()
    return folder


@cache
def structs() -> Path:
    """Return the same folder with `mcp_structs`, the Structs of `REVISION`.

    Raise `RuntimeError` if generation fails.
    """
    folder = package()
    options = ("--revision", REVISION, "--target", "msgspec")
    command(
        [tool("mcp-gen"), *options, "--out", folder / "mcp_structs", "--force"], ROOT, environment()
    )()
    return folder


@cache
def node_tools() -> Path | None:
    """Return the folder of the npm packages, installed on first use; None without npm and Node.

    Raise `RuntimeError` if they cannot be installed.
    """
    if shutil.which("npm") is None or shutil.which("node") is None:
        return None
    folder = BUILD / f"npm-{sha256(_NPM.read_bytes()).hexdigest()[:12]}"
    ready = folder / ".ready"
    if not ready.exists():
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(_NPM, folder)
        quietly = ("--no-audit", "--no-fund", "--silent")
        command(["npm", "install", *quietly, "--prefix", folder], ROOT, os.environ)()
        ready.touch()
    return folder / "node_modules"


@cache
def sdk_python(listed: Path = REQUIREMENTS) -> Path:
    """Return the interpreter of an environment with the packages of a file, made on first use.

    Raise `RuntimeError` if it cannot be made.
    """
    requirements = [f"pydantic=={version('pydantic')}", "-r", str(listed)]
    state = f"{sys.version}\n{requirements}\n{listed.read_text()}"
    folder = BUILD / f"peers-{sha256(state.encode()).hexdigest()[:12]}"
    interpreter = folder / "bin" / "python"
    ready = folder / ".ready"
    if not ready.exists():
        print(f"installing the SDKs into {folder.relative_to(ROOT)} …", file=sys.stderr)
        try:
            command([sys.executable, "-m", "venv", "--clear", folder], ROOT, os.environ)()
            pip: list[str | Path] = [interpreter, "-m", "pip", "install", "--quiet", *requirements]
            command(pip, ROOT, os.environ)()
        except RuntimeError as error:
            hint = "generating can be measured without them: --only generate"
            raise RuntimeError(f"the SDKs cannot be installed ({hint}): {error}") from error
        ready.touch()
    return interpreter
