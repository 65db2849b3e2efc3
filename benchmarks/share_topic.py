"""The cost of sharing sessions, streams and changes, beside workers that share nothing.

Each worker is a process with its own port, as on its own machine, and each connection goes to one
of them. A shared session begins at one worker and is used at another. The time of a call is the
processor time of the workers for it, divided by their number: as if each had its own processor.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from statistics import median
from time import sleep
from typing import Final, NamedTuple, TypeAlias

from . import share_restarts
from .http_load import Caller, load
from .http_requests import FIRST_ID, STATELESS
from .http_servers import Server, Servers
from .places import REVISION
from .rows import Row
from .share_engines import Engine, commands, engines, stored_bytes
from .share_streams import Publisher, Stream, open_sessions, open_streams, time_to_last
from .timing import Action, interleave

TOPIC = "share"
ROUNDS = 5

_ALONE, _WORKER = "not shared", "a worker that shares nothing"

_KINDS: Final = {STATELESS: STATELESS, REVISION: "in a session"}
_NUMBERS: Final = (1, 2, 4)
_CONNECTIONS, _CALLS, _WARM_UP = 32, 1_600, 800
_CALL_GOALS: Final = {STATELESS: 1.05, REVISION: 1.25}
# The load client needs one of the two processors.
_SCALING_GOALS: Final = {2: 1 / 1.7}

_SOME: Final = 100
"""The calls that follow one another, and those whose commands are counted."""
_SESSIONS, _FIRST_SESSIONS = 1_000, 300
_STREAMS, _PUBLISHED = 10_000, 3

_LEASE: Final = 10.0
_LONG: Final = 3600.0
"""A lease that is not renewed while commands are counted."""
_SHORT, _LOOKS = 2.0, 6
"""A lease in which silent streams are looked at, and how often."""
_PAUSE: Final = 0.5

_Fleets: TypeAlias = Mapping[str, Sequence[Server]]
"""Workers that share by one engine, by its name."""


class _Subject(NamedTuple):
    """A number of workers that share an engine, or nothing, in one revision."""

    engine: str
    revision: str
    workers: int


def rows(rounds: int) -> Iterator[Row]:
    """Compare workers that share each available engine with workers that share nothing."""
    with ExitStack() as stack:
        found = engines(stack)
        with ExitStack() as serving:
            fleets = {_ALONE: _fleet(serving)}
            fleets |= {name: _fleet(serving, engine) for name, engine in found.items()}
            yield from _loads(fleets, rounds)
            yield from _compare_single_calls(fleets, rounds)
        if (redis := found.get("Redis")) is not None:
            yield from _commands(redis)
            yield from _idle_commands(redis)
            yield from _publish(redis)
        yield from _memory(found)
        if redis is not None:
            yield from share_restarts.rows(redis, share_restarts.Plan())


def _fleet(
    stack: ExitStack,
    engine: Engine | None = None,
    number: int = max(_NUMBERS),
    lease: float = _LEASE,
) -> list[Server]:
    shared = () if engine is None else (engine.url, str(lease))
    line: list[str | Path] = [sys.executable, "-m", "benchmarks.share_worker", *shared]
    return [Servers(stack).of(line) for _ in range(number)]


# Many calls at once.


def _loads(fleets: _Fleets, rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        asked = {
            (subject := _Subject(name, revision, number)): _callers(stack, subject, fleet[:number])
            for revision in _KINDS
            for number in _NUMBERS
            for name, fleet in fleets.items()
        }
        taken = {subject: list[float]() for subject in asked}
        for calls in (_WARM_UP, *[_CALLS] * rounds):
            for subject, connections in asked.items():
                servers = fleets[subject.engine][: subject.workers]
                computed = _computed_for(servers, connections, calls)
                taken[subject].append(computed / subject.workers)
    # The first one warms up.
    times = {subject: median(samples[1:]) for subject, samples in taken.items()}
    for subject in times:
        yield from _rows_of(subject, times)


def _callers(stack: ExitStack, subject: _Subject, servers: Sequence[Server]) -> list[Caller]:
    made = list[Caller]()
    for i in range(_CONNECTIONS):
        caller = Caller(servers[i % len(servers)].port)
        stack.callback(caller.close)
        beside = servers[(i + (subject.engine != _ALONE)) % len(servers)]
        with closing(Caller(beside.port)) as begins:
            caller.prepare(begins.open_session() if subject.revision == REVISION else None)
        made.append(caller)
    return made


def _computed_for(servers: Sequence[Server], connections: Sequence[Caller], calls: int) -> float:
    """Return the processor seconds of all workers for each of that many calls."""
    before = sum(map(_processor_seconds, servers))
    load(connections, calls)
    return (sum(map(_processor_seconds, servers)) - before) / calls


def _processor_seconds(server: Server) -> float:
    """Return the processor seconds of the main thread of a process."""
    return int(Path(f"/proc/{server.pid}/schedstat").read_text().split()[0]) / 1e9


def _rows_of(subject: _Subject, times: Mapping[_Subject, float]) -> Iterator[Row]:
    time, number = times[subject], subject.workers
    workers = "1 worker" if number == 1 else f"{number} workers"
    what = f"a call, {_KINDS[subject.revision]}, {workers}, {subject.engine}"
    if subject.engine != _ALONE:
        alone = times[subject._replace(engine=_ALONE)]
        yield Row(TOPIC, what, time, _ALONE, alone, _CALL_GOALS[subject.revision], "µs")
    if number > 1:
        one = times[subject._replace(workers=1)]
        yield Row(TOPIC, what, time, "1 worker", one, _SCALING_GOALS.get(number), "µs")


# One call after another.


def _compare_single_calls(fleets: _Fleets, rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        saying = {name: _saying(stack, fleet) for name, fleet in fleets.items()}
        begun = {name: _beginning(stack, name, fleet) for name, fleet in fleets.items()}
        for what, actions in (
            ("a call with a report before its answer", saying),
            ("a session begun at one worker, called at another", begun),
        ):
            samples = interleave(actions, 2 * rounds)
            times = {name: median(taken) / _SOME for name, taken in samples.items()}
            for name, time in times.items():
                if name != _ALONE:
                    yield Row(TOPIC, f"{what}, {name}", time, _ALONE, times[_ALONE], None, "µs")


def _saying(stack: ExitStack, servers: Sequence[Server]) -> Action:
    stream = stack.enter_context(closing(Stream(servers[0].port)))
    (session,) = open_sessions([stream])
    call, ids = stream.requests.streamed_call(session), count(FIRST_ID)

    def say() -> None:
        for _ in range(_SOME):
            if b'"result"' not in stream.read_stream(call % next(ids)):
                raise RuntimeError("a call that reports has failed")

    return say


def _beginning(stack: ExitStack, engine: str, servers: Sequence[Server]) -> Action:
    first, second = servers[0], servers[0 if engine == _ALONE else 1]
    callers = [stack.enter_context(closing(Caller(fleet.port))) for fleet in (first, second)]

    def begin() -> None:
        for _ in range(_SOME):
            callers[1].prepare(callers[0].open_session())
            callers[1].answer()

    return begin


# Commands and contents of engines.


def _commands(engine: Engine) -> Iterator[Row]:
    with ExitStack() as stack:
        servers = _fleet(stack, engine, 2, _LONG)
        begin = _beginning(stack, "", servers)
        say = _saying(stack, servers)
        caller = Caller(servers[1].port)
        stack.callback(caller.close)
        with closing(Caller(servers[0].port)) as begins:
            caller.prepare(begins.open_session())

        def call() -> None:
            for _ in range(_SOME):
                caller.answer()

        for what, action, most in (
            ("plain calls in a session", call, 0.0),
            ("calls with a report before their answers", say, 1.0),
            ("sessions begun at one worker, called at another", begin, None),
        ):
            action()
            sleep(_PAUSE)
            before = commands(engine)
            action()
            sleep(_PAUSE)
            sent = commands(engine) - before
            yield Row(
                TOPIC, f"commands of Redis for {_SOME} {what}", sent, "1 each", _SOME, most, ""
            )


def _idle_commands(engine: Engine) -> Iterator[Row]:
    with ExitStack() as stack:
        (server,) = _fleet(stack, engine, 1, _SHORT)
        open_streams(stack, [server.port], _SESSIONS, sessions=True)
        sleep(2 * _SHORT)
        before = commands(engine)
        sleep(_LOOKS * _SHORT / 2)
        sent = commands(engine) - before
    what = f"commands of Redis for {_SESSIONS:,} silent streams in {_LOOKS} half leases"
    yield Row(TOPIC, what, sent, "1 each", _SESSIONS * _LOOKS, 0.01, "")


def _memory(found: Mapping[str, Engine]) -> Iterator[Row]:
    for what, grow in (("idle sessions", _open_idle), ("open streams", _open_streams)):
        grown, stored = dict[str, float](), dict[str, float]()
        for name, engine in {_ALONE: None, **found}.items():
            with ExitStack() as stack:
                (server,) = _fleet(stack, engine, 1)
                grow(stack, server, _FIRST_SESSIONS)
                before, kept_before = server.memory(), stored_bytes(engine)
                grow(stack, server, _SESSIONS)
                grown[name] = server.memory() - before
                stored[name] = stored_bytes(engine) - kept_before
        size, alone = f"memory for {_SESSIONS:,} {what}", grown[_ALONE]
        for name in found:
            yield Row(TOPIC, f"{size}, in {name}", stored[name], _WORKER, alone, None, "MiB")
            own = grown[name]
            yield Row(TOPIC, f"{size}, in a worker, {name}", own, _WORKER, alone, None, "MiB")


def _open_idle(stack: ExitStack, server: Server, number: int) -> None:
    with closing(Caller(server.port)) as caller:
        for _ in range(number):
            caller.open_session()


def _open_streams(stack: ExitStack, server: Server, number: int) -> None:
    """Open sessions, each with a stream, on connections that stay open."""
    open_streams(stack, [server.port], number, sessions=True)


# Changes for all clients.


def _publish(engine: Engine) -> Iterator[Row]:
    for what, sessions in (("streams of sessions", True), ("listen streams", False)):
        times = list[float]()
        for shared in (None, engine):
            with ExitStack() as stack:
                servers = _fleet(stack, shared)
                ports = [server.port for server in servers]
                streams = open_streams(stack, ports, _STREAMS, sessions=sessions)
                # Workers that share publish once; otherwise each one publishes.
                publishing = ports if shared is None else ports[:1]
                publisher = Publisher(stack, publishing, sessions=sessions)
                times.append(median(_time_to_hear(streams, publisher) for _ in range(_PUBLISHED)))
        alone, time = times
        what = f"a change, until {_STREAMS:,} {what} of {max(_NUMBERS)} workers have it"
        yield Row(TOPIC, what, time, _ALONE, alone, None)
        yield Row(
            TOPIC, "its part of each stream", time / _STREAMS, _ALONE, alone / _STREAMS, None, "µs"
        )


def _time_to_hear(streams: Sequence[Stream], publisher: Publisher) -> float:
    time = time_to_last(streams, publisher.publish)
    publisher.await_results()
    return time
