"""HTTP over standard input and output (`stdio-v2`): HTTP/2 between a client and its program.

The user chooses it; nothing is probed, and nothing else is tried (transports-wg, http-over-stdio,
"How to negotiate HTTP over STDIO"). Requests are those of Streamable HTTP. In place of a program,
the address may be a Unix socket, `unix:PATH`.

Once adopted, its imports are relative, like those of the modules beside it.
"""

import os
import socket
from asyncio import Event, create_task, get_running_loop, shield
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from logging import getLogger
from pathlib import Path
from typing import Any, Final, NamedTuple, Unpack
from urllib.parse import unquote_to_bytes

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.middleware import Network
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.http.client.client_state import Reconnection
from mcp_protogen.runtime.http.client.http_client import HttpWire
from mcp_protogen.runtime.http.client.outgoing import Message
from mcp_protogen.runtime.http.client.request import RefusedPost
from mcp_protogen.runtime.http.client.transport import HttpTransport
from mcp_protogen.runtime.http.httpx2 import URL, httpx2
from mcp_protogen.runtime.http.server.app import HttpApp, http_app
from mcp_protogen.runtime.http.server.options import USUAL_HTTP, HttpOptions
from mcp_protogen.runtime.server.serve import ServeOptions, Server
from mcp_protogen.runtime.server.stdio import until_signal
from mcp_protogen.runtime.transports.base import (
    Opener,
    Received,
    RestartableTransport,
    Transport,
)
from mcp_protogen.runtime.transports.stdio import open_stdio
from mcp_protogen.runtime.transports.streams import LONGEST, LineProtocol, LineReader, LineTransport
from mcp_protogen.runtime.transports.subprocess import stdio_client

from .http2 import Fields, Http2Connection, Stream

_log: Final = getLogger(__name__)

_SOCKET: Final = "unix:"
_HOST: Final = b"localhost"


class _Chunks(LineReader):
    """A reader that leaves bytes as they come."""

    def feed(self, chunk: bytes) -> list[Received]:
        return [chunk]

    def end(self) -> list[Received]:
        return []


class ChunkProtocol(LineProtocol):
    """Both directions of an asyncio transport, in bytes; HTTP limits the size of messages."""

    def __init__(self, limit: int = LONGEST) -> None:
        super().__init__(limit)
        self._lines = _Chunks()

    def encode(self, messages: Iterable[bytes]) -> bytes:
        return b"".join(messages)


class _Request(NamedTuple):
    head: Fields
    body: bytes


class _Response:
    """The part of an `httpx2.Response` in use."""

    def __init__(self, connection: Http2Connection, stream: Stream) -> None:
        self._connection, self._stream = connection, stream
        fields = [field for field in stream.head if not field[0].startswith(b":")]
        status = int(dict(stream.head)[b":status"])
        decoding = httpx2().Response(status, headers=fields, content=self._parts())
        self.status_code: Final[int] = status
        self.headers: Final[Any] = decoding.headers
        self.aiter_bytes: Final[Callable[[], AsyncIterator[bytes]]] = decoding.aiter_bytes

    async def _parts(self) -> AsyncIterator[bytes]:
        while part := await self._connection.read(self._stream):
            yield part

    async def aclose(self) -> None:
        self._connection.drop(self._stream)


