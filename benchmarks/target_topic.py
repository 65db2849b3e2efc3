"""The cost of a message as dataclasses without a dependency, beside our models."""

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from time import process_time
from typing import Any, Final

from .messages import CALL, RESULT, TOOLS
from .places import BUILD, REVISION, ROOT, environment, package, tool
from .rows import Row
from .timing import Action, command, interleave_calls

TOPIC = "targets"
ROUNDS = 60

_MESSAGES: Final = (
    ("call", "CallToolRequest", json.loads(CALL)),
    ("1 KB result", "CallToolResult", json.loads(RESULT)["result"]),
    ("list of 50 tools", "ListToolsResult", json.loads(TOOLS)["result"]),
)
_MODELS = "our models"


def rows(rounds: int) -> Iterator[Row]:
    """Compare reading and writing of decoded messages."""
    calls: dict[str, Action] = {}
    ours, models = _dataclasses(), _models()
    for name, kind, wire in _MESSAGES:
        calls |= _calls(name, getattr(ours, kind), getattr(models, kind), ours, wire)
    taken = interleave_calls(calls, rounds, process_time)
    for verb in ("read", "write"):
        for name, _, _ in _MESSAGES:
            what = f"{verb} {name}"
            yield Row(
                TOPIC, what, taken[f"{what} ours"], _MODELS, taken[f"{what} models"], None, "µs"
            )


def _calls(name: str, ours: Any, model: Any, functions: Any, wire: Any) -> dict[str, Action]:
    read, written = functions.from_wire(ours, wire), model.from_wire(wire)
    return {
        f"read {name} ours": lambda: functions.from_wire(ours, wire),
        f"read {name} models": lambda: model.from_wire(wire),
        f"write {name} ours": lambda: functions.to_wire(read),
        f"write {name} models": lambda: written.to_wire(),
    }


def _models() -> Any:
    # Found before the installed package.
    sys.path.insert(0, str(package()))
    from mcp_revisions import load

    return load(REVISION).models


def _dataclasses() -> Any:
    out = BUILD / "target" / "mcp_classes"
    options = ("--target", "dataclasses", "--revision", REVISION)
    command([tool("mcp-gen"), *options, "--out", out, "--force"], ROOT, environment())()
    sys.path.append(str(out.parent))
    return import_module(f"mcp_classes.v{REVISION.replace('-', '_')}")
