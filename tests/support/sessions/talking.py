"""Sessions for tests: the committed package, and one end of a connection played by hand."""

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from types import ModuleType
from typing import Any, TypeAlias, TypeVar, cast

import mcp_revisions
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Client, Server, Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, ElicitRequestFormParams
from support.coroutines import run as run
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS

AnyServer: TypeAlias = ServerBase[Any] | type[ServerBase[Any]]
Servers: TypeAlias = AnyServer | Iterable[AnyServer]
Tool: TypeAlias = (
    Callable[[Session, CallToolRequestParams], Awaitable[object]]
    | Callable[[stateless.Session, stateless.models.CallToolRequestParams], Awaitable[object]]
)
T = TypeVar("T")

pkg = mcp_revisions

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META: JsonObject = {VERSION: STATELESS, CAPABILITIES: {}}


def whose(session: Any) -> str | None:
    """Return the principal's id of a request."""
    return None if session.principal is None else str(session.principal.id)


def models(revision: str) -> ModuleType:
    return cast(ModuleType, pkg.load(revision).models)


def stub(base: type[T], **members: object) -> T:
    """Return an instance of a stub with these handlers and attributes."""
    return cast(type[T], type("Ours", (base,), members))()


def server(revision: str, **members: object) -> Server:
    return stub(cast(type[Server], pkg.load(revision).Server), **members)


def client(revision: str, **members: object) -> Client:
    return stub(cast(type[Client], pkg.load(revision).Client), **members)


def tools(revision: str, call: Tool, **members: object) -> Server:
    """Return a server whose tools all run `call` with the session and the params.

    Text from it becomes the text of the result.
    """
    m = models(revision)

    async def on_call_tool(self: object, session: Json, params: Json) -> object:
        said = await call(session, params)
        if not isinstance(said, str):
            return said
        return m.CallToolResult(content=[m.TextContent(text=said)])

    return server(revision, on_call_tool=on_call_tool, **members)


def call_params(revision: str, name: str, **members: object) -> CallToolRequestParams:
    params: CallToolRequestParams = models(revision).CallToolRequestParams(name=name, **members)
    return params


def entry(peer: Any, method: str) -> Any:
    """Return the table entry of a request, also of one that only travels in results."""
    return peer.TABLE.requests.get(method) or peer.TABLE.input_requests[method]


def content_of(result: object) -> Json:
    return cast(Any, result).content


FORM = {"type": "object", "properties": {"x": {"type": "string"}}}


def form(message: str, revision: str = OLD) -> ElicitRequestFormParams:
    m = models(revision)
    kind = getattr(m, "ElicitRequestFormParams", None) or m.ElicitRequestParams
    params: ElicitRequestFormParams = kind(message=message, requested_schema=FORM)
    return params


async def ask_form(session: Any, message: str = "?") -> str:
    """Ask a client to fill in a form; return what it writes as `x`."""
    asked = form(message, session.TABLE.revision)
    answer = await session.request(entry(session, "elicitation/create"), asked)
    return str(content_of(answer)["x"])


class Hand:
    """One end of a connection, played by hand in JSON."""

    def __init__(self, transport: pkg.Transport) -> None:
        self.transport = transport
        self._come: list[Json] = []

    async def send(self, *messages: object) -> None:
        """Send messages; bytes stay as they are."""
        await self.transport.send(
            [
                message if isinstance(message, bytes) else json.dumps(message).encode()
                for message in messages
            ]
        )

    async def take(self) -> Json:
        """Return the next message; None at the end."""
        while not self._come:
            received = await self.transport.receive()
            if not received:
                return None
            self._come += [json.loads(data) for data in received if isinstance(data, bytes)]
        return self._come.pop(0)

    async def ask(self, method: str, id: object = 1, **params: object) -> Json:
        """Send a request and take the next message."""
        await self.send(request(method, id, **params))
        return await self.take()

    async def greet(self, version: str = OLD, **capabilities: object) -> Json:
        """Shake hands as a client; return what the server says."""
        await self.send(hello(version, **capabilities))
        said = (await self.take())["result"]
        await self.send(INITIALIZED)
        return said

    async def is_silent(self, seconds: float = 0.05) -> bool:
        """Return whether no message comes for a while."""
        try:
            async with asyncio.timeout(seconds):
                self._come.insert(0, await self.take())
        except TimeoutError:
            return True
        return False


def request(method: str, id: object = 1, **params: object) -> JsonObject:
    message: JsonObject = {"jsonrpc": "2.0", "id": id, "method": method}
    return {**message, "params": params} if params else message


def notification(method: str, **params: object) -> JsonObject:
    message = {"jsonrpc": "2.0", "method": method}
    return {**message, "params": params} if params else message


def modern(method: str, id: object = 1, revision: str = STATELESS, **params: object) -> JsonObject:
    """A request of the stateless era as JSON."""
    return request(method, id, **{"_meta": {**META, VERSION: revision}, **params})


def hello(version: str = OLD, id: object = 0, **capabilities: object) -> JsonObject:
    """`initialize` as JSON."""
    info = {"name": "hand", "version": "1"}
    return request(
        "initialize", id, protocolVersion=version, capabilities=capabilities, clientInfo=info
    )


INITIALIZED = notification("notifications/initialized")


@asynccontextmanager
async def serve_by_hand(
    servers: Servers, *, revisions: Iterable[Revision] | None = None, **options: Any
) -> AsyncGenerator[Hand, None]:
    """Serve; yield the client's end of a connection before any message."""
    ours, theirs = memory_pair()
    chosen = pkg.Options(**options)
    serving = asyncio.create_task(pkg.serve(servers, theirs, revisions=revisions, options=chosen))
    try:
        yield Hand(ours)
    finally:
        await ours.close()
        await serving


@asynccontextmanager
async def shaken(
    servers: Servers, version: str = OLD, **options: Any
) -> AsyncGenerator[Hand, None]:
    """Serve; yield the client's end after a handshake."""
    async with serve_by_hand(servers, **options) as hand:
        said = await hand.greet(version, elicitation={}, sampling={}, roots={})
        assert said["protocolVersion"] == version
        yield hand


class Accepting:
    """An opener of connections whose server ends are played by hand; an argument for `connect`."""

    def __init__(self, play: Callable[[Hand], Awaitable[None]]) -> None:
        self.play = play
        self.opened = 0

    async def __call__(self) -> pkg.Transport:
        ours, theirs = memory_pair()
        self.opened += 1

        async def playing() -> None:
            try:
                await self.play(Hand(theirs))
            finally:
                await theirs.close()

        ours.serving = asyncio.create_task(playing())
        return cast(pkg.Transport, ours)


def welcome(id: object, version: str = OLD, **capabilities: object) -> JsonObject:
    """The result of `initialize` as JSON."""
    info = {"name": "hand", "version": "1"}
    result = {"protocolVersion": version, "capabilities": capabilities, "serverInfo": info}
    return {"jsonrpc": "2.0", "id": id, "result": result}


def discover_result(id: object, *versions: str, **capabilities: object) -> JsonObject:
    result = {
        "resultType": "complete",
        "supportedVersions": versions or [STATELESS],
        "capabilities": capabilities,
        "ttlMs": 0,
        "cacheScope": "public",
    }
    return {"jsonrpc": "2.0", "id": id, "result": result}


def error(id: object, code: int, message: str = "no", data: object = None) -> JsonObject:
    described = {"code": code, "message": message}
    return {
        "jsonrpc": "2.0",
        "id": id,
        "error": described if data is None else {**described, "data": data},
    }
