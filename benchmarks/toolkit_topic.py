"""The cost of the toolkit, and the time of a call beside other servers.

The SDKs make tools of functions, too. All get the same function, and the same neutral clients call
them alternately: over stdio, and over HTTP under uvicorn.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from . import http_load
from .http_requests import STATELESS
from .http_servers import Servers
from .places import (
    FASTMCP,
    FASTMCP_3,
    REQUIREMENTS,
    REVISION,
    ROOT,
    environment,
    package,
    sdk_python,
)
from .rows import Row
from .serve_load import start_server
from .timing import command, interleave_loads

TOPIC: Final = "toolkit"
ROUNDS: Final = 7

_WITHOUT_WIRE, _BY_HAND = 1.25, "on_call_tool by hand"
_SDKS_GOAL: Final = 0.25


class _Sdk(NamedTuple):
    """A server class, its module, and the revisions that it speaks over HTTP."""

    label: str
    requirements: Path
    module: str
    name: str
    revisions: tuple[str, ...]


_SDKS: Final = (
    _Sdk("fastmcp 4.2", FASTMCP, "fastmcp", "FastMCP", (REVISION, STATELESS)),
    _Sdk("fastmcp 3.4", FASTMCP_3, "fastmcp", "FastMCP", (REVISION,)),
    _Sdk("mcp 2.3, MCPServer", REQUIREMENTS, "mcp.server", "MCPServer", (REVISION, STATELESS)),
    _Sdk("mcp 1.30, FastMCP", FASTMCP_3, "mcp.server.fastmcp", "FastMCP", (REVISION,)),
)
_OURS: Final = "ours"
_KINDS: Final = {"async": "a coroutine function", "plain": "a plain function"}
_DEPTHS: Final = (1, 16)
_CALLS, _WARM_UP = 300, 100
# A call over HTTP is short, and new servers are slow.
_HTTP_CALLS, _HTTP_WARM_UP, _CONNECTIONS = 1_000, 1_000, 16

_ALONE: Final = {
    "toolkit": "a coroutine function",
    "three middleware": "a coroutine function, three middleware",
    "async generator": "a coroutine function, Depends on an async generator",
    "no thread": "a plain function, thread=False",
    "thread": "a plain function in a thread",
    "thread, three middleware": "a plain function in a thread, three middleware",
    "thread, generator": "a plain function in a thread, Depends on a generator",
    "thread, all": "the same, and on a coroutine function",
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare the toolkit with a handler, and with the SDKs."""
    yield from _alone(rounds)
    yield from _stdio(rounds)
    yield from _http(rounds)


def _alone(rounds: int) -> Iterator[Row]:
    worker: list[str | Path] = [sdk_python(), "-m", "benchmarks.toolkit_worker", str(10 * rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    bare = taken["direct by hand"]
    what = "a tool, without the wire"
    yield Row(TOPIC, what, taken["direct toolkit"], _BY_HAND, bare, _WITHOUT_WIRE, "µs")
    for name, what in _ALONE.items():
        yield Row(TOPIC, f"the server, {what}", taken[name], _BY_HAND, taken["by hand"], None, "µs")


def _commands(transport: str, kind: str, revision: str) -> dict[str, list[str | Path]]:
    """Return the arguments that start each server, by label: an interpreter, `-m`, and a module."""
    said = (transport, kind)
    ours: list[str | Path] = [sdk_python(), "-m", "benchmarks.toolkit_ours", *said, revision]
    found = {_OURS: ours}
    for sdk in _SDKS:
        if revision in sdk.revisions:
            module = ("-m", "benchmarks.toolkit_sdks", *said, sdk.module, sdk.name)
            found[sdk.label] = [sdk_python(sdk.requirements), *module]
    return found


def _compare(what: str, taken: Mapping[str, float]) -> Iterator[Row]:
    for label, theirs in taken.items():
        if label != _OURS:
            yield Row(TOPIC, what, taken[_OURS], label, theirs, _SDKS_GOAL, "µs")


def _stdio(rounds: int) -> Iterator[Row]:
    seen = environment(PYTHONPATH=f"{package()}:{ROOT}")
    for kind, function in _KINDS.items():
        with ExitStack() as stack:
            servers = {
                label: stack.enter_context(start_server(line, seen))
                for label, line in _commands("stdio", kind, REVISION).items()
            }
            for server in servers.values():
                server.hello()
                server.load(_WARM_UP, 8)
            for depth in _DEPTHS:
                loads = {
                    label: lambda server=server, depth=depth: server.load(_CALLS, depth).each
                    for label, server in servers.items()
                }
                where = f"stdio, {depth} at a time"
                yield from _compare(f"{where}, {function}", interleave_loads(loads, rounds))


def _http(rounds: int) -> Iterator[Row]:
    for kind, function in _KINDS.items():
        for revision in (REVISION, STATELESS):
            with ExitStack() as stack:
                servers = Servers(stack)
                loads = {
                    label: _http_load(stack, servers.of(line).port, revision)
                    for label, line in _commands("http", kind, revision).items()
                }
                yield from _compare(
                    f"HTTP, {revision}, {function}", interleave_loads(loads, rounds)
                )


def _http_load(stack: ExitStack, port: int, revision: str) -> Callable[[], float]:
    sessions = revision == REVISION
    callers = http_load.callers(stack, port, _CONNECTIONS, sessions=sessions)
    http_load.load(callers, _HTTP_WARM_UP)
    return lambda: http_load.load(callers, _HTTP_CALLS).each