class _Client:
    """An `HttpClient` over one connection."""

    def __init__(self, connection: Http2Connection) -> None:
        self._connection = connection
        self.aclose: Final = connection.close

    def build_request(self, method: str, url: URL, *, content: Any, headers: Any) -> Any:
        place = {b":scheme": url.raw_scheme, b":authority": url.netloc, b":path": url.raw_path}
        return _Request([(b":method", method.encode()), *place.items(), *headers.items()], content)

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Return the response, whose body is not read; raise `Disconnected`."""
        opened = await self._connection.open(request.head)
        try:
            await self._connection.send(opened, request.body or b"", end=True)
            await self._connection.wait_head(opened)
        except BaseException:
            self._connection.drop(opened)
            raise
        return _Response(self._connection, opened)


class StdioV2Transport(HttpTransport):
    """A transport to a program, or to a socket, over a transport of bytes."""

    def __init__(self, transport: Transport, limit: int) -> None:
        url = httpx2().URL(f"http://{_HOST.decode()}{USUAL_HTTP.path}")
        self._connection = Http2Connection(transport, "client", self._on_end)
        wire = HttpWire(_Client(self._connection), url, {}, limit, owned=True)
        super().__init__(wire, Reconnection())
        bytes_over: Network = getattr(transport, "network", Network("pipe"))
        self.network = bytes_over._replace(protocol="http")

    def _on_end(self, error: Disconnected | None) -> None:
        why = self._connection.over or "the server closed the connection"
        error = error or Disconnected(why)
        self._connection.lose(error)
        # The session ends with it, and nothing can be resumed on another connection.
        self._state.protocol.session_id = None
        self._state.inbox.end(error)

    async def _try_legacy(self, message: Message, refusal: RefusedPost) -> RefusedPost | None:
        return refusal

    async def close_within(self, grace: float) -> None:
        transport = self._connection.transport
        if isinstance(transport, RestartableTransport):
            await transport.close_within(grace)
        await self.close()


def stdio_v2_client(
    argv: Sequence[str | os.PathLike[str]], *, limit: int = LONGEST, **options: Any
) -> Opener:
    """Return an opener that starts a server as a process, or connects to the socket `unix:PATH`.

    `options` are those of `stdio_client`; `limit` is the largest answer or event, in bytes. Raise
    `ValueError` if `argv` is empty.
    """
    start = stdio_client(argv, framing=ChunkProtocol, **options)
    address = os.fspath(argv[0])
    if address.startswith(_SOCKET):
        start = partial(_connect, address.removeprefix(_SOCKET))

    async def open() -> Transport:
        return StdioV2Transport(await start(), limit)

    return open


async def _connect(path: str) -> Transport:
    try:
        _, protocol = await get_running_loop().create_unix_connection(ChunkProtocol, path)
    except OSError as error:
        raise Disconnected(
            f"cannot connect to {_SOCKET}{path}: {error.strerror or error}"
        ) from None
    return LineTransport(protocol)


class _Exchange:
    """The two functions of ASGI for one stream."""

    def __init__(self, connection: Http2Connection, stream: Stream) -> None:
        self._connection, self._stream = connection, stream
        self._is_read = False

    async def receive(self) -> dict[str, Any]:
        if self._is_read:
            await self._connection.wait_failure(self._stream)
            return {"type": "http.disconnect"}
        try:
            part = await self._connection.read(self._stream)
        except Disconnected:
            return {"type": "http.disconnect"}
        self._is_read = self._stream.is_complete
        return {"type": "http.request", "body": part, "more_body": not self._is_read}

    async def send(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            status = b":status", b"%d" % message["status"]
            self._connection.send_head(self._stream, [status, *message["headers"]])
            return
        end = not message.get("more_body")
        await self._connection.send(self._stream, message.get("body", b""), end=end)


def _scope_of(head: Fields) -> dict[str, Any]:
    pseudo = {name: value for name, value in head if name.startswith(b":")}
    path, _, query = pseudo.get(b":path", b"/").partition(b"?")
    # No page of a browser can come here under the name of another host.
    fields = [field for field in head if field[0] not in pseudo and field[0] != b"host"]
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "2",
        "method": pseudo[b":method"].decode("latin-1"),
        "scheme": "http",
        "path": unquote_to_bytes(path).decode("utf-8", "replace"),
        "raw_path": path,
        "query_string": query,
        "root_path": "",
        "headers": [(b"host", _HOST), *fields],
        "client": None,
        "server": None,
    }


class _Serving:
    """The requests of one connection, answered by an application."""

    def __init__(self, app: HttpApp, transport: Transport) -> None:
        self._app = app
        self._tasks = Tasks()
        self._ended = get_running_loop().create_future()
        on_end: Callable[[object], object] = self._ended.set_result
        self._connection = Http2Connection(transport, "server", on_end, self._begin)

    def _begin(self, stream: Stream) -> None:
        self._tasks.start(self._answer(stream))

    async def _answer(self, stream: Stream) -> None:
        exchange = _Exchange(self._connection, stream)
        try:
            await self._app(_scope_of(stream.head), exchange.receive, exchange.send)
        finally:
            self._connection.drop(stream)

    async def wait_end(self) -> None:
        """Wait until the client has gone; raise `Disconnected` if it broke off."""
        # After a cancellation, the client goes on until the end.
        error = await shield(self._ended)
        if error is not None:
            raise error.with_traceback(None)

    async def close(self) -> None:
        await self._tasks.cancel()
        await self._connection.close()


def _make_app(servers: Server | Iterable[Server], limit: int, options: ServeOptions) -> HttpApp:
    http = HttpOptions(
        health_path=None,
        ready_path=None,
        # A second connection for the rest of a stream cannot exist.
        resumable=False,
        max_body=limit,
        max_bodies=max(limit, USUAL_HTTP.max_bodies),
    )
    return http_app(servers, http=http, **options)


@asynccontextmanager
async def _lifespan(app: HttpApp) -> AsyncGenerator[None, None]:
    """Begin an application, and close it at the end; raise `LifespanError`."""
    begun, ending = Event(), Event()

    async def receive() -> dict[str, Any]:
        if not begun.is_set():
            return {"type": "lifespan.startup"}
        await ending.wait()
        return {"type": "lifespan.shutdown"}

    async def send(_: object) -> None:
        begun.set()

    running = create_task(app({"type": "lifespan"}, receive, send))
    await begun.wait()
    try:
        if app.failure is not None:
            raise app.failure
        yield
    finally:
        ending.set()
        await running
    if app.failure is not None:
        raise app.failure


async def serve_stdio_v2(
    servers: Server | Iterable[Server], *, limit: int = LONGEST, **options: Unpack[ServeOptions]
) -> None:
    """Serve standard input and output until the client closes them; see `serve_stdio`."""
    app = _make_app(servers, limit, options)
    serving = _Serving(app, await open_stdio(limit, framing=ChunkProtocol))

    async def serve() -> None:
        try:
            async with _lifespan(app):
                await serving.wait_end()
        finally:
            await serving.close()

    await until_signal(serve())


async def serve_socket(
    servers: Server | Iterable[Server],
    path: str,
    *,
    limit: int = LONGEST,
    **options: Unpack[ServeOptions],
) -> None:
    """Serve clients of the same user at a new Unix socket, until a signal or cancellation."""
    app, tasks = _make_app(servers, limit, options), Tasks()

    async def serve(protocol: LineProtocol) -> None:
        serving = _Serving(app, LineTransport(protocol))
        try:
            await serving.wait_end()
        except Disconnected as error:
            _log.warning("a connection broke: %s", error)
        finally:
            await serving.close()

    def accept() -> LineProtocol:
        protocol = ChunkProtocol()
        tasks.start(serve(protocol))
        return protocol

    async def listen() -> None:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path)
            try:
                # Before anyone can connect.
                os.chmod(path, 0o600)
                # Clients wait while the server starts.
                listening.listen()
                async with _lifespan(app):
                    listener = await get_running_loop().create_unix_server(accept, sock=listening)
                    try:
                        await get_running_loop().create_future()
                    finally:
                        listener.close()
            finally:
                await tasks.cancel()
                # Later versions of asyncio have removed it.
                Path(path).unlink(missing_ok=True)

    await until_signal(listen())
