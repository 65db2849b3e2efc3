"""The time and memory of a gateway to three servers beside other gateways, and a direct call.

One neutral client calls a tool of one of the servers through each of them alternately, in one
session of 2025-11-25. mcp-proxy takes only programs, and has a path for each of them.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from .http_load import Caller, load
from .http_requests import FIRST_ID, Requests
from .http_servers import Command, Server, Servers, free_port, processor_seconds
from .places import FASTMCP, MCP_PROXY, REVISION, package, sdk_python, tool
from .rows import Row, Unit
from .timing import interleave_loads

TOPIC: Final = "gateway"
ROUNDS: Final = 3

_OURS, _DIRECT, _BRIDGE = "mcp-gen gateway", "a direct call", "mcp-gen bridge to one"
_GOALS: Final = {1: {_BRIDGE: 1.15, _DIRECT: 1.8}, 64: {_BRIDGE: 1.15, _DIRECT: 2.2}}
"""By calls at once."""
_NO_GOALS: Final[Mapping[str, float]] = {}
# The calls by connections; fastmcp connects with all servers for each of its calls.
_TO_URLS: Final = {1: 20, 64: 64}
_TO_PROGRAMS: Final = {1: 300, 64: 640}
_NAMES: Final = ("a", "b", "c")


@dataclass(frozen=True, slots=True)
class _Gateway:
    server: Server
    requests: Requests
    session: str


def rows(rounds: int) -> Iterator[Row]:
    """Compare gateways to servers at URLs, then to programs."""
    with ExitStack() as stack:
        servers = Servers(stack)
        upstream = {name: servers.ours(REVISION) for name in _NAMES}
        config = {
            name: {"url": f"http://127.0.0.1:{server.port}/mcp"}
            for name, server in upstream.items()
        }
        file, port = write_config(stack, config), free_port()
        fastmcp: Command = [
            sdk_python(FASTMCP),
            "-m",
            "benchmarks.gateway_fastmcp",
            file,
            str(port),
        ]
        found = {
            _OURS: _ours(servers, file),
            "fastmcp, create_proxy": _begin_session(
                servers.listening(fastmcp, port), Requests(port, tool="a_echo")
            ),
            _BRIDGE: _bridge(servers, config["a"]["url"]),
            _DIRECT: _begin_session(upstream["a"], Requests(upstream["a"].port)),
        }
        yield from _compare("3 URLs", found, _TO_URLS, rounds)
    with ExitStack() as stack:
        servers = Servers(stack)
        program = {
            "command": str(sdk_python()),
            "args": ["-m", "benchmarks.http_stdio"],
            "env": {"PYTHONPATH": str(package())},
        }
        file, port = write_config(stack, dict.fromkeys(_NAMES, program)), free_port()
        proxy: Command = [sdk_python(MCP_PROXY).with_name("mcp-proxy"), "--port", str(port)]
        started = servers.listening([*proxy, "--named-server-config", file], port)
        found = {
            _OURS: _ours(servers, file),
            "mcp-proxy": _begin_session(started, Requests(port, path="/servers/a/mcp")),
        }
        yield from _compare("3 programs", found, _TO_PROGRAMS, rounds)


def write_config(stack: ExitStack, servers: Mapping[str, Any]) -> Path:
    """Write the configuration of a host for the time of a stack."""
    file = Path(stack.enter_context(TemporaryDirectory())) / "mcp.json"
    file.write_text(json.dumps({"mcpServers": servers}))
    return file


def start_gateway(servers: Servers, file: Path) -> Server:
    """Start our gateway to the servers of a file."""
    port = free_port()
    return servers.listening([tool("mcp-gen"), "gateway", file, "--http", str(port)], port)


def _ours(servers: Servers, file: Path) -> _Gateway:
    server = start_gateway(servers, file)
    return _begin_session(server, Requests(server.port, tool="a_echo"))


def _bridge(servers: Servers, url: str) -> _Gateway:
    port = free_port()
    command: Command = [tool("mcp-gen"), "bridge", "--to", url, "--http", str(port)]
    return _begin_session(servers.listening(command, port), Requests(port))


def _begin_session(server: Server, requests: Requests) -> _Gateway:
    with closing(Caller(server.port, requests)) as caller:
        return _Gateway(server, requests, caller.open_session())


def _compare(
    what: str, found: Mapping[str, _Gateway], wanted: Mapping[int, int], rounds: int
) -> Iterator[Row]:
    gateways = {name: gateway for name, gateway in found.items() if name != _DIRECT}
    for number, calls in wanted.items():
        spent: dict[str, list[float]] = {name: [] for name in found}
        loads = {
            name: partial(_each, gateway, number, calls, spent[name])
            for name, gateway in found.items()
        }
        each = interleave_loads(loads, rounds)
        yield from _rows(f"{what}, a call, {number} at once", each, "ms", _GOALS[number])
        worked = {name: sum(spent[name]) / (rounds * calls) for name in gateways}
        yield from _rows(f"{what}, processor time for it, {number} at once", worked, "ms")
    held = {name: float(gateway.server.memory()) for name, gateway in gateways.items()}
    yield from _rows(f"{what}, memory", held, "MiB")


def _each(gateway: _Gateway, number: int, calls: int, spent: list[float]) -> float:
    """Return the seconds of a call, and note the processor time of all of them."""
    # Connections to servers behind it have ended while others were measured.
    _call(gateway, number, calls, [])
    return _call(gateway, number, calls, spent)


def _call(gateway: _Gateway, number: int, calls: int, spent: list[float]) -> float:
    with ExitStack() as stack:
        # Not kept, as a server ends connections that wait for slower ones.
        port, first = gateway.server.port, FIRST_ID
        made = [Caller(port, gateway.requests, first + i * calls) for i in range(number)]
        for caller in made:
            stack.callback(caller.close)
            caller.prepare(gateway.session)
        before = processor_seconds(gateway.server.pid)
        each = load(made, calls).each
        spent.append(processor_seconds(gateway.server.pid) - before)
        return each


def _rows(
    what: str, found: Mapping[str, float], unit: Unit, goals: Mapping[str, float] = _NO_GOALS
) -> Iterator[Row]:
    for label, theirs in found.items():
        if label != _OURS:
            yield Row(TOPIC, what, found[_OURS], label, theirs, goals.get(label), unit)
