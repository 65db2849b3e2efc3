"""python .github/releasing/trying.py FOLDER

Tries wheels as users get them: in an environment with nothing else, on any system. The generator
writes a package, which then runs on its copy of the runtime and on the wheel of the runtime, and
calls a server. This program needs only the standard library.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

# Calls a tool through both stubs.
PROGRAM: Final = """
import asyncio
import pkg
from pkg import v2025_11_25 as mcp

app = mcp.App("adder")

@app.tool
def add(a: int, b: int) -> str:
    return str(a + b)

async def main():
    async with pkg.connect_in_memory(app, mcp.Client()) as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).text)

asyncio.run(main())
"""
# Also over standard input and output, because each system starts processes differently.
SERVER: Final = """
from pkg import v2025_11_25 as mcp

app = mcp.App("adder")

@app.tool
def add(a: int, b: int) -> str:
    return str(a + b)

app.run()
"""
CLIENT: Final = """
import asyncio
from pkg import connect

async def main():
    async with connect("server.py") as client:
        print((await client.call_tool("add", {"a": 1, "b": 2})).text)

asyncio.run(main())
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Return the output of a command, in UTF-8 on every system; raise if it fails."""
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env={**os.environ, "PYTHONUTF8": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def environment(folder: Path, wheel: Path) -> Path:
    """Install a wheel into a new environment, and return its folder of programs."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    run(programs / "python", "-m", "pip", "install", "--quiet", wheel, cwd=folder)
    return programs


def calls(programs: Path, work: Path) -> None:
    """Call a tool of a server in the same process, and of one in another process."""
    (work / "server.py").write_text(SERVER, encoding="utf-8")
    for program in (PROGRAM, CLIENT):
        (work / "program.py").write_text(program, encoding="utf-8")
        printed = run(programs / "python", "program.py", cwd=work)
        assert printed == "3\n", printed


def trying(folder: Path, work: Path) -> None:
    """Try the two wheels of a folder; raise an error if something fails."""
    (generator,) = folder.glob("mcp_protogen-*.whl")
    (runtime,) = folder.glob("mcp_protogen_runtime-*.whl")
    programs = environment(work / "generator", generator)
    command = programs / "mcp-gen"
    print(run(command, "--version", cwd=work), end="")
    revisions = ("--revision", "2025-11-25", "--revision", "2026-07-28", "--out", "pkg")
    run(command, *revisions, cwd=work)
    run(command, *revisions, "--check", "--regenerate", cwd=work)
    calls(programs, work)
    called = run(command, "call", "server.py", "add", "a=1", "b=2", cwd=work)
    assert called == "3\n", called
    run(
        command,
        "--revision",
        "all",
        "--with",
        "all",
        "--extension",
        "all",
        "--out",
        "all",
        cwd=work,
    )
    run(command, "new", "word-clock", cwd=work)
    run(command, *revisions, "--runtime", "mcp_protogen_runtime", "--force", cwd=work)
    calls(environment(work / "runtime", runtime), work)
    print(f"tried on {sys.platform}, Python {sys.version.split()[0]}: passed")


if __name__ == "__main__":
    with TemporaryDirectory(prefix="trying-", ignore_cleanup_errors=True) as temporary:
        trying(Path(sys.argv[1]).resolve(), Path(temporary))
