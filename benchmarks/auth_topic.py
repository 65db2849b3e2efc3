"""The cost of authentication: a signed token and a proof, beside a static token."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from .http_requests import STATELESS
from .places import REVISION, ROOT, environment, package
from .rows import Row
from .timing import command

TOPIC = "auth"
ROUNDS = 7

_KINDS = {REVISION: f"{REVISION}, in a session", STATELESS: STATELESS}
_SHOWN = {
    "known": ("a JWT that was verified before", 1.3),
    "ES256": ("a new JWT, ES256", None),
    "RS256": ("a new JWT, RS256", None),
    "DPoP": ("a known JWT and a proof, ES256", None),
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare calls inside the application with calls that show a static token."""
    # The environment of the SDKs has no library that signs.
    worker: list[str | Path] = [sys.executable, "-m", "benchmarks.auth_alone", str(10 * rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    for revision, kind in _KINDS.items():
        static = taken[f"{revision} static"]
        for name, (shown, goal) in _SHOWN.items():
            ours = taken[f"{revision} {name}"]
            yield Row(TOPIC, f"{shown}, {kind}", ours, "a static token", static, goal, "µs")
