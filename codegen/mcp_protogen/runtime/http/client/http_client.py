"""HTTP requests and answers, by an `httpx2.AsyncClient`.

Network failures are `Disconnected`. Nothing is sent to another origin than the server's: that would
reveal messages, session ids or tokens.
"""

from asyncio import sleep
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, Final, Self, TypeAlias

from ...core.connection_errors import Disconnected, Unsent
from ...core.errors import RemoteError
from .. import headers as fields
from .. import sse
from ..httpx2 import URL as URL
from ..httpx2 import HttpClient, httpx2, origin_of, redact_url

Response: TypeAlias = Any
"""An `httpx2.Response`."""

# Redirects that keep the method and the body, or should (RFC 9110, section 15.4).
_REDIRECTS: Final = frozenset({301, 302, 307, 308})
_MOST_REDIRECTS: Final = 5

# Statuses after which the request is repeated if the server says when; the first one also without
# that (RFC 6585, section 4; RFC 9110, section 15.6.4).
_TOO_MANY_REQUESTS: Final = 429
_LATER: Final = frozenset({_TOO_MANY_REQUESTS, 503})

# The default first wait, and the least one, in seconds; waits double. After the last of them, the
# status is reported.
_USUAL_WAIT: Final = 1.0
_LEAST_WAIT: Final = 0.1
_MOST_WAITS: Final = 3

# How much of an error's body is read, in bytes.
_LARGEST_REFUSAL: Final = 1024 * 1024


def parts_of_body(response: Response, label: str) -> AsyncIterator[bytes]:
    """Return the parts of a body as they come, decompressed.

    Raise `RemoteError`, about `label`, for a body compressed more than once: it may grow a
    thousandfold each time.
    """
    encoding = response.headers.get("content-encoding", "")
    if "," in encoding:
        raise RemoteError(f"{label}: the body is compressed more than once")
    parts: AsyncIterator[bytes] = response.aiter_bytes()
    return parts


class HttpReply:
    def __init__(self, response: Response, label: str, limit: int) -> None:
        self._response = response
        self._label = label
        self._limit = limit
        self.status: Final[int] = response.status_code
        self.succeeded: Final = 200 <= self.status < 300
        self.media: Final = fields.media_type(self.field("content-type"))
        self.streams: Final = self.media == fields.EVENTS and self.succeeded
        self.body = b""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._response.aclose()

    def field(self, name: str) -> str | None:
        value: str | None = self._response.headers.get(name)
        return value

    @property
    def retry_after(self) -> float | None:
        return fields.retry_after(self.field("retry-after"), self.field("date"))

    def delay(self, attempts: int, stated: float | None = None) -> float | None:
        """Return the seconds to wait, as `stated` in the answer or by the status, if any."""
        if attempts == _MOST_WAITS or (stated is None and self.status not in _LATER):
            return None
        seconds = self.retry_after if stated is None else stated
        if seconds is not None:
            return max(seconds, _LEAST_WAIT * 2.0**attempts)
        return _USUAL_WAIT * 2.0**attempts if self.status == _TOO_MANY_REQUESTS else None

    async def read_events(
        self, take: Callable[[sse.Event], object], room: Callable[[], Awaitable[None]]
    ) -> None:
        """Pass on the body's events, as fast as there is `room`."""
        parser = sse.Parser(self._limit)
        try:
            async for chunk in parts_of_body(self._response, self._label):
                try:
                    events = parser.feed(chunk)
                except ValueError as error:
                    raise RemoteError(f"{self._label}: {error}") from None
                for event in events:
                    take(event)
                    await room()
                # A few compressed bytes may become endless comments.
                await sleep(0)
        except Exception as error:
            _check_network(error, self._label)
            raise

    async def read(self) -> None:
        limit = self._limit if self.succeeded else min(self._limit, _LARGEST_REFUSAL)
        body = bytearray()
        try:
            async for chunk in parts_of_body(self._response, self._label):
                if body or not self.succeeded:
                    # Calls refused together go on together.
                    await sleep(0)
                body += chunk
                if len(body) > limit:
                    if self.succeeded:
                        raise RemoteError(f"{self._label}: a body of more than {limit} bytes")
                    break
        except Exception as error:
            _check_network(error, self._label)
            raise
        self.body = bytes(body)


class HttpWire:
    def __init__(
        self, client: HttpClient, url: URL, headers: Mapping[str, str], limit: int, owned: bool
    ) -> None:
        self.client = client
        self._headers = {name.lower().encode(): text.encode() for name, text in headers.items()}
        self._limit = limit
        self._owned = owned
        self._last: Any = None, {}
        self.url: Final = url
        self._named = redact_url(url)

    async def open(
        self,
        method: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        url: URL | None = None,
    ) -> HttpReply:
        """Return the reply; its context closes it."""
        to = url or self.url
        label = f"{method} {self._named if url is None else redact_url(to)}"
        if self._last[0] is not headers:
            # Ids of events may be any text (HTML standard, "Last-Event-ID").
            own = {name.encode(): text.encode() for name, text in headers.items()}
            self._last = headers, self._headers | own
        encoded = self._last[1]
        redirects = 0
        try:
            while True:
                request = self.client.build_request(method, to, headers=encoded, content=body)
                response = await self.client.send(request, stream=True, follow_redirects=False)
                follows = response.status_code in _REDIRECTS and redirects < _MOST_REDIRECTS
                location = response.headers.get("location") if follows else None
                new_url = None if location is None else self.resolve(location, to)
                if new_url is None:
                    # The caller decides about an unfollowed redirect.
                    return HttpReply(response, label, self._limit)
                redirects += 1
                await response.aclose()
                to = new_url
        except Exception as error:
            _check_network(error, label)
            raise

    def resolve(self, reference: str, base: URL | None = None) -> URL | None:
        """Return a reference as absolute URL; None if it is invalid or of another origin."""
        try:
            url = (base or self.url).join(reference)
        except httpx2().InvalidURL:
            return None
        return url if origin_of(url) == origin_of(self.url) else None

    async def close(self) -> None:
        if self._owned:
            await self.client.aclose()


def _check_network(error: Exception, label: str) -> None:
    """Raise `Disconnected`, about `label`, for a failure of the network."""
    package = httpx2()
    if isinstance(error, (package.RequestError, package.InvalidURL)):
        text = f"{label}: {type(error).__name__}: {error}".rstrip(": ")
        unsent = (package.ConnectError, package.ConnectTimeout, package.PoolTimeout)
        raise (Unsent if isinstance(error, unsent) else Disconnected)(text) from None
