"""An HTTP client for servers behind a bridge or a gateway, where each hop counts.

httpx2 takes 0.4 ms of a processor for a request, this a tenth of that. It asks httpx2 for what few
requests need: proxies, users in URLs, cookies and compressed bodies.
"""

import re
import selectors
from asyncio import (
    FIRST_COMPLETED,
    Future,
    Protocol,
    Task,
    TimerHandle,
    Transport,
    create_task,
    get_running_loop,
    timeout,
    wait,
)
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from socket import SOCK_STREAM
from typing import Any, Final, NamedTuple, Self, TypeVar
from urllib.request import getproxies

from mcp_protogen.runtime.core.libraries import library
from mcp_protogen.runtime.http.client.connect import new_client
from mcp_protogen.runtime.http.httpx2 import URL, HttpClient, httpx2, origin_of, trust

T = TypeVar("T")

_PORTS: Final = {"http": 80, "https": 443}

# Seconds between attempts to connect (RFC 8305, section 5).
_HEAD_START: Final = 0.25

# The most connections to a server that wait for a request, and for how many seconds. With fewer,
# clients with many calls at once would connect for some of them. Servers end them after 5 s
# (uvicorn, Node.js).
_MOST_IDLE: Final = 100
_LONGEST_IDLE: Final = 4.0

# How many cookies of a server are kept: twice what clients should keep (RFC 6265, section 6.1).
_MOST_COOKIES: Final = 100

# How much of a response may come besides its body, and how much of a body waits to be read, in
# bytes.
_MOST_UNREAD: Final = 100 * 1024

# These hold no file of their own, unlike epoll's.
_Selector: Final = getattr(selectors, "PollSelector", selectors.SelectSelector)

_NAMES: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAK: Final = re.compile(rb"[\0\r\n]")

# The fields that say where a body ends.
_FRAMING: Final = (b"content-length", b"transfer-encoding")


def new_http_client() -> HttpClient:
    """Return a client for one connection to a server; without httptools, it is httpx2's."""
    return new_client() if find_spec("httptools") is None else DirectClient()


class _Target(NamedTuple):
    """A URL with what each request to it needs."""

    url: URL
    origin: object
    host: bytes
    path: bytes
    is_plain: bool
    """Whether no user is in it."""


class _Request(NamedTuple):
    to: _Target
    text: bytes


class DirectClient:
    """An `HttpClient` over HTTP/1.1."""

    def __init__(self) -> None:
        self._plain = new_client()
        self._usual = {name.lower(): value for name, value in self._plain.headers.raw}
        self._is_proxied = not {"http", "https", "all"}.isdisjoint(getproxies())
        self._idle: defaultdict[object, _Idle] = defaultdict(_Idle)
        self._has_cookies = False
        self._last = _Target(None, None, b"", b"", False)
        self._written: tuple[object, bytes] = None, b""

    def build_request(self, method: str, url: URL, *, content: Any, headers: Any) -> Any:
        """Return a request for `send`; raise `httpx2.LocalProtocolError` for a wrong field."""
        to, plain = self._last, self._plain
        if to.url is not url:
            to = _Target(url, origin_of(url), url.netloc, url.raw_path, not url.userinfo)
            self._last = to
        if self._is_proxied or not to.is_plain:
            return plain.build_request(method, url, content=content, headers=headers)
        if self._has_cookies:
            cookie = plain.build_request(method, url).headers.get("cookie")
            headers = {b"cookie": cookie.encode(), **headers} if cookie else headers
        # Most requests differ only in their bodies.
        key, (last, head) = (method, to, headers), self._written
        if key != last:
            head = self._head(method, to, headers)
            self._written = key, head
        if content is None:
            return _Request(to, head + b"\r\n")
        return _Request(to, b"%bcontent-length: %d\r\n\r\n%b" % (head, len(content), content))

    def _head(self, method: str, to: _Target, headers: Mapping[bytes, bytes]) -> bytes:
        fields: dict[bytes, bytes] = {b"host": to.host, **self._usual, **headers}
        for name in _FRAMING:
            fields.pop(name, None)
        names, values = b"".join(fields), b"".join(fields.values())
        if b"" in fields or not _NAMES.fullmatch(names) or _BREAK.search(values):
            raise httpx2().LocalProtocolError("a header field has a wrong name or value")
        lines = [b"%b: %b\r\n" % field for field in fields.items()]
        return b"%b %b HTTP/1.1\r\n%b" % (method.encode(), to.path, b"".join(lines))

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        """Return the response, whose body is not read; raise `httpx2.RequestError`."""
        if not isinstance(request, _Request):
            return await self._plain.send(request, stream=stream, follow_redirects=follow_redirects)
        to = request.to
        connection = self._idle[to.origin].take() or await self._connect(to.url)
        try:
            fields = await connection.exchange(request.text)
        except BaseException:
            connection.transport.abort()
            raise
        headers = _Fields(fields)
        if "set-cookie" in headers:
            self._has_cookies, cookies = True, self._plain.cookies
            if len(cookies) >= _MOST_COOKIES:
                cookies.clear()
            made = httpx2().Request("GET", to.url)
            # httpx2 fails to send back cookies that are not ASCII.
            plain = [field for field in fields if field[1].isascii()]
            cookies.extract_cookies(
                httpx2().Response(connection.status, headers=plain, request=made)
            )
        return _Response(connection.status, headers, connection)

    async def _connect(self, url: URL) -> "_Connection":
        host, port = url.raw_host.decode(), _PORTS[url.scheme] if url.port is None else url.port
        secure = {"ssl": trust(), "server_hostname": host} if url.scheme == "https" else {}
        create, within = get_running_loop().create_connection, self._plain.timeout.connect
        make = partial(_Connection, self._idle[origin_of(url)])
        try:
            async with timeout(within):
                found = await get_running_loop().getaddrinfo(host, port, type=SOCK_STREAM)
                addresses = dict.fromkeys(str(address[0]) for *_, address in found)
                attempts = (create(make, known, port, **secure) for known in addresses)
                _, connection = await first_success(attempts, lambda made: made[0].abort())
                return connection
        except TimeoutError:
            raise httpx2().ConnectTimeout(f"no connection within {within:g} s") from None
        except (OSError, UnicodeError) as error:
            raise httpx2().ConnectError(str(error)) from error

    async def aclose(self) -> None:
        """Close the connections that carry no request."""
        for idle in self._idle.values():
            idle.end_all()
        await self._plain.aclose()


