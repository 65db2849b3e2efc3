"""Steps over HTTP, with the transports of the runtime."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.connection import INITIALIZED
from mcp_protogen.runtime.core.connection_errors import Disconnected, HttpError
from mcp_protogen.runtime.core.errors import RemoteError
from mcp_protogen.runtime.http.client.authorization import AuthorizingClient
from mcp_protogen.runtime.http.client.client_state import ClientState, Reconnection
from mcp_protogen.runtime.http.client.http_client import HttpWire
from mcp_protogen.runtime.http.client.outgoing import Message
from mcp_protogen.runtime.http.client.transport import HttpTransport, LegacySseTransport
from mcp_protogen.runtime.http.httpx2 import HttpClient, httpx2, trust
from mcp_protogen.runtime.transports.base import (
    Opener,
    Paused,
    Received,
    RestartableTransport,
    Transport,
    Unanswered,
)
from mcp_protogen.servers.connect.authorization import FixedFields
from mcp_protogen.servers.inspect.http_probes import GET, session_id
from mcp_protogen.servers.inspect.http_tap import TappedClient
from mcp_protogen.servers.inspect.intake import LONGEST, StepIntake
from mcp_protogen.servers.inspect.probes import cancellation
from mcp_protogen.servers.inspect.raw_door import RawDoor, table
from mcp_protogen.servers.inspect.server import Server
from mcp_protogen.servers.inspect.steps import Probe, ProbeStep
from mcp_protogen.servers.inspect.stream_transport import StreamProbing
from mcp_protogen.servers.inspect.transcript import CLOSED, UNREACHABLE, Exchange, Transcript


def http_client(server: Server) -> AuthorizingClient:
    """Return a client that sends the header fields of the user, and authorizes its requests."""
    package = httpx2()
    client: Any = package.AsyncClient(
        verify=trust(), timeout=package.Timeout(None), headers=server.headers
    )
    return AuthorizingClient(client, server.authorizer or FixedFields())


def _wire(client: HttpClient, server: Server) -> HttpWire:
    return HttpWire(client, httpx2().URL(server.url), {}, LONGEST, owned=False)


def _is_usual(step: ProbeStep) -> bool:
    """Return whether a client would send this: a request, or the end of the handshake."""
    message = step.messages[0] if step.messages else None
    if step.headers or step.url or not is_object(message):
        return False
    return message.get("method") == INITIALIZED or {"jsonrpc", "id", "method"} <= message.keys()


async def open_http(server: Server) -> HttpTransport:
    """Return a transport to the server at a URL, which connects when it sends."""
    client = http_client(server)
    transport = HttpTransport(_wire(client, server), Reconnection())
    client.pause = transport.pause
    return transport


class HttpProbing(StreamProbing):
    """The steps of a connection over Streamable HTTP, by a transport of it."""

    _door: RawDoor

    def __init__(
        self, opener: Opener, transcript: Transcript, intake: StepIntake, grace: float
    ) -> None:
        async def open() -> Transport:
            transport = await opener()
            assert isinstance(transport, HttpTransport)
            transport.know(table)
            self._client.attach(transport.http)
            self._door = RawDoor(transport.http, transcript, intake)
            return transport

        super().__init__(open, intake, grace)
        self._client = TappedClient(intake)
        self._transcript = transcript
        self._timeout = 0.0
        self._error: Exception | None = None

    async def exchange(self, probe: Probe, step: ProbeStep, timeout: float) -> Exchange:
        """Send a request, and read its answer until that is complete."""
        if self._client.stream is not None and step == GET:
            # The transport has opened it, and a server may refuse a second one.
            return Exchange(probe=probe.name, **self._client.stream)
        self._client.begin()
        self._timeout, self._error = timeout, None
        # The end of an exchange of HTTP says that nothing more comes.
        last = step.last["id"] if step.last else None
        alone = replace(step, last=None, waits=tuple(id for id in step.waits if id != last))
        sent = await super().exchange(probe, alone, timeout)
        self._client.only_posts = False
        outcome = CLOSED if self._client.is_broken and self._error else sent.outcome
        if outcome == CLOSED and not self._transcript.exchanges:
            outcome = UNREACHABLE
        detail = sent.detail or str(self._error or "")
        return replace(sent, outcome=outcome, detail=detail, **self._client.head(step.method))

    async def _carry_out(self, step: ProbeStep, limit: asyncio.Timeout) -> None:
        if step.method == "DELETE" and session_id(self._transcript):
            assert self._transport is not None
            await self._transport.close()
        elif _is_usual(step):
            await super()._carry_out(step, limit)
            if step.until:
                await self._send(cancellation(step.messages[0]["id"]))
        else:
            try:
                await self._door.send(step)
            except (Disconnected, RemoteError) as error:
                self._error = error

    async def _take(self, received: Received, limit: asyncio.Timeout) -> None:
        if isinstance(received, bytes):
            await super()._take(received, limit)
        elif isinstance(received, Paused):
            # No time passes while the user logs in.
            end = asyncio.get_running_loop().time() + self._timeout
            limit.reschedule(None if received.paused else end)
        elif isinstance(received, Unanswered) and self._intake.stop_waiting(received.id):
            if not isinstance(received.error, Disconnected | RemoteError):
                raise received.error
            if not isinstance(received.error, HttpError):
                self._error = received.error
        elif isinstance(received, RemoteError):
            self._intake.stop_waiting(received.id)

    async def close(self) -> Exchange | None:
        """End the session, and close the connections; return whether a process ended by itself."""
        ended = await super().close()
        if self._transport is not None:
            await self._client.aclose()
        return ended if isinstance(self._transport, RestartableTransport) else None


class SseTransport:
    """The client's end of HTTP+SSE (2024-11-05, basic/transports, "HTTP with SSE")."""

    def __init__(self, server: Server) -> None:
        self._client = http_client(server)
        self._state = ClientState(_wire(self._client, server), Reconnection())
        self._stream = LegacySseTransport(self._state)
        self.receive = self._state.inbox.receive

    @classmethod
    async def open(cls, server: Server) -> Transport:
        """Open the stream, and wait for the endpoint; raise `Disconnected` without one."""
        transport = cls(server)
        try:
            await transport._stream.find_endpoint()
        except BaseException:
            await transport.close()
            raise
        return transport

    async def send(self, messages: Sequence[bytes]) -> None:
        """Post messages, valid or not; raise `Disconnected` if the network fails."""
        for body in messages:
            try:
                await self._stream.post(Message(body, "response", "", {}))
            except HttpError:
                continue  # An answer comes on the stream, or not at all.

    async def close(self) -> None:
        """End the stream."""
        self._state.inbox.end()
        await self._state.tasks.cancel()
        await self._client.aclose()
