"""The path of a call through the runtime: functions entered, modules, returns to a module.

A reader must follow it, and a debugger steps through it. The figures are the same on every machine.
Frames of an SDK count if its packages have them; those of libraries do not.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .places import ROOT, environment, package, sdk_python
from .rows import Row
from .timing import command

TOPIC = "walk"
ROUNDS = 3

_FIGURES = ("calls", "modules", "returns")
# By case of the worker: its name, and the cases of SDKs beside it.
_WALKS = {
    "stdio": ("tools/call over stdio", ("pygls", "mcp stdio")),
    "session": ("tools/call over HTTP, in a session", ("pygls", "mcp session")),
    "translated": ("tools/call over HTTP, 2026-07-28, translated", ("pygls", "mcp stateless")),
}
_SDKS = {
    "pygls": "pygls, hover over stdio",
    "mcp stdio": "mcp, low-level server, stdio",
    "mcp session": "mcp, low-level server, session",
    "mcp stateless": "mcp, low-level server, 2026-07-28",
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare one call of ours with one of each SDK; without SDKs, return ours alone."""
    theirs = _measure_sdks(rounds)
    for case, (what, beside) in _WALKS.items():
        ours = _walk(Path(sys.executable), case, rounds)
        for sdk in beside:
            found = theirs.get(sdk)
            name = _SDKS[sdk] if found else f"{_SDKS[sdk]}: NOT INSTALLED"
            for figure in _FIGURES:
                other = found[figure] if found else None
                yield Row(TOPIC, f"{what}: {figure}", ours[figure], name, other, None, "")


def _measure_sdks(rounds: int) -> dict[str, dict[str, int]]:
    try:
        interpreter = sdk_python()
    except RuntimeError as error:
        print(f"measuring without SDKs: {error}", file=sys.stderr)
        return {}
    return {case: _walk(interpreter, case, rounds) for case in _SDKS}


def _walk(interpreter: Path, case: str, rounds: int) -> dict[str, int]:
    worker: list[str | Path] = [interpreter, "-m", "benchmarks.walk_worker", case, str(rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    figures: dict[str, int] = json.loads(printed)
    return figures