async def first_success(
    attempts: Iterable[Coroutine[Any, Any, T]], discard: Callable[[T], object]
) -> T:
    """Return the first result of attempts that begin one after another, or raise the last error.

    `discard` gets other results.
    """
    waiting = deque(attempts)
    if len(waiting) == 1:
        return await waiting.pop()
    failure: BaseException = OSError("the host has no address")
    running: set[Task[T]] = set()

    def end(task: Task[T]) -> None:
        if not task.cancelled() and task.exception() is None:
            discard(task.result())

    try:
        while waiting or running:
            if waiting:
                running.add(create_task(waiting.popleft()))
            patience = _HEAD_START if waiting else None
            done, _ = await wait(running, timeout=patience, return_when=FIRST_COMPLETED)
            for task in done:
                running.remove(task)
                error = task.exception()
                if error is None:
                    return task.result()
                failure = error
    finally:
        for task in running:
            # It may have ended at the same moment.
            task.cancel()
            task.add_done_callback(end)
        for attempt in waiting:
            attempt.close()
    raise failure


class _Idle:
    """The connections to a server that wait for a request; those that came last go first."""

    def __init__(self) -> None:
        self._connections = deque[_Connection]()
        self._timer: TimerHandle | None = None

    def take(self) -> "_Connection | None":
        while self._connections:
            if (connection := self._connections.pop()).is_usable:
                return connection
            connection.transport.abort()
        return None

    def keep(self, connection: "_Connection") -> None:
        if len(self._connections) >= _MOST_IDLE:
            connection.transport.abort()
            return
        connection.idle_until = get_running_loop().time() + _LONGEST_IDLE
        self._connections.append(connection)
        if self._timer is None:
            self._end_late()

    def _end_late(self) -> None:
        loop, self._timer = get_running_loop(), None
        while self._connections and self._connections[0].idle_until <= loop.time():
            self._connections.popleft().transport.abort()
        if self._connections:
            self._timer = loop.call_at(self._connections[0].idle_until, self._end_late)

    def end_all(self) -> None:
        while self._connections:
            self._connections.pop().transport.abort()


class _Fields:
    """The part of `httpx2.Headers` in use; names are in lower case."""

    def __init__(self, fields: Sequence[tuple[bytes, bytes]]) -> None:
        self.raw = fields
        self._names = dict(fields)

    def __contains__(self, name: str) -> bool:
        return name.encode() in self._names

    def get_list(self, name: str) -> list[str]:
        wanted = name.encode()
        return [_text(value) for known, value in self.raw if known == wanted]

    def get(self, name: str, default: str | None = None) -> str | None:
        return ", ".join(self.get_list(name)) if name.encode() in self._names else default


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


