"""Foreign clients as processes, and what each of them is to see of our server."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from support.folders import environment
from support.json_types import JsonObject
from support.peers.places import PROGRAMS

OUR_SERVER: tuple[str | Path, ...] = (
    *("env", f"PYTHONPATH={environment()['PYTHONPATH']}"),
    *(sys.executable, PROGRAMS / "our_server.py"),
)

EXPECTED: JsonObject = {
    "server": "everything",
    "instructions": "Call whatever you like.",
    "tools": [
        "ask",
        "change",
        "count",
        "crash",
        "echo",
        "log",
        "media",
        "roots",
        "sample",
        "sleep",
        "stray",
    ],
    "resources": ["file:///a"],
    "read": "content of a",
    "prompts": ["greet"],
    "prompt": "Greet ada",
    "completed": ["ada", "alan"],
    "echo": "hi",
    "count": "counted",
    "log": "logged",
    "logs": [{"said": "logged"}],
    "sample": "model sampled",
    "roots": "file:///root",
    "ask": "accept ada",
    "stray": "printed",
    "sleep": "cancelled",
    "after": "hi",
    "progress": [[1, 3, "at 1"], [2, 3, "at 2"], [3, 3, "at 3"]],
}
"""What every client sees, in every revision that has it."""


def seen_by(client: Sequence[str | Path], *arguments: str) -> tuple[JsonObject, str]:
    """What a client that talked to our server saw, and what our server wrote to standard error."""
    done = subprocess.run(
        [*client, *OUR_SERVER, *arguments], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    seen: JsonObject = json.loads(done.stdout)
    assert "errors" not in seen
    return seen, done.stderr
