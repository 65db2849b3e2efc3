"""The transport of the first revision, HTTP+SSE: one stream carries all messages of the server.

2024-11-05, basic/transports, "HTTP with SSE". For its detection: 2025-11-25, basic/transports,
"Backwards Compatibility".
"""

import asyncio
from contextlib import aclosing
from typing import Final

from ...core.errors import Disconnected, RemoteError
from .. import headers as fields
from ..sse import Event
from .backend import URL
from .outgoing import Message
from .protocol_headers import POSTED
from .response_rules import HttpReply, http_error
from .state import ClientState

# The timeout for the event with the endpoint, in seconds.
_ENDPOINT: Final = 5.0


class LegacySseTransport:
    """A server with one open stream and an endpoint for messages."""

    __slots__ = ("_endpoint", "_link", "_task")

    def __init__(self, link: ClientState) -> None:
        self._link = link
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._task = link.tasks.start(self._run())

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
            self._link.inbox.end(gone)
        else:
            self._endpoint.set_exception(gone)

    async def _listen(self) -> None:
        headers = {"accept": fields.EVENTS}
        async with self._link.wire.open("GET", headers) as incoming:
            if not incoming.streams:
                reply = HttpReply(incoming.status, "", b"")
                if 200 <= incoming.status < 300:
                    raise Disconnected(
                        f"GET returned {incoming.media or 'no body'} instead of an event stream"
                    )
                raise http_error("GET", reply)
            async with aclosing(incoming.events()) as events:
                async for event in events:
                    self._take(event)
                    await self._link.inbox.room()

    def _take(self, event: Event) -> None:
        if not self._endpoint.done():
            self._endpoint.set_result(self._resolved(event))
        elif event.event == "message" and event.data:
            self._link.inbox.put(event.data.encode())

    def _resolved(self, event: Event) -> URL:
        if event.event != "endpoint":
            raise Disconnected(f"the first event is {event.event[:50]!r} instead of 'endpoint'")
        url = self._link.wire.resolved(event.data)
        if url is None:
            raise Disconnected("the endpoint in the stream is of another origin, and is not used")
        return url

    async def post(self, message: Message) -> None:
        """Post a message; raise `Disconnected`, and `HttpError` if it is not accepted."""
        endpoint = self._endpoint.result()
        async with self._link.wire.open("POST", POSTED, message.body, endpoint) as incoming:
            if not 200 <= incoming.status < 300:
                raise http_error(f"POST {message.name}", await incoming.reply())
