"""The time of a call for clients, over HTTP and over stdio, against the same servers."""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack

from .http_requests import STATELESS
from .http_servers import Servers
from .http_serving import TOPIC
from .places import REVISION, ROOT, environment, package, sdk_python
from .rows import Row
from .timing import command

_SDK, _BARE = "mcp, client", "httpx2, bare posts"
_HTTP_GOAL, _STDIO_GOAL = 0.75, 0.6


def rows(rounds: int) -> Iterator[Row]:
    """Compare calls that follow one another."""
    with ExitStack() as stack:
        servers = Servers(stack)
        ports = {revision: servers.ours(revision).port for revision in (REVISION, STATELESS)}
        taken = _measure(rounds, ports)
    for revision in ports:
        what = f"client, a call, {revision}"
        ours, sdk, bare = (taken[f"{revision} {name}"] for name in ("ours", "sdk", "bare"))
        yield Row(TOPIC, what, ours, _SDK, sdk, _HTTP_GOAL, "µs")
        yield Row(TOPIC, what, ours, _BARE, bare, None, "µs")
    what = f"client, a call, {REVISION} over stdio"
    yield Row(TOPIC, what, taken["stdio ours"], _SDK, taken["stdio sdk"], _STDIO_GOAL, "µs")


def _measure(rounds: int, ports: Mapping[str, int]) -> dict[str, float]:
    worker = [
        str(sdk_python()),
        "-m",
        "benchmarks.http_client_worker",
        str(rounds),
        json.dumps(ports),
    ]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    return taken
