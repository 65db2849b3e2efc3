"""The time and memory of a bridge beside bridges of npm: calls, start, memory.

One neutral client calls the same server through each of them alternately: from standard input to a
server over HTTP, and over HTTP to a server that is a program. All speak 2025-11-25.
"""

import shlex
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from http.client import HTTPResponse
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from .http_requests import FIRST_ID, Requests
from .http_servers import Command, Servers, free_port
from .places import REVISION, environment, node_tools, package, sdk_python, tool
from .rows import Row, Unit
from .serve_load import Server, start_server
from .timing import interleave, interleave_loads

TOPIC: Final = "bridge"
ROUNDS: Final = 5

_OURS: Final = "ours"
_DEPTHS: Final = {1: 150, 16: 400}
_WARM_UP: Final = 300
_CALLS: Final = 100
_STARTS: Final = 3
# Seconds until a bridge must answer.
_PATIENCE: Final = 30.0


def rows(rounds: int) -> Iterator[Row]:
    """Compare bridges in both directions; return no rows without Node."""
    found = node_tools()
    if found is None:
        print("bridge: left out, as there is no npm", file=sys.stderr)
        return
    with ExitStack() as stack:
        url = f"http://127.0.0.1:{Servers(stack).ours(REVISION).port}/mcp"
        remote = found / "mcp-remote" / "dist" / "proxy.js"
        gateway = found / "supergateway" / "dist" / "index.js"
        to_http: dict[str, Command] = {
            _OURS: [tool("mcp-gen"), "bridge", "--to", url],
            "mcp-remote": ["node", remote, url, "--silent"],
            "supergateway": ["node", gateway, "--streamableHttp", url, "--logLevel", "none"],
        }
        yield from _calls_from_stdio(to_http, rounds)
        yield from _starts(to_http)
    yield from _calls_over_http(gateway, rounds)


def _calls_from_stdio(commands: Mapping[str, Command], rounds: int) -> Iterator[Row]:
    with ExitStack() as stack:
        servers = {
            name: stack.enter_context(start_server(command, environment()))
            for name, command in commands.items()
        }
        for server in servers.values():
            server.hello()
            server.load(_WARM_UP, 1)
        for depth, number in _DEPTHS.items():
            loads = {
                name: partial(_each, server, number, depth) for name, server in servers.items()
            }
            how = "one at a time" if depth == 1 else f"{depth} in flight"
            yield from _rows(f"stdio to HTTP, a call, {how}", interleave_loads(loads, rounds), "ms")
        held = {name: float(server.memory()) for name, server in servers.items()}
    yield from _rows("stdio to HTTP, memory", held, "MiB")


def _each(server: Server, number: int, depth: int) -> float:
    return server.load(number, depth).each


def _starts(commands: Mapping[str, Command]) -> Iterator[Row]:
    def start(command: Command) -> None:
        with start_server(command, environment()) as server:
            server.hello()
            server.call()

    actions = {name: partial(start, command) for name, command in commands.items()}
    taken = {name: median(times) for name, times in interleave(actions, _STARTS).items()}
    yield from _rows("stdio to HTTP, start to the first result", taken, "ms")


def _calls_over_http(gateway: Path, rounds: int) -> Iterator[Row]:
    # Our bridge has a package of the same name, and must not find this one.
    path = f"PYTHONPATH={package()}"
    program = shlex.join(["env", path, str(sdk_python()), "-m", "benchmarks.http_stdio"])
    ports = {name: free_port() for name in (_OURS, "supergateway")}
    commands: dict[str, Command] = {
        _OURS: [
            *(tool("mcp-gen"), "bridge", "--to", program, "--inherit"),
            *("--http", str(ports[_OURS])),
        ],
        "supergateway": [
            *("node", gateway, "--stdio", program, "--outputTransport", "streamableHttp"),
            *("--stateful", "--port", str(ports["supergateway"]), "--logLevel", "none"),
        ],
    }
    with ExitStack() as stack:
        servers = Servers(stack)
        loads: dict[str, Callable[[], float]] = {}
        for name, command in commands.items():
            servers.listening(command, ports[name])
            client = stack.enter_context(closing(_Client(ports[name])))
            client.call(_WARM_UP)
            loads[name] = partial(client.call, _CALLS)
        each = interleave_loads(loads, rounds)
    yield from _rows("HTTP to stdio, a call, one at a time", each, "ms")


class _Client:
    """A session over HTTP, whose answers may be plain or streams of events."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE)
        requests = Requests(port)
        session = self._ask(requests.initialize(), 200).getheader("mcp-session-id")
        if session is None:
            raise RuntimeError("a bridge has begun no session")
        self._ask(requests.initialized_notification(session), 202)
        self._call = requests.call_in_session(session)

    def _ask(self, request: bytes, status: int) -> HTTPResponse:
        self._socket.sendall(request)
        response = HTTPResponse(self._socket, method="POST")
        response.begin()
        body = response.read()
        if response.status != status or (status == 200 and b'"result"' not in body):
            raise RuntimeError(f"a bridge answers {response.status}: {body[:200]!r}")
        return response

    def call(self, number: int) -> float:
        """Call that often; return the seconds of one call."""
        begun = perf_counter()
        for id in range(FIRST_ID, FIRST_ID + number):
            self._ask(self._call % id, 200)
        return (perf_counter() - begun) / number

    def close(self) -> None:
        self._socket.close()


def _rows(what: str, found: Mapping[str, float], unit: Unit) -> Iterator[Row]:
    for label, theirs in found.items():
        if label != _OURS:
            yield Row(TOPIC, what, found[_OURS], label, theirs, None, unit)
