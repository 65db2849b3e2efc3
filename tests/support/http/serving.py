"""Servers over HTTP for tests: on a real socket in the test's own loop, and their callers."""

import asyncio
import json
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Mapping,
)
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NamedTuple, cast

import httpx2
import pytest
import uvicorn
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings
from support.http import behind
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import INITIALIZED, META, VERSION, Servers, hello, pkg, request

JSON = "application/json"
EVENTS = "text/event-stream"
WORKER = "support.http.worker:app"
POSTED = {"accept": f"{JSON}, {EVENTS}", "content-type": JSON}
NAMED = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}

_LIMITS = frozenset(field.name for field in fields(pkg.Options))

Headers = Mapping[str, str | bytes | None]
"""Fields that replace the usual ones; None leaves one out."""


def app_of(servers: Servers, revisions: Any = None, **chosen: Any) -> pkg.HttpApp:
    """An application; `chosen` are fields of `Options` and of `HttpOptions`, and `routes`."""
    routes = chosen.pop("routes", ())
    limits = {name: value for name, value in chosen.items() if name in _LIMITS}
    http = {name: value for name, value in chosen.items() if name not in _LIMITS}
    if behind.is_behind_gateway():
        servers, revisions = fronts_before(servers), None
    return pkg.http_app(
        servers,
        revisions=revisions,
        options=pkg.Options(**limits),
        http=pkg.HttpOptions(**http),
        routes=routes,
    )


def fronts_before(servers: Servers) -> list[Any]:
    """Return the fronts of a gateway before servers, which changes no name."""
    served: Any = [*servers] if isinstance(servers, Iterable) else servers
    opener = pkg.connect.opener(served)
    asking: Any = frozenset({"elicitation", "sampling", "roots"})
    server = ServerSettings(
        name="attacked",
        place="gateway.toml#/servers/attacked",
        address="attacked",
        opener=opener,
        prefix="",
        uris="keep",
        questions=asking,
    )
    return Gateway(GatewaySettings(file="gateway.toml", servers=(server,)), pkg).fronts


async def echo(session: Any, params: Any) -> str:
    """Return the name of the tool."""
    return str(params.name)


def chosen_of_runs(monkeypatch: pytest.MonkeyPatch) -> list[uvicorn.Config]:
    """Return the options that `run_http` would serve with; from now on it does not serve."""
    chosen: list[uvicorn.Config] = []

    def run(server: uvicorn.Server, sockets: object = None) -> None:
        chosen.append(server.config)

    monkeypatch.setattr(uvicorn.Server, "run", run)
    return chosen


@asynccontextmanager
async def run_server(
    app: Callable[..., Awaitable[None]], *, port: int = 0, **config: Any
) -> AsyncGenerator[uvicorn.Server, None]:
    """Run an ASGI application until the end of the block."""
    # Without a limit, an open response would keep a failed test from ending.
    config = {"timeout_graceful_shutdown": 2, **config}
    chosen = uvicorn.Config(app, host="127.0.0.1", port=port, log_config=None, **config)
    chosen.load()
    server = uvicorn.Server(chosen)
    server.lifespan = chosen.lifespan_class(chosen)
    await server.startup()
    try:
        yield server
    finally:
        await server.shutdown()


@asynccontextmanager
async def run_app(app: Callable[..., Awaitable[None]], **config: Any) -> AsyncGenerator[int, None]:
    async with run_server(app, **config) as server:
        yield port_of(server)


@asynccontextmanager
async def run_own_app(app: Any, served: Any = None, **config: Any) -> AsyncGenerator[int, None]:
    """Run an application of ours, perhaps within another one, and close it."""
    async with run_app(served or app, **config) as port:
        try:
            yield port
        finally:
            # Streams stay open, and the server waits for them.
            await app.close()


@asynccontextmanager
async def calling_app(app: Any) -> AsyncGenerator["Site", None]:
    """Run an application of ours, and yield a caller."""
    async with run_own_app(app) as port, calling(port) as site:
        site.app = app
        yield site


def port_of(server: uvicorn.Server) -> int:
    return int(server.servers[0].sockets[0].getsockname()[1])


