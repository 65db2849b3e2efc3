"""HTTP servers that do as a test says, well-behaved or not; on bare sockets."""

import asyncio
import json
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeAlias, TypeVar, cast

import pytest
from mcp_protogen.runtime.http.sse import write_event
from mcp_revisions.v2025_11_25 import Client
from support.json_types import Json, JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import (
    client,
    content_of,
    discover_result,
    pkg,
    welcome,
)

AT_ONCE = pkg.Reconnection(min_wait=0.001)

JSON = "application/json"
EVENTS = "text/event-stream"


@dataclass
class Request:
    verb: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def value(self) -> Json:
        return json.loads(self.body)

    @property
    def method(self) -> str:
        """Return the method of the message; empty for a response and without one."""
        return self.value.get("method", "") if self.body else ""

    @property
    def id(self) -> Json:
        return self.value.get("id")


class Reply:
    """The means to answer one request."""

    def __init__(self, reader: StreamReader, writer: StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self.closing = False

    async def send(
        self, status: int, value: object = None, media: str = JSON, **headers: str | None
    ) -> None:
        """Send the whole answer; bytes and text stay as they are."""
        body = value if isinstance(value, bytes) else b""
        if value is not None and not isinstance(value, bytes):
            body = json.dumps(value).encode()
        fields = {"content_type": media if body else None, "content_length": str(len(body))}
        self._head(status, {**fields, **headers})
        self._writer.write(body)
        await self._writer.drain()

    async def result(self, request: Request, result: JsonObject, **headers: str | None) -> None:
        await self.send(200, answer(request, result), JSON, **headers)

    async def stream(self, **headers: str | None) -> None:
        """Begin a stream of events, which ends with the connection."""
        self.closing = True
        self._head(200, {"content_type": EVENTS, "connection": "close", **headers})
        await self._writer.drain()

    async def event(self, value: object = None, **given: Any) -> None:
        """Send one event; without a value its data is empty."""
        data = b"" if value is None else json.dumps(value).encode()
        await self.raw(write_event(data, **given))

    async def raw(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def hang_up(self) -> None:
        self._writer.close()

    async def wait_until_gone(self) -> None:
        """Wait until the client closes the connection."""
        self.closing = True
        with suppress(ConnectionError):
            await self._reader.read()

    def _head(self, status: int, fields: dict[str, str | None]) -> None:
        lines = [f"HTTP/1.1 {status} Odd"]
        lines += [f"{name.replace('_', '-')}: {value}" for name, value in fields.items() if value]
        self._writer.write("\r\n".join([*lines, "", ""]).encode())


Raised = TypeVar("Raised", bound=BaseException)
Play: TypeAlias = Callable[[Request, Reply], Awaitable[None]]


@dataclass
class OddServer:
    """A server that answers by `play`, and records its requests."""

    play: Play
    url: str = ""
    requests: list[Request] = field(default_factory=list[Request])
    tasks: set["asyncio.Task[object]"] = field(default_factory=set["asyncio.Task[object]"])

    async def serve(self, reader: StreamReader, writer: StreamWriter) -> None:
        """Answer the requests of one connection."""
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        try:
            while True:
                request = await _request(reader)
                self.requests.append(request)
                reply = Reply(reader, writer)
                await self.play(request, reply)
                if reply.closing:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except asyncio.CancelledError:
            # Only the end of the test does that, and asyncio would complain about it.
            pass
        finally:
            self.tasks.discard(task)
            writer.close()

    def requests_of(self, verb: str, method: str = "") -> list[Request]:
        return [
            request
            for request in self.requests
            if request.verb == verb and request.method == method
        ]


async def _request(reader: StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    verb, path, _ = first.split(" ")
    headers = {
        name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
    }
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(verb, path, headers, body)


@asynccontextmanager
async def odd_server(play: Play) -> AsyncGenerator[OddServer, None]:
    """Run a server on a free port."""
    server = OddServer(play)
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/mcp"
        yield server
        for task in list(server.tasks):
            task.cancel()
        await asyncio.gather(*server.tasks, return_exceptions=True)


def answer(request: Request, result: JsonObject) -> JsonObject:
    return {"jsonrpc": "2.0", "id": request.id, "result": result}


TEXT: JsonObject = {"content": [{"type": "text", "text": "done"}]}


class Handshaking:
    """A player of a handshake-era server; `call` answers everything after the handshake."""

    def __init__(
        self,
        call: Play | None = None,
        listen: Play | None = None,
        *,
        session: str | None = None,
        version: str = OLD,
    ) -> None:
        self.call = call or answer_call
        self.listen = listen
        self.session = session
        self.version = version

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.verb == "GET" and self.listen is not None:
            await self.listen(request, reply)
        elif request.verb != "POST":
            await reply.send(405)
        elif request.method == "server/discover":
            await reply.send(400)
        elif request.method == "initialize":
            hello = welcome(request.id, self.version, tools={})
            await reply.send(200, hello, mcp_session_id=self.session)
        elif "id" not in request.value or not request.method:
            await reply.send(202)
        else:
            await self.call(request, reply)


class Modern:
    """A player of a stateless server; `call` answers everything except `server/discover`."""

    def __init__(self, call: Play | None = None) -> None:
        self.call = call or answer_call

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.verb != "POST":
            await reply.send(405)
        elif request.method == "server/discover":
            await reply.send(200, discover_result(request.id, tools={}))
        else:
            await self.call(request, reply)


async def answer_call(request: Request, reply: Reply) -> None:
    await reply.result(request, complete(request, TEXT))


def complete(request: Request, result: JsonObject) -> JsonObject:
    """Return a result with the additions of the stateless era."""
    modern = "mcp-method" in request.headers
    return {**result, "resultType": "complete"} if modern else result


def connecting(
    url: str, *revisions: str, options: JsonObject | None = None, **more: Any
) -> AbstractAsyncContextManager[Client]:
    """Connect plain clients of these revisions, by default of both eras."""
    clients = [client(revision) for revision in revisions or ERAS]
    more = {"reconnection": AT_ONCE, **more}
    connected = pkg.connect_http(url, *clients, options=pkg.Options(**(options or {})), **more)
    return cast(AbstractAsyncContextManager[Client], connected)


def http_error(status: int) -> pytest.RaisesExc[pkg.HttpError]:
    def has_status(error: pkg.HttpError) -> bool:
        return bool(error.status == status)

    return pytest.raises(pkg.HttpError, check=has_status)


BOTH = pytest.mark.parametrize("revision", ERAS)


async def calling(play: Play, **more: Any) -> list[Request]:
    """Call a tool, expecting the usual answer; return the requests to the server."""
    async with odd_server(play) as server:
        async with connecting(server.url, **more) as ours:
            assert content_of(await ours.call_tool("x"))[0].text == "done"
        return server.requests


async def failing(
    play: Play, raises: pytest.RaisesExc[Raised], **more: Any
) -> tuple[Raised, list[Request]]:
    """Call a tool, expecting an error; return it with the requests to the server."""
    async with odd_server(play) as server, connecting(server.url, **more) as ours:
        with raises as caught:
            await ours.call_tool("x")
        return caught.value, [*server.requests]


def gets(requests: list[Request]) -> list[str | None]:
    """Return the last event ids of stream requests; None for the server's own stream."""
    return [request.headers.get("last-event-id") for request in requests if request.verb == "GET"]


def either(call: Play, revision: str) -> Play:
    """Return a server of a revision's era."""
    return Modern(call) if revision == STATELESS else Handshaking(call)


def over(url: str, ours: Client) -> AbstractAsyncContextManager[Client]:
    return pkg.connect_http(url, ours, reconnection=AT_ONCE)


def with_roots() -> Client:
    """Return a client that may announce changes of its roots."""
    return client(OLD, DECLARES={"roots": {"listChanged": True}})
