"""Foreign clients as processes, which visit one server after another, and the servers.

Importing an SDK takes longer than a visit: clients start once for all tests of a process, and
servers for those of a module.
"""

import asyncio
import json
import os
import re
import sys
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import Any, Final, TypeAlias, TypeVar, cast

from support import tables
from support.auth import browsing
from support.json_types import JsonObject
from support.patience import PATIENCE
from support.peers.http_peers import Served, serve_command
from support.peers.http_wire import Wire, wire_to
from support.peers.places import PROGRAMS, Command, node_modules, python_with

T = TypeVar("T")

Step = Sequence[Any]
"""The name of what a client does, and its arguments; `programs/driving.py` has them all."""

_MARK: Final = b"SEEN "

# A line has all results of a client's visit.
_LONGEST: Final = 2**24


def _python(environment: str, program: str) -> Callable[[], Command]:
    return lambda: (python_with(environment), PROGRAMS / program)


def _node(program: str, *arguments: str) -> Callable[[], Command]:
    return lambda: ("node", PROGRAMS / program, node_modules(), *arguments)


CLIENTS: Final[Mapping[str, Callable[[], Command]]] = {
    "mcp 1": _python("mcp-1", "mcp1_client.py"),
    "mcp 2": _python("mcp-2", "mcp2_client.py"),
    "fastmcp": _python("mcp-2", "fastmcp_client.py"),
    "fastmcp-tasks": _python("fastmcp-tasks", "fastmcp_client.py"),
    "TypeScript 1": _node("sdk_client.mjs", "1"),
    "TypeScript 2": _node("sdk_client.mjs", "2"),
    "ext-tasks": _node("ext_tasks_client.mjs"),
}
"""The commands of the clients, which skip where one cannot be installed."""


class Visitor:
    """A running foreign client."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def has_ended(self) -> bool:
        return self._process.returncode is not None

    async def visit(
        self,
        server: str | Command,
        steps: Sequence[Step],
        revision: str = "newest",
        oauth: JsonObject | None = None,
    ) -> tuple[JsonObject, str]:
        """Visit a server, by URL or command line; return the client's view and both outputs."""
        command = server if isinstance(server, str) else [str(word) for word in server]
        visit = {"server": command, "revision": revision, "steps": steps, "oauth": oauth}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(visit).encode() + b"\n")
        written: list[str] = []
        try:
            async with asyncio.timeout(PATIENCE):
                seen = await self._read_seen(written)
        except TimeoutError:
            self._process.kill()
            await self._process.wait()
            raise AssertionError(f"no end of {visit}: {''.join(written)}") from None
        return seen, "".join(written)

    async def _read_seen(self, written: list[str]) -> JsonObject:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            before, mark, seen = line.partition(_MARK)
            written.append(before.decode())
            if mark:
                found: JsonObject = json.loads(seen)
                return found
        raise AssertionError(f"the client has ended: {''.join(written)}")


@asynccontextmanager
async def _running(command: Command) -> AsyncGenerator[Visitor, None]:
    # Some open a page by themselves, and wait for the user to come back.
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
        limit=_LONGEST,
        env={**os.environ, "BROWSER": browsing.COMMAND},
    )
    try:
        yield Visitor(process)
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


class Visitors:
    """Clients for the tests of a process, and their event loop."""

    def __init__(self) -> None:
        self.runner = asyncio.Runner()
        self._open = AsyncExitStack()
        self._visitors: dict[str, Visitor] = {}

    async def visitor(self, name: str) -> Visitor:
        """Return one of `CLIENTS`."""
        if name not in self._visitors or self._visitors[name].has_ended:
            running = _running(CLIENTS[name]())
            self._visitors[name] = await self._open.enter_async_context(running)
        return self._visitors[name]

    def close(self) -> None:
        """End all."""
        with self.runner:
            self.runner.run(self._open.aclose())


