"""The cost of a call between two revisions, beside one within a revision."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .places import ROOT, environment, package
from .rows import Row
from .timing import command

TOPIC = "translate"
ROUNDS = 40

_WITHIN = "within the client's revision"
_CALL_GOAL, _SAME_GOAL = 1.30, 1.05

# Name in the worker's report → name of the row.
_ROWS = {
    "older": ("call, client of 2025-06-18, server class of 2025-11-25", _CALL_GOAL),
    "newer": ("call, client of 2025-11-25, server class of 2025-06-18", _CALL_GOAL),
    "to the next era": ("call, client of 2026-07-28, server class of 2025-11-25", _CALL_GOAL),
    "to the last era": ("call, client of 2025-11-25, server class of 2026-07-28", _CALL_GOAL),
    "same": ("the same where both agree on the types (completion)", _SAME_GOAL),
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare calls in memory: everything but the transport."""
    worker: list[str | Path] = [sys.executable, "-m", "benchmarks.translate_worker", str(rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    for name, (what, goal) in _ROWS.items():
        within = taken[f"{name} within"]
        yield Row(TOPIC, what, taken[f"{name} across"], _WITHIN, within, goal, "µs")
