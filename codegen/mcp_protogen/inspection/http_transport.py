"""Steps over HTTP: exchanges of Streamable HTTP, and the stream of HTTP+SSE.

Redirects are not followed, so that nothing is sent to another address than that of the user.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final
from urllib.parse import urljoin

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.connecting.authorization import FixedFields
from mcp_protogen.inspection.http_plan import METADATA, session_id
from mcp_protogen.inspection.intake import BYTES, LONGEST, MESSAGES, Clock, Intake
from mcp_protogen.inspection.messages import protocol_of
from mcp_protogen.inspection.server import Server
from mcp_protogen.inspection.steps import HANDSHAKE, STATELESS, Probe, Step
from mcp_protogen.inspection.stream_transport import encoded
from mcp_protogen.inspection.transcript import (
    CLOSED,
    FLOOD,
    TIMEOUT,
    UNREACHABLE,
    Exchange,
    Session,
)
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.http import headers as fields
from mcp_protogen.runtime.http import sse
from mcp_protogen.runtime.http.auth.challenge import token_param
from mcp_protogen.runtime.http.auth.errors import AuthorizationError
from mcp_protogen.runtime.http.auth.urls import origin, split_url
from mcp_protogen.runtime.http.client.authorization import AuthorizingClient
from mcp_protogen.runtime.http.client.http_client import parts_of_body
from mcp_protogen.runtime.http.httpx2 import httpx2, trust

_RECORDED: Final = (
    *("content-type", "content-length", fields.SESSION_ID, fields.PROTOCOL_VERSION),
    *("www-authenticate", "allow", "location", "x-accel-buffering"),
)
"""The header fields of answers that are recorded."""
_UNSAID: Final = 2000
"""How much is recorded of a body that is no message, in bytes."""
_WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"


def http_client(server: Server) -> AuthorizingClient:
    """Return a client that sends the header fields of the user, and authorizes its requests."""
    package = httpx2()
    client: Any = package.AsyncClient(
        verify=trust(), timeout=package.Timeout(None), headers=server.headers
    )
    return AuthorizingClient(client, server.authorizer or FixedFields())


def usual_headers(session: Session, step: Step) -> dict[str, str]:
    """Return the header fields of a request as a careful client would send them."""
    usual = {
        "accept": f"{fields.JSON}, {fields.EVENTS}",
        "content-type": fields.JSON,
        fields.SESSION_ID: session_id(session),
    }
    message = step.messages[0] if step.messages else None
    if session.revision == STATELESS:
        usual[fields.PROTOCOL_VERSION] = STATELESS
        usual |= _mirrored(message)
    elif session.revision in HANDSHAKE[2:] and session.exchanges:
        usual[fields.PROTOCOL_VERSION] = session.revision
    usual |= {name: value or "" for name, value in step.headers.items()}
    return {name: value for name, value in usual.items() if value}


def _mirrored(message: Any) -> dict[str, str]:
    """Return the fields that repeat parts of a message."""
    if not is_object(message) or not isinstance(message.get("method"), str):
        return {}
    method: str = message["method"]
    named = fields.NAMED.get(method) or protocol_of(STATELESS).methods.get(method, {}).get("name")
    name = message.get("params", {}).get(named)
    if not isinstance(name, str):
        return {fields.METHOD: method}
    # What a server lists may have lone surrogates.
    value = fields.encoded(name.encode("utf-8", "replace").decode())
    return {fields.METHOD: method, fields.NAME: value}


class HttpProbing:
    """A server at a URL, to which each message is posted by itself."""

    def __init__(self, server: Server, session: Session, clock: Clock) -> None:
        self._client = http_client(server)
        self._url = server.url
        self._session = session
        self._clock = clock
        self._room = BYTES

    async def exchange(self, probe: Probe, step: Step, timeout: float) -> Exchange:
        """Send a request, and read its answer until that is complete."""
        intake = Intake(step, self._clock, self._room)
        incoming = _Incoming(intake, step)
        headers = usual_headers(self._session, step)
        outcome, detail = "", ""
        try:
            async with asyncio.timeout(step.within or timeout) as limit:
                self._client.hold = partial(_hold, limit, timeout)
                await self._sent(step, headers, incoming)
        except TimeoutError:
            outcome = "" if step.within else TIMEOUT
        except (httpx2().HTTPError, RemoteError) as error:
            outcome = CLOSED if self._session.exchanges else UNREACHABLE
            detail = f"{type(error).__name__}: {error}"
        self._room = intake.room
        return Exchange(
            probe=probe.name,
            messages=tuple(intake.messages),
            method=step.method,
            headers=headers,
            status=incoming.status,
            answered=incoming.answered,
            events=tuple(incoming.ids),
            primed=incoming.primed,
            outcome=outcome or (FLOOD if intake.is_flooded else ""),
            detail=detail,
        )

    async def _sent(self, step: Step, headers: Mapping[str, str], incoming: "_Incoming") -> None:
        body = encoded(step.messages[0]) if step.messages else None
        if body is not None:
            incoming.intake.sent(body)
        url = self._address(step.url)
        async with _opened(self._client, step.method, url, headers, body) as response:
            incoming.head(response)
            if incoming.streams and not step.waits:
                return
            async for chunk in parts_of_body(response, step.method):
                if incoming.feed(chunk):
                    break
            incoming.finish()
        for reply in incoming.replies:
            await self._reply(reply, incoming.intake)

    async def _reply(self, reply: dict[str, Any], intake: Intake) -> None:
        body = encoded(reply)
        intake.sent(body)
        headers = usual_headers(self._session, Step(messages=(reply,)))
        async with _opened(self._client, "POST", self._url, headers, body):
            pass

    def _address(self, url: str) -> str:
        if not url:
            return self._url
        challenge = self._session.beginning.answered.get("www-authenticate", "")
        named = token_param([challenge], "resource_metadata") or ""
        target = httpx2().URL(self._url)
        path = "" if url == METADATA[-1] else target.path.rstrip("/")
        own = str(target.copy_with(path=_WELL_KNOWN + path, query=None))
        # To follow an address of another origin would reveal that somebody inspects, and a token.
        return named if url == METADATA[0] and _same_origin(named, own) else own

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()


def _hold(limit: asyncio.Timeout, timeout: float, id: object, held: bool) -> None:
    """Let no time pass while the user logs in."""
    limit.reschedule(None if held else asyncio.get_running_loop().time() + timeout)


def _same_origin(one: str, other: str) -> bool:
    found, own = split_url(one), split_url(other)
    return found is not None and own is not None and origin(found) == origin(own)


@asynccontextmanager
async def _opened(
    client: Any, method: str, url: str, headers: Mapping[str, str], body: bytes | None
) -> AsyncGenerator[Any, None]:
    # The id of a session is sent back as it came, even if it has other characters than it may.
    encoded_headers = {name.encode(): value.encode() for name, value in headers.items()}
    request = client.build_request(method, url, content=body, headers=encoded_headers)
    response = await client.send(request, stream=True, follow_redirects=False)
    try:
        yield response
    finally:
        await response.aclose()


class _Incoming:
    """What is read of an answer."""

    def __init__(self, intake: Intake, step: Step) -> None:
        self.intake = intake
        self.replies: list[dict[str, Any]] = []
        self.status = 0
        self.answered: dict[str, str] = {}
        self.ids: list[str] = []
        self.primed: bool | None = None
        self.streams = False
        # What is not awaited may come until the end.
        self._whole = step.barrier is not None and not step.until
        self._parser = sse.Parser(LONGEST)
        self._body = bytearray()

    def head(self, response: Any) -> None:
        """Take in the status and the header fields."""
        self.status = response.status_code
        found = response.headers
        self.answered = {name: found[name] for name in _RECORDED if name in found}
        self.streams = fields.media_type(found.get("content-type")) == fields.EVENTS

    def feed(self, chunk: bytes) -> bool:
        """Take in a part of the body; return whether no more is needed."""
        intake = self.intake
        intake.room -= len(chunk)
        if not self.streams:
            self._body += chunk
            if len(self._body) > LONGEST:
                intake.room = -1
            return intake.is_flooded
        try:
            events = self._parser.feed(chunk)
        except ValueError:
            intake.room = -1
            events = []
        for event in events:
            # One with neither sets the delay before a new connection.
            if self.primed is None and (event.id or event.data):
                self.primed = bool(event.id) and not event.data
            if event.id and event.id not in self.ids[-1:]:
                self.ids.append(event.id)
            if event.data and event.event == "message":
                self.replies += intake.take(event.data.encode())
        return intake.is_flooded or (intake.is_complete and not self._whole)

    def finish(self) -> None:
        """Take in a body that is not a stream of events."""
        if self._body.strip():
            is_json = fields.media_type(self.answered.get("content-type")) == fields.JSON
            self.replies += self.intake.take(bytes(self._body if is_json else self._body[:_UNSAID]))


class SseTransport:
    """The client's end of HTTP+SSE (2024-11-05, basic/transports, "HTTP with SSE")."""

    def __init__(self, client: Any, url: str) -> None:
        self._client = client
        self._url = url
        self._endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._queue: asyncio.Queue[bytes] = asyncio.Queue(MESSAGES)
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def open(cls, server: Server) -> "SseTransport":
        """Open the stream, and wait for the endpoint; raise `Disconnected` without one."""
        transport = cls(http_client(server), server.url)
        try:
            await transport._endpoint
        except BaseException:
            await transport.close()
            raise
        return transport

    async def send(self, messages: Sequence[bytes]) -> None:
        """Post messages; raise `Disconnected` if the network fails."""
        for message in messages:
            headers = {"content-type": fields.JSON}
            try:
                async with _opened(self._client, "POST", self._endpoint.result(), headers, message):
                    pass
            except httpx2().HTTPError as error:
                raise Disconnected(f"POST failed: {error}") from None

    async def receive(self) -> Sequence[bytes]:
        """Wait for a message; return none once the stream has ended."""
        getting = asyncio.create_task(self._queue.get())
        await asyncio.wait({getting, self._reading}, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return [getting.result()]
        getting.cancel()
        return []

    async def close(self) -> None:
        """End the stream."""
        self._reading.cancel()
        with suppress(asyncio.CancelledError):
            await self._reading
        await self._client.aclose()

    async def _read(self) -> None:
        try:
            await self._read_events()
            raise Disconnected("the stream has ended")
        except (httpx2().HTTPError, AuthorizationError, RemoteError, OSError, ValueError) as error:
            if not self._endpoint.done():
                self._endpoint.set_exception(Disconnected(str(error)))

    async def _read_events(self) -> None:
        parser = sse.Parser(LONGEST)
        headers = {"accept": fields.EVENTS}
        async with _opened(self._client, "GET", self._url, headers, None) as response:
            media = fields.media_type(response.headers.get("content-type"))
            if response.status_code != 200 or media != fields.EVENTS:
                raise Disconnected(f"GET got HTTP {response.status_code} {media}".strip())
            async for chunk in parts_of_body(response, "GET"):
                for event in parser.feed(chunk):
                    await self._take(event)

    async def _take(self, event: sse.Event) -> None:
        if self._endpoint.done():
            if event.event == "message" and event.data:
                await self._queue.put(event.data.encode())
            return
        if event.event != "endpoint":
            raise Disconnected(f"the first event is {event.event[:50]!r}, not 'endpoint'")
        target = urljoin(self._url, event.data)
        if not _same_origin(target, self._url):
            raise Disconnected("the endpoint is of another origin, or no URL")
        self._endpoint.set_result(target)
