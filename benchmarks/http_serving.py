"""The cost of a server over HTTP: under load, with many tools, and for an idle session.

One neutral client calls all servers alternately. Two are compared: the SDK's low-level server and
an application without a protocol, which shows the cost of uvicorn and the sockets.
"""

import json
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from .http_load import Caller, Load, callers, load
from .http_requests import STATELESS
from .http_servers import Server, Servers
from .places import REVISION, ROOT, environment, package, sdk_python
from .rows import Row
from .timing import command

TOPIC = "http"

_SDK, _BARE = "mcp, low-level server, JSON", "canned answer, bare ASGI"
_KINDS = {REVISION: f"{REVISION}, in sessions", STATELESS: STATELESS}

_CONNECTIONS = (16, 64)
_CALLS, _WARM_UP = 1_500, 1_000
# Seconds for a call beside the SDK and beside the bare application; the slowest hundredth.
_SDK_GOALS = {REVISION: 0.15, STATELESS: 0.18}
_BARE_GOAL, _P99_GOAL = 2.0, 0.20

_MANY_TOOLS, _TOOLS_GOAL = 51, 1.05

_SESSIONS, _FIRST_SESSIONS, _SESSIONS_GOAL = 2_000, 500, 1 / 8


class _Subject(NamedTuple):
    """A measurement: the servers, the revision, and the number of connections."""

    name: str
    revision: str
    connections: int


_Loads: TypeAlias = dict[_Subject, Load]


def rows(rounds: int) -> Iterator[Row]:
    """Compare servers under load, alone, with many tools, and the memory of sessions."""
    yield from _loads(rounds)
    yield from _alone(rounds)
    yield _tools(rounds)
    yield _memory()


def _loads(rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        servers = Servers(stack)
        started: dict[tuple[str, str], Server] = {}
        for revision in _KINDS:
            ours = servers.ours(revision)
            started["ours", revision] = ours
            started["sdk", revision] = servers.sdk()
            started["bare", revision] = servers.bare(ours, revision)
        taken = _interleave(
            {
                _Subject(name, revision, number): _connect(stack, server, number, name, revision)
                for number in _CONNECTIONS
                for (name, revision), server in started.items()
            },
            rounds,
        )
    for number in _CONNECTIONS:
        for revision in _KINDS:
            yield from _rows_of(taken, revision, number)
    yield _own_work(taken)


def _connect(
    stack: ExitStack, server: Server, number: int, name: str, revision: str
) -> list[Caller]:
    # The bare application opens no sessions, and gets an id like the others.
    any_id = "0" * 32 if name == "bare" else None
    return callers(stack, server.port, number, sessions=revision == REVISION, given=any_id)


def _interleave(connections: dict[_Subject, list[Caller]], rounds: int) -> _Loads:
    for subject in connections:
        load(connections[subject], _WARM_UP)
    subjects = list(connections)
    taken: dict[_Subject, list[Load]] = {subject: [] for subject in subjects}
    for number in range(rounds):
        first = number % len(subjects)
        for subject in subjects[first:] + subjects[:first]:
            taken[subject].append(load(connections[subject], _CALLS))
    return {subject: _median(loads) for subject, loads in taken.items()}


def _median(loads: list[Load]) -> Load:
    return Load(*(median(figures) for figures in zip(*loads, strict=True)))


def _rows_of(taken: _Loads, revision: str, number: int) -> Iterator[Row]:
    what = f"{_KINDS[revision]}, {number} connections"
    ours, sdk, bare = (taken[_Subject(name, revision, number)] for name in ("ours", "sdk", "bare"))
    yield Row(TOPIC, f"a call, {what}", ours.each, _SDK, sdk.each, _SDK_GOALS[revision], "µs")
    yield Row(TOPIC, f"a call, {what}", ours.each, _BARE, bare.each, _BARE_GOAL, "µs")
    yield Row(TOPIC, f"99th percentile, {what}", ours.p99, _SDK, sdk.p99, _P99_GOAL)


def _own_work(taken: _Loads) -> Row:
    """Show that the load client does not limit the fastest server."""
    bare = taken[_Subject("bare", REVISION, max(_CONNECTIONS))]
    return Row(
        TOPIC, "the load client's own work for a call", bare.own, _BARE, bare.each, None, "µs"
    )


def _alone(rounds: int) -> Iterator[Row]:
    """Show the share of the application in the time of a call."""
    worker: list[str | Path] = [sdk_python(), "-m", "benchmarks.http_alone", str(10 * rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    for revision, kind in _KINDS.items():
        what, models = f"a call, {kind}, without a server", taken[f"{revision} models"]
        yield Row(TOPIC, what, taken[revision], "models and handler alone", models, None, "µs")


def _tools(rounds: int) -> Row:
    number = min(_CONNECTIONS)
    few, many = (_Subject(name, STATELESS, number) for name in ("few", "many"))
    with ExitStack() as stack:
        servers = Servers(stack)
        one, more = servers.ours(STATELESS), servers.ours(STATELESS, _MANY_TOOLS)
        connections = {
            few: callers(stack, one.port, number, sessions=False),
            many: callers(stack, more.port, number, sessions=False),
        }
        taken = _interleave(connections, 3 * rounds)
    what = f"a call, {STATELESS}, {_MANY_TOOLS} tools listed"
    return Row(TOPIC, what, taken[many].each, "1 tool", taken[few].each, _TOOLS_GOAL, "µs")


def _memory() -> Row:
    with ExitStack() as stack:
        servers = Servers(stack)
        ours, sdk = _memory_of(servers.ours(REVISION)), _memory_of(servers.sdk())
    what = "memory for 1,000 idle sessions"
    return Row(TOPIC, what, ours, _SDK, sdk, _SESSIONS_GOAL, "MiB")


def _memory_of(server: Server) -> float:
    with closing(Caller(server.port)) as caller:
        for _ in range(_FIRST_SESSIONS):
            caller.open_session()
        before = server.memory()
        for _ in range(_SESSIONS):
            caller.open_session()
        return (server.memory() - before) / (_SESSIONS / 1_000)
