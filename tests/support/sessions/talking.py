"""Sessions for tests: the committed package, and one end of a connection played by hand."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any, cast

from support.coroutines import run as run
from support.revisions import OLD, STATELESS

pkg: Any = import_module("mcp_revisions")

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META: dict[str, Any] = {VERSION: STATELESS, CAPABILITIES: {}}


def runtime(module: str) -> Any:
    """A module of the runtime that came with the package."""
    return import_module(f"mcp_revisions._runtime.{module}")


def models(revision: str) -> Any:
    """The models of a revision."""
    return pkg.load(revision).models


def stub(base: Any, **members: Any) -> Any:
    """An instance of a stub that has these handlers and attributes."""
    return type("Ours", (base,), members)()


def server(revision: str, **members: Any) -> Any:
    """A server of a revision with these handlers and attributes."""
    return stub(pkg.load(revision).Server, **members)


def client(revision: str, **members: Any) -> Any:
    """A client of a revision with these handlers and attributes."""
    return stub(pkg.load(revision).Client, **members)


def tools(revision: str, call: Callable[[Any, Any], Awaitable[Any]], **members: Any) -> Any:
    """A server whose tools are all `call`, which gets the session and the params.

    What it gives as text is the text of the result.
    """
    m = models(revision)

    async def on_call_tool(self: Any, session: Any, params: Any) -> Any:
        said = await call(session, params)
        if not isinstance(said, str):
            return said
        return m.CallToolResult(content=[m.TextContent(text=said)])

    return server(revision, on_call_tool=on_call_tool, **members)


def named(revision: str, name: str, **members: Any) -> Any:
    """The params of a tool call."""
    return models(revision).CallToolRequestParams(name=name, **members)


class Hand:
    """One end of a connection, played by hand in JSON."""

    def __init__(self, transport: Any) -> None:
        self.transport = transport
        self._come: list[Any] = []

    async def send(self, *messages: Any) -> None:
        """Send messages; bytes go as they are."""
        await self.transport.send(
            [one if isinstance(one, bytes) else json.dumps(one).encode() for one in messages]
        )

    async def take(self) -> Any:
        """The next message; None at the end."""
        while not self._come:
            received = await self.transport.receive()
            if not received:
                return None
            self._come += map(json.loads, received)
        return self._come.pop(0)

    async def ask(self, method: str, id: Any = 1, **params: Any) -> Any:
        """Send a request and take the next message."""
        await self.send(request(method, id, **params))
        return await self.take()

    async def nothing(self, seconds: float = 0.05) -> bool:
        """Whether nothing comes for a while."""
        try:
            async with asyncio.timeout(seconds):
                self._come.insert(0, await self.take())
        except TimeoutError:
            return True
        return False


def request(method: str, id: Any = 1, **params: Any) -> dict[str, Any]:
    """A request as JSON."""
    message: dict[str, Any] = {"jsonrpc": "2.0", "id": id, "method": method}
    return {**message, "params": params} if params else message


def notification(method: str, **params: Any) -> dict[str, Any]:
    """A notification as JSON."""
    message = {"jsonrpc": "2.0", "method": method}
    return {**message, "params": params} if params else message


def modern(method: str, id: Any = 1, revision: str = STATELESS, **params: Any) -> dict[str, Any]:
    """A request of the stateless era as JSON."""
    return request(method, id, **{"_meta": {**META, VERSION: revision}, **params})


def hello(version: str = OLD, id: Any = 0, **capabilities: Any) -> dict[str, Any]:
    """`initialize` as JSON."""
    info = {"name": "hand", "version": "1"}
    return request(
        "initialize", id, protocolVersion=version, capabilities=capabilities, clientInfo=info
    )


INITIALIZED = notification("notifications/initialized")


@asynccontextmanager
async def served(
    servers: Any, *, revisions: Any = None, **options: Any
) -> AsyncGenerator[Hand, None]:
    """The client's end of a connection to servers, before anything was said."""
    ours, theirs = runtime("transports.memory").memory_pair()
    listed = cast(Any, servers) if isinstance(servers, Iterable) else [servers]
    chosen = pkg.Options(**options)
    serving = asyncio.create_task(pkg.serve(listed, theirs, revisions=revisions, options=chosen))
    try:
        yield Hand(ours)
    finally:
        await ours.close()
        await serving


@asynccontextmanager
async def shaken(servers: Any, version: str = OLD, **options: Any) -> AsyncGenerator[Hand, None]:
    """The same after a handshake."""
    async with served(servers, **options) as hand:
        await hand.send(hello(version, elicitation={}, sampling={}, roots={}))
        assert (await hand.take())["result"]["protocolVersion"] == version
        await hand.send(INITIALIZED)
        yield hand


class Accepting:
    """Opens connections whose server's ends are played by hand; give it to `connect`."""

    def __init__(self, play: Callable[[Hand], Awaitable[None]]) -> None:
        self.play = play
        self.opened = 0

    async def __call__(self) -> Any:
        ours, theirs = runtime("transports.memory").memory_pair()
        self.opened += 1

        async def playing() -> None:
            try:
                await self.play(Hand(theirs))
            finally:
                await theirs.close()

        ours.serving = asyncio.create_task(playing())
        return ours


def welcome(id: Any, version: str = OLD, **capabilities: Any) -> dict[str, Any]:
    """The result of `initialize` as JSON."""
    info = {"name": "hand", "version": "1"}
    result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    return {"jsonrpc": "2.0", "id": id, "result": result}


def discovered(id: Any, *versions: str, **capabilities: Any) -> dict[str, Any]:
    """The result of `server/discover` as JSON."""
    result = {
        "resultType": "complete",
        "supportedVersions": versions or [STATELESS],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "public",
    }
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error(id: Any, code: int, message: str = "no", data: Any = None) -> dict[str, Any]:
    """An error as JSON."""
    described = {"code": code, "message": message}
    return {
        "jsonrpc": "2.0",
        "id": id,
        "error": described if data is None else {**described, "data": data},
    }