class _Response:
    """The part of an `httpx2.Response` in use."""

    def __init__(self, status: int, headers: _Fields, connection: "_Connection") -> None:
        self.status_code = status
        self.headers = headers
        self._connection = connection
        self._is_closed = False

    def aiter_bytes(self) -> AsyncIterator[bytes]:
        if "content-encoding" not in self.headers:
            return self._connection
        packed = httpx2().Response(
            self.status_code, headers=self.headers.raw, content=self._connection
        )
        decoded: AsyncIterator[bytes] = packed.aiter_bytes()
        return decoded

    async def aclose(self) -> None:
        # The connection may carry another response by now.
        if not self._is_closed:
            self._is_closed = True
            self._connection.release()


class _Connection(Protocol):
    """A connection, and the response that it carries; its methods `on_…` are for the parser."""

    transport: Transport

    def __init__(self, idle: _Idle) -> None:
        self._idle = idle
        self.idle_until = 0.0
        self._arrivals = _Selector()
        httptools = library("httptools", "HTTP")
        self._parser = httptools.HttpResponseParser(self)
        self._malformed = httptools.HttpParserError, httptools.HttpParserUpgrade
        self._waiting: Future[None] | None = None
        self._begin()

    def _begin(self) -> None:
        self.status = 0
        self._failure = ""
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = bytearray()
        self._unread = 0
        self._has_head = self._is_complete = self._can_stay = False

    async def exchange(self, request: bytes) -> list[tuple[bytes, bytes]]:
        """Send a request, and return the header fields of its response."""
        if not self.transport.is_closing():
            self.transport.write(request)
        while not self._has_head:
            await self._wait()
        return self._headers

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> bytes:
        """Return the next part of the body."""
        while not self._body:
            if self._is_complete:
                raise StopAsyncIteration
            await self._wait()
        part, self._body = bytes(self._body), bytearray()
        self._resume()
        return part

    def _resume(self) -> None:
        if self._unread > _MOST_UNREAD:
            self.transport.resume_reading()
        self._unread = 0

    def _wait(self) -> Future[None]:
        if self._failure:
            raise httpx2().RemoteProtocolError(self._failure)
        self._waiting = get_running_loop().create_future()
        return self._waiting

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def release(self) -> None:
        """Keep the connection for another request, if the response ended and allows it."""
        if not self._can_stay or self._failure:
            self.transport.abort()
            return
        self._resume()
        self._begin()
        self._idle.keep(self)

    @property
    def is_usable(self) -> bool:
        """Return whether it may carry a request: what comes before that answers none."""
        is_late = get_running_loop().time() > self.idle_until
        if is_late or self._unread or self.transport.is_closing():
            return False
        # A busy loop has not yet read what came, such as the end.
        return not self._arrivals.select(0)

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._arrivals.register(transport.get_extra_info("socket"), selectors.EVENT_READ)

    def data_received(self, data: bytes) -> None:
        self._unread += len(data)
        try:
            self._parser.feed_data(data)
        except self._malformed as error:
            self._failure = f"the response is malformed: {error}"
        if self._unread > _MOST_UNREAD:
            self.transport.pause_reading()
            if not self._body:
                self._failure = f"the response has more than {_MOST_UNREAD} bytes besides its body"
        self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        fields = dict(self._headers)
        ends_here = not fields.keys() & {*_FRAMING}
        if self._has_head and exc is None and ends_here:
            self._is_complete = True
        reason = f": {exc}" if exc else ""
        self._failure = self._failure or f"the connection ended before the response{reason}"
        self._wake()

    def on_message_begin(self) -> None:
        if self._has_head:
            self._failure = "a second response came for one request"
        self._headers = self._headers if self._has_head else []

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers, too, are read here.
        if not self._has_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        if not self._has_head:
            self.status = self._parser.get_status_code()
            # Those such as 103 come before the response; after 101, none would.
            self._has_head = self.status // 100 != 1 or self.status == 101

    def on_body(self, data: bytes) -> None:
        if not self._is_complete:
            self._body += data

    def on_message_complete(self) -> None:
        if self._has_head:
            self._is_complete, self._can_stay = True, self._parser.should_keep_alive()