class Peers:
    """Clients and servers for the tests of a module, on one event loop."""

    def __init__(self, visitors: Visitors) -> None:
        self.visitor = visitors.visitor
        self._runner = visitors.runner
        self._open = AsyncExitStack()
        self._servers: dict[tuple[object, ...], Served] = {}

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop, and return its result."""
        return self._runner.run(work)

    async def server(
        self, *command: str | Path, workers: int = 1, port: int | None = None
    ) -> Served:
        """Start a server over HTTP; arguments as for `served`."""
        key = workers, *command
        if key not in self._servers:
            running = serve_command(*command, workers=workers, port=port)
            self._servers[key] = await self._open.enter_async_context(running)
        return self._servers[key]

    async def enter(self, opened: AbstractAsyncContextManager[T]) -> T:
        """Enter a context until the tests of the module are over."""
        return await self._open.enter_async_context(opened)

    def close(self) -> None:
        """End the servers, and check the remaining output of ours."""
        self.run(self._open.aclose())
        for command, server in self._servers.items():
            if sys.executable in command:
                for trouble in ("Exception in ASGI application", "never retrieved"):
                    assert trouble not in server.errors, (command, server.errors)


@dataclass
class Visit:
    """A client's view of a server, the traffic, and the server's output."""

    seen: JsonObject
    wire: Wire
    errors: str


async def visit(
    peers: Peers,
    client: str,
    revision: str,
    server: Command,
    steps: Sequence[Step],
    *,
    path: str = "/mcp",
    cut_after: bytes | None = None,
    writes: str = "",
    workers: int = 1,
) -> Visit:
    """Let a client use a server over HTTP, which then `writes` something to standard error."""
    served = await peers.server(*server, workers=workers)
    before = len(served.errors)
    visitor = await peers.visitor(client)
    async with wire_to(served.port, cut_after=cut_after) as wire:
        url = f"http://127.0.0.1:{wire.port}{path}"
        seen, _ = await visitor.visit(url, steps, revision)
    await served.wrote(writes, before)
    return Visit(seen, wire, served.errors[before:])


_BESIDE_TEXT: Final = ("structuredContent", "asked", "progress", "statuses")


def brief(result: Any) -> Any:
    """Return the core of a result: names or URIs of listed items, texts, or the code of an error.

    A text with companions, or as an error for the model, is in an object.
    """
    match result:
        case [*listed]:
            return [
                entry.get("uri") or entry.get("uriTemplate") or entry["name"] for entry in listed
            ]
        case {"error": [code, _]}:
            return code
        case {"contents": blocks} | {"messages": blocks}:
            return "\n".join(block.get("content", block)["text"] for block in blocks)
        case {"values": values}:
            return values
        case {"content": blocks}:
            text = "\n".join(block["text"] for block in blocks if "text" in block)
            more = {name: result[name] for name in _BESIDE_TEXT if result.get(name)}
            if result.get("isError"):
                return {"failure": text, **more}
            return {"text": text, **more} if more else text
        case _:
            return result


Expected: TypeAlias = Any
"""What something has to be: anything, of a class, a text with something in it, or equal; of
objects, the members that are named."""


def fits(expected: Expected, found: Any) -> bool:
    match expected, found:
        case EllipsisType(), _:
            return True
        case type(), _:
            return isinstance(found, expected)
        case re.Pattern(pattern=str(pattern)), str(text):
            return re.search(pattern, text) is not None
        case dict(), dict():
            given = cast(JsonObject, found)
            members = cast(JsonObject, expected).items()
            return all(name in given and fits(member, given[name]) for name, member in members)
        case [*wanted], [*there]:
            return len(wanted) == len(there) and all(map(fits, wanted, there))
        case _:
            return bool(expected == found)


def check(
    client: str, seen: JsonObject, done: Sequence[tuple[Step, Expected]], **known: Any
) -> None:
    """Require the expected result of each step, and of the visit as a whole."""
    assert "failed" not in seen, seen["failed"]
    actual = {name: seen.get(name) for name in known}
    assert actual == known, (client, actual)
    for (step, expected), result in zip(done, seen["results"], strict=True):
        with tables.case((client, *step)):
            assert fits(expected, brief(result)), result
