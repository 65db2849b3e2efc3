"""An HTTP client that records each message, and the heads of requests and answers."""

from codecs import getincrementaldecoder
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Final

from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.http import headers as fields
from mcp_protogen.runtime.http import sse
from mcp_protogen.runtime.http.client.http_client import HttpWire, parts_of_body
from mcp_protogen.runtime.http.httpx2 import HttpClient, httpx2
from mcp_protogen.servers.inspect.intake import LONGEST, StepIntake

_RECORDED: Final = (
    *("content-type", "content-length", fields.SESSION_ID, fields.PROTOCOL_VERSION),
    *("www-authenticate", "allow", "location", "x-accel-buffering"),
    *("access-control-allow-origin", "cache-control", "etag"),
)
"""The header fields of answers that are recorded."""
_EXCERPT: Final = 2000
"""The most bytes to record of a body that is not JSON."""

Head = dict[str, Any]
"""The members of an `Exchange` for HTTP."""


class TappedClient:
    """An HTTP client that shows `intake` each message, and keeps the heads of one step.

    With `only_posts`, it sends no GET: a client of Streamable HTTP must not go on over HTTP+SSE.
    """

    _client: HttpClient

    def __init__(self, intake: StepIntake) -> None:
        self._intake = intake
        self.only_posts = True
        self.stream: Head | None = None
        """The first GET."""
        self.begin()

    def attach(self, wire: HttpWire) -> None:
        """Take the place of the client of a connection."""
        self._client, wire.client = wire.client, self

    def begin(self) -> None:
        """Begin a step: forget the heads of the one before."""
        self._heads: list[Head] = []
        self.is_broken = False
        """Whether the network failed since then."""

    def head(self, method: str) -> Head:
        """Return the first request with a method, behind redirections of it."""
        found = [head for head in self._heads if head["method"] == method]
        arrived = (head for head in found if head.get("status", 0) // 100 != 3)
        return next(arrived, found[-1] if found else {"method": method})

    def build_request(self, method: str, url: Any, *, content: Any, headers: Any) -> Any:
        said = {name.decode(): value.decode() for name, value in headers.items()}
        request = self._client.build_request(method, url, content=content, headers=headers)
        return {"method": method, "headers": said}, content, request

    async def send(self, request: Any, *, stream: bool, follow_redirects: bool) -> Any:
        head, content, request = request
        if head["method"] == "GET":
            if self.only_posts:
                raise Disconnected("HTTP+SSE is tried on another connection")
            self.stream = self.stream or head
        self._heads.append(head)
        if content is not None:
            self._intake.note("client", content)
        try:
            response = await self._client.send(
                request, stream=stream, follow_redirects=follow_redirects
            )
        except (Disconnected, httpx2().HTTPError):
            self.is_broken = True
            raise
        return _TappedResponse(self, self._intake, head, response)

    async def aclose(self) -> None:
        await self._client.aclose()


class _TappedResponse:
    """The answer to a request. It shows its body to the intake while that is read."""

    def __init__(self, client: TappedClient, intake: StepIntake, head: Head, response: Any) -> None:
        self._client, self._intake, self._head, self._response = client, intake, head, response
        self.status_code, self.headers = response.status_code, response.headers
        answered = {name: self.headers[name] for name in _RECORDED if name in self.headers}
        head |= {"status": self.status_code, "answered": answered}
        self._media = fields.media_type(self.headers.get("content-type"))
        self._parser = sse.Parser(LONGEST)
        self._decoder = getincrementaldecoder("utf-8")()
        self._body = bytearray()
        self._is_read = self._media == fields.EVENTS

    async def aiter_bytes(self) -> AsyncGenerator[bytes, None]:
        self._is_read = True
        try:
            async for chunk in self._response.aiter_bytes():
                self._take(chunk)
                yield chunk
        except (Disconnected, httpx2().HTTPError):
            self._client.is_broken = True
            raise
        self._end()

    def _take(self, chunk: bytes) -> None:
        if self._media == fields.EVENTS:
            self._take_events(chunk)
        else:
            self._body += chunk
        if self._intake.is_flooded or len(self._body) > LONGEST:
            self._intake.room = -1
            raise RemoteError("the answer exceeds the limit of an inspection")

    def _take_events(self, chunk: bytes) -> None:
        try:
            self._decoder.decode(chunk)
        except UnicodeDecodeError:
            # The parser puts U+FFFD in its place (HTML standard, "Parsing an event stream").
            self._head["replaced"] = True
        try:
            events = self._parser.feed(chunk)
        except ValueError:
            events, self._intake.room = [], -1
        if not events:
            self._intake.room -= len(chunk)
        for event in events:
            # One with neither sets the delay before a new connection.
            if event.id or event.data:
                self._head.setdefault("primed", bool(event.id) and not event.data)
            ids: tuple[str, ...] = self._head.get("events", ())
            if event.id and event.id not in ids[-1:]:
                self._head["events"] = (*ids, event.id)
            if event.data and event.event == "message":
                self._intake.note("server", event.data.encode())

    def _end(self) -> None:
        if self._body.strip():
            most = LONGEST if self._media.endswith("json") else _EXCERPT
            self._intake.note("server", bytes(self._body[:most]))
        self._body.clear()

    async def aclose(self) -> None:
        if not self._is_read:
            # Clients read nothing in answer to a notification, but rules are about it.
            with suppress(Disconnected, httpx2().HTTPError, RemoteError):
                async for _ in parts_of_body(self, self._head["method"]):
                    pass
        self._end()
        await self._response.aclose()
