"""The growth of a server that answers for long: its memory after many calls, beside the first few.

Our server answers over stdio, and over HTTP: there half of the calls come in sessions, the others
in 2026-07-28, which is translated, and in each round some sessions end and others begin. The same
calls then go through a gateway. The memory is printed as it goes.
"""

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Final, TypeAlias

from .gateway_topic import start_gateway, write_config
from .http_load import callers, load
from .http_servers import Servers
from .places import REVISION, environment, package, sdk_python
from .rows import Row
from .serve_load import start_server

TOPIC = "soak"
ROUNDS = 100

_CALLS: Final = 10_000
"""The calls of one round. The first round is not counted: much is made once, when it is needed."""
_ROUNDS_OF_GATEWAY: Final = 20
_MOST: Final = 1.02
"""The highest memory at the end, as a ratio to that after the first round."""
_POINTS: Final = 20
_CONNECTIONS: Final = 8
_DEPTHS: Final = (1, 16, 64)

_Server: TypeAlias = tuple[Callable[[], object], Callable[[], int]]
"""Makes the calls of one round, and returns the memory of the server in bytes."""


def rows(rounds: int) -> Iterator[Row]:
    """Compare the memory of a server after that many rounds with that after one."""
    rounds = max(rounds, 2)
    yield _row("over stdio", _over_stdio, rounds)
    yield _row("over HTTP", _over_http, rounds)
    yield _row("through a gateway", _through_gateway, min(rounds, _ROUNDS_OF_GATEWAY))


def _row(how: str, soaking: Callable[[], AbstractContextManager[_Server]], rounds: int) -> Row:
    with soaking() as (call, memory):
        call()
        first = last = memory()
        for done in range(2, rounds + 1):
            call()
            last = memory()
            if done in (2, rounds) or done % max(rounds // _POINTS, 1) == 0:
                grown = f"{last / 2**20:.1f} MiB, {last / first - 1:+.1%}"
                print(f"{how}, {done * _CALLS:,} calls: {grown}", file=sys.stderr)
    what = f"memory after {rounds * _CALLS:,} calls {how}"
    return Row(TOPIC, what, last, f"after {_CALLS:,}", first, _MOST, "MiB")


@contextmanager
def _over_stdio() -> Generator[_Server, None, None]:
    command: list[str | Path] = [sdk_python(), Path(__file__).with_name("serve_ours.py")]
    with start_server(command, environment(PYTHONPATH=str(package()))) as server:
        server.hello()

        def call() -> None:
            for depth in _DEPTHS:
                server.load(_CALLS // len(_DEPTHS), depth)

        yield call, server.memory


@contextmanager
def _over_http() -> Generator[_Server, None, None]:
    with ExitStack() as stack:
        server = Servers(stack).ours(REVISION, 1, "--all")
        yield _calls_at(stack, server.port), server.memory


@contextmanager
def _through_gateway() -> Generator[_Server, None, None]:
    with ExitStack() as stack:
        servers = Servers(stack)
        url = f"http://127.0.0.1:{servers.ours(REVISION, 1, '--all').port}/mcp"
        own = {"prefix": "", "max_connections": 100}
        file = write_config(stack, {"soaked": {"url": url, "x-gateway": own}})
        gateway = start_gateway(servers, file)
        yield _calls_at(stack, gateway.port), gateway.memory


def _calls_at(stack: ExitStack, port: int) -> Callable[[], None]:
    """Return a function that makes the calls of one round over HTTP."""
    alone = callers(stack, port, _CONNECTIONS, sessions=False)
    inside = callers(stack, port, _CONNECTIONS, sessions=False)

    def call() -> None:
        sessions = [caller.open_session() for caller in inside]
        for caller, session in zip(inside, sessions, strict=True):
            caller.prepare(session)
        load([*alone, *inside], _CALLS)
        for caller, session in zip(inside, sessions, strict=True):
            caller.end_session(session)

    return call
