"""The cost of a server over HTTP: under load, with many tools, and for an idle session.

One neutral client calls all servers alternately. Two are compared: the SDK's low-level server and
an application without a protocol, which shows the cost of uvicorn and the sockets. With the models
and the handler alone, that is the floor, which no server can go below.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeAlias

from .http_load import Caller, Load, callers, load
from .http_requests import STATELESS
from .http_servers import Server, Servers, processor_seconds
from .places import REVISION, ROOT, environment, package, sdk_python
from .rows import Row
from .timing import command

TOPIC = "http"

_SDK, _BARE = "mcp, low-level server, JSON", "canned answer, bare ASGI"
_FLOOR = f"{_BARE}, with models and handler"
_KINDS = {REVISION: f"{REVISION}, in sessions", STATELESS: STATELESS}

_CONNECTIONS = (16, 64)
_CALLS, _WARM_UP = 1_500, 1_000
# Seconds for a call beside the floor, and within the application; the slowest hundredth.
_FLOOR_GOALS = {REVISION: 1.4, STATELESS: 1.5}
_ALONE_GOAL, _P99_GOAL = 1.8, 0.25

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
    alone = _measure_alone(rounds)
    yield from _loads(rounds, alone)
    for revision, kind in _KINDS.items():
        what, models = f"a call, {kind}, without a server", alone[f"{revision} models"]
        beside = "models and handler alone"
        yield Row(TOPIC, what, alone[revision], beside, models, _ALONE_GOAL, "µs")
    yield _tools(rounds)
    yield _memory()


def _loads(rounds: int, alone: Mapping[str, float]) -> Iterator[Row]:
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
                _Subject(name, revision, number): (
                    server,
                    _connect(stack, server, number, name, revision),
                )
                for number in _CONNECTIONS
                for (name, revision), server in started.items()
            },
            rounds,
        )
    for number in _CONNECTIONS:
        for revision in _KINDS:
            yield from _rows_of(taken, revision, number, alone[f"{revision} models"])
    yield _own_work(taken)


def _connect(
    stack: ExitStack, server: Server, number: int, name: str, revision: str
) -> list[Caller]:
    # The bare application opens no sessions, and gets an id like the others.
    any_id = "0" * 32 if name == "bare" else None
    return callers(stack, server.port, number, sessions=revision == REVISION, given=any_id)


def _interleave(connections: dict[_Subject, tuple[Server, list[Caller]]], rounds: int) -> _Loads:
    """Return the medians of each load, and the processor time of its server for a call."""
    for _, callers_of_one in connections.values():
        load(callers_of_one, _WARM_UP)
    subjects, worked = list(connections), dict.fromkeys(connections, 0.0)
    taken: dict[_Subject, list[Load]] = {subject: [] for subject in subjects}
    for number in range(rounds):
        first = number % len(subjects)
        for subject in subjects[first:] + subjects[:first]:
            server, callers_of_one = connections[subject]
            before = processor_seconds(server.pid)
            taken[subject].append(load(callers_of_one, _CALLS))
            worked[subject] += processor_seconds(server.pid) - before
    return {
        subject: _median(loads)._replace(each=worked[subject] / (rounds * _CALLS))
        for subject, loads in taken.items()
    }


def _median(loads: list[Load]) -> Load:
    return Load(*(median(figures) for figures in zip(*loads, strict=True)))


def _rows_of(taken: _Loads, revision: str, number: int, models: float) -> Iterator[Row]:
    what = f"{_KINDS[revision]}, {number} connections"
    ours, sdk, bare = (taken[_Subject(name, revision, number)] for name in ("ours", "sdk", "bare"))
    call, floor, goal = f"a call, {what}", bare.each + models, _FLOOR_GOALS[revision]
    yield Row(TOPIC, call, ours.each, _SDK, sdk.each, None, "µs")
    yield Row(TOPIC, call, ours.each, _FLOOR, floor, goal, "µs")
    slowest = f"99th percentile, {what}"
    yield Row(TOPIC, slowest, ours.p99, _SDK, sdk.p99, _P99_GOAL, floor=bare.p99)


def _own_work(taken: _Loads) -> Row:
    """Show that the load client does not limit the fastest server."""
    bare = taken[_Subject("bare", REVISION, max(_CONNECTIONS))]
    return Row(
        TOPIC, "the load client's own work for a call", bare.own, _BARE, bare.each, None, "µs"
    )


def _measure_alone(rounds: int) -> dict[str, float]:
    """Return the seconds of a call within the application, and of models and handler alone."""
    worker: list[str | Path] = [sdk_python(), "-m", "benchmarks.http_alone", str(10 * rounds)]
    printed = command(worker, ROOT, environment(PYTHONPATH=str(package())))()
    taken: dict[str, float] = json.loads(printed)
    return taken


def _tools(rounds: int) -> Row:
    number = min(_CONNECTIONS)
    few, many = (_Subject(name, STATELESS, number) for name in ("few", "many"))
    with ExitStack() as stack:
        servers = Servers(stack)
        one, more = servers.ours(STATELESS), servers.ours(STATELESS, _MANY_TOOLS)
        connections = {
            few: (one, callers(stack, one.port, number, sessions=False)),
            many: (more, callers(stack, more.port, number, sessions=False)),
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