@asynccontextmanager
async def serving(
    servers: Servers, revisions: Any = None, boot: behind.Boot = run_app, **chosen: Any
) -> AsyncGenerator["Site", None]:
    """Serve over HTTP, and yield a caller; `chosen` as in `app_of`."""
    given = tuple(servers) if isinstance(servers, Iterable) else servers
    make = partial(app_of, given, revisions)
    async with behind.serve_behind(make, boot, chosen) as (app, port):
        try:
            async with calling(port, path=chosen.get("path", "/mcp")) as site:
                site.app = app
                yield site
        finally:
            # Streams stay open, and the server waits for them.
            await app.close()


@asynccontextmanager
async def calling(port: int, path: str = "/mcp") -> AsyncGenerator["Site", None]:
    """Yield a caller of a server on this machine."""
    # Nothing is encrypted, and reading all certificates takes longer than most tests.
    async with httpx2.AsyncClient(
        base_url=f"http://127.0.0.1:{port}", timeout=httpx2.Timeout(30), verify=False
    ) as client:
        client.headers.clear()
        yield Site(port, path, client)


class Event(NamedTuple):
    """One event of a stream, as written."""

    data: str
    id: str | None = None
    event: str | None = None
    retry: str | None = None

    @property
    def message(self) -> Json:
        return json.loads(self.data)


class Events:
    """A response that is read as it comes."""

    def __init__(self, response: httpx2.Response, lines: AsyncIterator[str]) -> None:
        self.response = response
        self.comments = 0
        self._lines = lines

    async def event(self) -> Event | None:
        """Return the next event; None at the end."""
        found: dict[str, str] = {}
        async for line in self._lines:
            name, _, value = line.partition(":")
            if line.startswith(":"):
                self.comments += 1
            elif line:
                found[name] = value.removeprefix(" ")
            elif found:
                return Event(**{"data": "", **found})
        return None

    async def take(self) -> Json:
        """Return the next message, skipping other events; None at the end."""
        while (event := await self.event()) is not None:
            if event.data:
                return event.message
        return None

    async def all(self) -> list[Event]:
        """Return the remaining events."""
        events: list[Event] = []
        while (event := await self.event()) is not None:
            events.append(event)
        return events

    async def comment(self) -> None:
        async for line in self._lines:
            if line.startswith(":"):
                self.comments += 1
                return

    async def is_silent(self, seconds: float = 0.05) -> bool:
        """Return whether the stream stays silent for a while; it cannot be read afterwards."""
        try:
            async with asyncio.timeout(seconds):
                return await self.take() is None
        except TimeoutError:
            return True


@dataclass
class Site:
    """A server over HTTP, seen by a caller."""

    port: int
    path: str
    http: httpx2.AsyncClient
    app: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}{self.path}"

    async def post(self, message: object, headers: Headers | None = None) -> httpx2.Response:
        """Post a message; bytes go as they are."""
        return await self.http.post(self.path, **post_request(message, headers))

    @asynccontextmanager
    async def stream(
        self, message: object, headers: Headers | None = None
    ) -> AsyncGenerator[Events, None]:
        """Post a message, and stream its answer."""
        async with self.open_stream("POST", self.path, **post_request(message, headers)) as events:
            yield events

    @asynccontextmanager
    async def get(
        self, headers: Headers | None = None, path: str | None = None
    ) -> AsyncGenerator[Events, None]:
        given = merge_headers({"accept": EVENTS}, headers)
        async with self.open_stream("GET", path or self.path, headers=given) as events:
            yield events

    @asynccontextmanager
    async def open_stream(
        self, method: str, path: str, **what: Any
    ) -> AsyncGenerator[Events, None]:
        async with (
            self.http.stream(method, path, **what) as response,
            aclosing(cast(AsyncGenerator[str, None], response.aiter_lines())) as lines,
        ):
            yield Events(response, lines)

    async def modern(
        self,
        method: str,
        *,
        id: object = 1,
        meta: Mapping[str, object] = META,
        headers: Headers | None = None,
        **params: object,
    ) -> httpx2.Response:
        """Send a request of the stateless era; return its answer."""
        return await self.post(*stateless_request(method, id, meta, headers, **params))

    @asynccontextmanager
    async def modern_stream(
        self,
        method: str,
        *,
        id: object = 1,
        meta: Mapping[str, object] = META,
        headers: Headers | None = None,
        **params: object,
    ) -> AsyncGenerator[Events, None]:
        """Send a request of the stateless era, and stream its answer."""
        async with self.stream(*stateless_request(method, id, meta, headers, **params)) as events:
            yield events

    @asynccontextmanager
    async def listening(self, id: object = 7, **wanted: object) -> AsyncGenerator[Events, None]:
        """Open a listen stream, and take its acknowledgment."""
        listen = self.modern_stream("subscriptions/listen", id=id, notifications=wanted)
        async with listen as events:
            first = await events.take()
            assert first["method"] == "notifications/subscriptions/acknowledged"
            yield events

    async def initialize(
        self, revision: str = OLD, headers: Headers | None = None, **capabilities: object
    ) -> "Session":
        """Begin a session with a handshake; `headers` go with each of its requests."""
        response = await self.post(hello(revision, **capabilities), headers)
        assert response.status_code == 200, response.text
        assert response.json()["result"]["protocolVersion"] == revision
        session = Session(self, revision, response.headers["mcp-session-id"], dict(headers or {}))
        assert (await session.post(INITIALIZED)).status_code == 202
        return session


