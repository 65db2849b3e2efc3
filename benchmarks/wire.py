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
# By message: reading beside the SDK, writing beside the SDK, reading beside the exact class.
_GOALS = {
    "call": (0.22, 0.28, 1.35),
    "call+progress": (0.22, 0.28, 1.30),
    "result": (0.18, 0.20, 1.30),
    "tools": (0.15, 0.12, 1.30),
}
# By message: reading and writing beside Pydantic alone.
_ALONE_GOALS = {"call": (None, 1.6), "result": (1.3, 1.2), "tools": (None, None)}
_STRUCTS_GOAL = 0.10

_SDK, _EXACT = "mcp, as wired", "validate_json, exact class"
_SHARES = {
    "read": "Pydantic's parser and validator alone",
    "write": "Pydantic's serializer alone",
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare reading and writing of messages."""
    taken = _measure(rounds)
    for number, verb in enumerate(_SHARES):
        for name, what in _NAMES.items():
            ours, sdk = taken[f"{verb} {name} ours"], taken[f"{verb} {name} sdk"]
            goal, alone = _GOALS[name][number], taken.get(f"{verb} {name} pydantic", 0.0)
            yield Row(TOPIC, f"{verb} {what}", ours, _SDK, sdk, goal, "µs", alone)
    for name, what in _NAMES.items():
        ours, exact = taken[f"read {name} ours"], taken[f"read {name} exact"]
        yield Row(TOPIC, f"read {what}", ours, _EXACT, exact, _GOALS[name][2], "µs")
    for name, what in _NAMES.items():
        read, sdk = taken[f"read {name} structs"], taken[f"read {name} sdk"]
        yield Row(TOPIC, f"read {what}, msgspec", read, _SDK, sdk, _STRUCTS_GOAL, "µs")
    read, sdk = taken["read result method"], taken["read result sdk"]
    what = "read 1 KB result, msgspec, method known"
    yield Row(TOPIC, what, read, _SDK, sdk, _STRUCTS_GOAL, "µs")
    for number, (verb, part) in enumerate(_SHARES.items()):
        for name, goals in _ALONE_GOALS.items():
            ours, alone = taken[f"{verb} {name} ours"], taken[f"{verb} {name} pydantic"]
            what, sdk = f"{verb} {_NAMES[name]}", taken[f"{verb} {name} sdk"]
            yield Row(TOPIC, what, ours, part, alone, goals[number], "µs")
            yield Row(TOPIC, f"{what}, {part}", alone, _SDK, sdk, None, "µs")


def _measure(rounds: int) -> dict[str, float]:
    worker: list[str | Path] = [sdk_python(), "-m", "benchmarks.wire_worker", str(rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(structs())))()
    taken: dict[str, float] = json.loads(printed)
    return taken
