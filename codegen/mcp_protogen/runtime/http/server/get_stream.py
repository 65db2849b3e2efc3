"""GET: the stream of a session, new or after its connection broke.

2025-11-25, basic/transports, "Listening for Messages from the Server" and "Resumability and
Redelivery".
"""

from asyncio import FIRST_COMPLETED, create_task, wait

from .asgi import HttpRefusal
from .channel import EventResponse
from .event_stream import Log, Stream, is_standalone, parsed
from .request import HttpRequest
from .sessions import HttpSession


class Reading:
    """The server of streams of sessions; `retry` is in seconds."""

    def __init__(self, retry: float) -> None:
        self._retry = round(retry * 1000)

    async def read(
        self, session: HttpSession, request: HttpRequest, channel: EventResponse, last: str | None
    ) -> None:
        """Serve a stream until it is over, or its client has gone; raise `HttpRefusal`."""
        try:
            await self._read(session, request, channel, last)
        finally:
            channel.abort()

    async def _read(
        self, session: HttpSession, request: HttpRequest, channel: EventResponse, last: str | None
    ) -> None:
        if last is None:
            await self._standalone(session, request, channel, None)
            return
        place = parsed(last)
        if place is None or session.store is None:
            raise _unknown_event()
        name, number = place
        standalone = session.standalone.log
        if standalone is not None and name == standalone.name:
            await self._standalone(session, request, channel, number)
            return
        live = session.live(name)
        stream = live or Stream(None, Log(session.store, session.id, name))
        if not await stream.attach(channel, number):
            raise _unknown_event()
        if live is not None:
            try:
                await self._until_over(request, channel)
            finally:
                stream.detach(channel)
        elif is_standalone(name):
            # Another process has begun it; from here on it is this one's.
            stream.detach(channel)
            await self._standalone(session, request, channel, None)
        else:
            await stream.close()

    async def _standalone(
        self, session: HttpSession, request: HttpRequest, channel: EventResponse, after: int | None
    ) -> None:
        polling = session.side.endpoint.connection.table.rules.polling
        retry = self._retry if polling and after is None else None
        if not await session.standalone.attach(channel, after, retry):
            raise _unknown_event()
        try:
            await self._until_over(request, channel)
        finally:
            await session.standalone.detach(channel)

    @staticmethod
    async def _until_over(request: HttpRequest, channel: EventResponse) -> None:
        """Wait until the client has gone, or the stream is over."""
        gone = create_task(request.gone())
        try:
            await wait((gone, channel.ended), return_when=FIRST_COMPLETED)
        finally:
            gone.cancel()


def _unknown_event() -> HttpRefusal:
    return HttpRefusal(400, "What followed the event in Last-Event-ID is not known")
