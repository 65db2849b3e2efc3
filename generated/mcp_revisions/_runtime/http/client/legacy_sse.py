"""The transport of the first revision, HTTP+SSE: one stream carries all messages of the server.

2024-11-05, basic/transports, "HTTP with SSE"; 2025-11-25, basic/transports, "Backwards
Compatibility".
"""

import asyncio
from typing import Final

from ...core.connection_errors import Disconnected
from ...core.errors import RemoteError
from .. import headers as fields
from ..sse import Event
from .http_client import URL
from .outgoing import POSTED, Message
from .request import http_error
from .state import ClientState

# The timeout for the event with the endpoint, in seconds.
_ENDPOINT: Final = 5.0


class LegacySseTransport:
    """A server with one open stream and an endpoint for messages."""

    __slots__ = ("_endpoint", "_state", "_task")

    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._task = state.tasks.start(self._run())

    async def found(self) -> None:
        """Wait until the endpoint is known; raise `Disconnected`, which says why it is not."""
        try:
            async with asyncio.timeout(_ENDPOINT):
                await asyncio.shield(self._endpoint)
        except TimeoutError:
            self._task.cancel()
            raise Disconnected(f"GET brought no event within {_ENDPOINT:g} s") from None

    async def _run(self) -> None:
        gone = Disconnected("the server has ended its stream")
        try:
            await self._listen()
        except Exception as error:
            known = isinstance(error, (Disconnected, RemoteError))
            gone = Disconnected(str(error) if known else f"{type(error).__name__}: {error}")
        if self._endpoint.done():
            self._state.inbox.end(gone)
        else:
            self._endpoint.set_exception(gone)

    async def _listen(self) -> None:
        async with self._state.http.open("GET", {"accept": fields.EVENTS}) as reply:
            if not reply.succeeded:
                raise http_error("GET", reply)
            if not reply.streams:
                got = reply.media or "no body"
                raise Disconnected(f"GET returned {got} instead of an event stream")
            await self._state.read(reply, self._take)

    def _take(self, event: Event) -> None:
        if not self._endpoint.done():
            self._endpoint.set_result(self._resolved(event))
        elif event.event == "message" and event.data:
            self._state.inbox.put(event.data.encode())

    def _resolved(self, event: Event) -> URL:
        if event.event != "endpoint":
            raise Disconnected(f"the first event is {event.event[:50]!r} instead of 'endpoint'")
        url = self._state.http.resolved(event.data)
        if url is None:
            raise Disconnected("the endpoint in the stream is of another origin, and is not used")
        return url

    async def post(self, message: Message) -> None:
        """Post a message; raise `Disconnected`, and `HttpError` if it is not accepted."""
        endpoint = self._endpoint.result()
        async with self._state.http.open("POST", POSTED, message.body, endpoint) as reply:
            if not reply.succeeded:
                await reply.read()
                raise http_error(f"POST {message.name}", reply)
