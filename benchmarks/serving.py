"""The cost of a server over stdio: calls, calls at once, start, and memory.

One neutral client calls all servers alternately. Two are compared: the SDK's low-level server and
a bare loop without a protocol, which shows the cost of the pipes and `json`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from .places import environment, package, sdk_python
from .rows import Row
from .serve_load import Load, Server, start_server
from .timing import interleave

TOPIC = "serve"
ROUNDS = 7

_SERVERS = {"ours": "serve_ours.py", "sdk": "serve_sdk.py", "bare": "serve_bare.py"}
_SDK, _BARE = "mcp, low-level server", "readline and json"

_DEPTHS = (1, 16, 64)
_CALLS = {1: 400, 16: 1_500, 64: 1_500}
_WARM_UP = 200
# By depth: seconds for a call beside the SDK, and beside the bare loop.
_GOALS: Mapping[int, tuple[float | None, float | None]] = {
    1: (1 / 4.5, 1 / 0.4),
    16: (None, None),
    64: (1 / 20, 2.2),
}


def rows(rounds: int) -> Iterator[Row]:
    """Compare servers under load, their start, and their memory after many calls."""
    yield from _loads(rounds)
    yield from _starts(rounds)
    yield _memory()


def _command(name: str) -> list[str | Path]:
    return [sdk_python(), Path(__file__).with_name(_SERVERS[name])]


def _versions() -> dict[str, str]:
    return environment(PYTHONPATH=str(package()))


def _loads(rounds: int) -> Iterator[Row]:
    taken: dict[tuple[str, int], list[Load]] = {}
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(start_server(_command(name), _versions()))
            for name in _SERVERS
        }
        for server in servers.values():
            server.hello()
            server.load(_WARM_UP, 8)
        for _ in range(rounds):
            for depth in _DEPTHS:
                for name, server in servers.items():
                    taken.setdefault((name, depth), []).append(server.load(_CALLS[depth], depth))
    each = {key: median(load.each for load in loads) for key, loads in taken.items()}
    p99 = {key: median(load.p99 for load in loads) for key, loads in taken.items()}
    for depth in _DEPTHS:
        what = "a call, one at a time" if depth == 1 else f"a call, {depth} in flight"
        for name, label, goal in zip(("sdk", "bare"), (_SDK, _BARE), _GOALS[depth], strict=True):
            yield Row(TOPIC, what, each["ours", depth], label, each[name, depth], goal, "µs")
    yield Row(TOPIC, "99th percentile, 64 in flight", p99["ours", 64], _SDK, p99["sdk", 64], 0.1)


def _starts(rounds: int) -> Iterator[Row]:
    firsts: dict[str, Callable[[Server], None]] = {
        "start to the first answer": Server.hello,
        "start to the first tools/call": _first_call,
    }
    for what, first in firsts.items():
        actions = {name: _starting(name, first) for name in ("ours", "sdk")}
        taken = {name: median(times) for name, times in interleave(actions, rounds).items()}
        goal = 0.28 if first is Server.hello else None
        yield Row(TOPIC, what, taken["ours"], _SDK, taken["sdk"], goal)


def _first_call(server: Server) -> None:
    server.hello()
    server.call()


def _starting(name: str, first: Callable[[Server], None]) -> Callable[[], None]:
    command, seen = _command(name), _versions()

    def start() -> None:
        with start_server(command, seen) as server:
            first(server)

    return start


def _memory() -> Row:
    with start_server(_command("ours"), _versions()) as server:
        server.hello()
        server.load(10_000, 64)
        before = server.memory()
        server.load(90_000, 64)
        after = server.memory()
    what = "memory after 100,000 calls"
    return Row(TOPIC, what, after, "after 10,000", before, 1.05, "MiB")