class Session:
    """A session of the handshake era, seen by its client."""

    def __init__(self, site: Site, revision: str, id: str, more: Headers) -> None:
        self.site = site
        self.revision = revision
        self.id = id
        self.headers: Headers = {"mcp-session-id": id, "mcp-protocol-version": revision, **more}

    async def post(self, message: object, headers: Headers | None = None) -> httpx2.Response:
        return await self.site.post(message, {**self.headers, **(headers or {})})

    async def call(self, name: str, id: object = 1, **params: object) -> httpx2.Response:
        return await self.post(request("tools/call", id, name=name, **params))

    @asynccontextmanager
    async def calling(
        self, name: str, id: object = 1, **params: object
    ) -> AsyncGenerator[Events, None]:
        """Call a tool, and stream its answer."""
        message = request("tools/call", id, name=name, **params)
        async with self.site.stream(message, self.headers) as events:
            yield events

    @asynccontextmanager
    async def get(
        self, last: str | None = None, headers: Headers | None = None
    ) -> AsyncGenerator[Events, None]:
        after = {} if last is None else {"last-event-id": last}
        async with self.site.get({**self.headers, **after, **(headers or {})}) as events:
            yield events

    async def delete(self, headers: Headers | None = None) -> httpx2.Response:
        """End the session."""
        given = merge_headers({}, {**self.headers, **(headers or {})})
        return await self.site.http.delete(self.site.path, headers=given)


def merge_headers(usual: Mapping[str, str], headers: Headers | None) -> dict[bytes, bytes]:
    fields = {**usual, **(headers or {})}
    return {
        name.encode(): value if isinstance(value, bytes) else value.encode()
        for name, value in fields.items()
        if value is not None
    }


def post_request(message: object, headers: Headers | None) -> JsonObject:
    body = message if isinstance(message, bytes) else json.dumps(message).encode()
    return {"headers": merge_headers(POSTED, headers), "content": body}


def stateless_request(
    method: str,
    id: object = 1,
    meta: Mapping[str, object] = META,
    headers: Headers | None = None,
    **params: object,
) -> tuple[JsonObject, Headers]:
    """Return a request of the stateless era, and the header fields that repeat it."""
    message = request(method, id, **{"_meta": dict(meta), **params})
    repeated: dict[str, str | bytes | None] = {
        "mcp-protocol-version": str(meta.get(VERSION, STATELESS)),
        "mcp-method": method,
    }
    name = params.get(NAMED.get(method, ""))
    if isinstance(name, str):
        repeated["mcp-name"] = name
    return message, {**repeated, **(headers or {})}


def outcome(response: httpx2.Response) -> tuple[int, int | None]:
    """The status of a response, and the code of the error in it."""
    body: JsonObject = response.json() if response.content else {}
    return response.status_code, body["error"]["code"] if "error" in body else None


def text_in(response: httpx2.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["result"]["content"][0]["text"])


async def raw(port: int, data: bytes) -> bytes:
    """Send bytes; return the response until the server closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        await writer.drain()
        return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()
