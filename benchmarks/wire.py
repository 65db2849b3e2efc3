"""The cost of a message between bytes and typed objects, beside the SDK and beside Pydantic.

The Structs of the target `msgspec`, of the same revision, are compared with the SDK, too.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from .places import ROOT, environment, sdk_python, structs
from .rows import Row
from .timing import command

TOPIC = "wire"
ROUNDS = 60

_NAMES = {
    "call": "tools/call request",
    "call+progress": "tools/call request, progress token",
    "result": "1 KB result",
    "tools": "list of 50 tools",
}
# By message: reading beside the SDK, writing beside the SDK.
_GOALS = {
    "call": (0.22, 0.28),
    "call+progress": (0.22, 0.28),
    "result": (0.18, 0.20),
    "tools": (0.15, 0.12),
}
_EXACT_GOAL = 1.30
_STRUCTS_GOAL = 0.10

_SDK, _EXACT = "mcp, as wired", "validate_json, exact class"


def rows(rounds: int) -> Iterator[Row]:
    """Compare reading and writing of messages."""
    taken = _measure(rounds)
    for name, what in _NAMES.items():
        reading, _ = _GOALS[name]
        ours, sdk = taken[f"read {name} ours"], taken[f"read {name} sdk"]
        yield Row(TOPIC, f"read {what}", ours, _SDK, sdk, reading, "µs")
    for name, what in _NAMES.items():
        _, writing = _GOALS[name]
        ours, sdk = taken[f"write {name} ours"], taken[f"write {name} sdk"]
        yield Row(TOPIC, f"write {what}", ours, _SDK, sdk, writing, "µs")
    for name, what in _NAMES.items():
        ours, exact = taken[f"read {name} ours"], taken[f"read {name} exact"]
        yield Row(TOPIC, f"read {what}", ours, _EXACT, exact, _EXACT_GOAL, "µs")
    for name, what in _NAMES.items():
        read, sdk = taken[f"read {name} structs"], taken[f"read {name} sdk"]
        yield Row(TOPIC, f"read {what}, msgspec", read, _SDK, sdk, _STRUCTS_GOAL, "µs")
    read, sdk = taken["read result method"], taken["read result sdk"]
    what = "read 1 KB result, msgspec, method known"
    yield Row(TOPIC, what, read, _SDK, sdk, _STRUCTS_GOAL, "µs")
    for verb, part in (("read", "parser and validator"), ("write", "serializer")):
        for name in ("call", "result", "tools"):
            alone, sdk = taken[f"{verb} {name} pydantic"], taken[f"{verb} {name} sdk"]
            what = f"{verb} {_NAMES[name]}, Pydantic's {part} alone"
            yield Row(TOPIC, what, alone, _SDK, sdk, None, "µs")


def _measure(rounds: int) -> dict[str, float]:
    worker: list[str | Path] = [sdk_python(), "-m", "benchmarks.wire_worker", str(rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(structs())))()
    taken: dict[str, float] = json.loads(printed)
    return taken
