"""The stream that a server may use for messages that answer no request.

2025-11-25, basic/transports, "Listening for Messages from the Server".
"""

import asyncio
from asyncio import sleep
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Final

from ...core.errors import Disconnected, RemoteError
from .http_client import Incoming
from .resume import Cursor
from .state import ClientState

# Temporary statuses: timeout, too many requests, and any failure of the server.
_PASSING: Final = frozenset({408, 429, *range(500, 600)})


class StandaloneStream:
    """A stream that is kept open if the server has one; `lost` is called when the session ends."""

    __slots__ = ("_link", "_lost", "_task", "settled")

    def __init__(self, link: ClientState, lost: Callable[[int], Awaitable[None]]) -> None:
        self._link = link
        self._lost = lost
        self._task: asyncio.Task[None] | None = None
        self.settled = asyncio.Event()
        """Set when it is known whether the server has such a stream."""

    def start(self) -> None:
        """Open the stream; close that of an earlier session."""
        if self._task is not None:
            self._task.cancel()
        self._task = self._link.tasks.start(self._run())

    async def _run(self) -> None:
        cursor = Cursor(self._link.reconnection)
        session = self._link.conversation.sessions
        opened = False
        while True:
            status = await self._listen(cursor)
            opened = opened or status == 200
            if status == 404 and opened and self._link.conversation.session is not None:
                # The stream was there before, so 404 means that the session has ended.
                self._link.tasks.start(self._renewed(session))
            if status == 400 and cursor.last_id is not None:
                # The server no longer knows this event; continue with those to come.
                cursor.last_id = None
                continue
            if status is not None and status != 200 and status not in _PASSING:
                self._link.log.info("the server does not offer a stream: HTTP %d", status)
                return
            cursor.broke()
            await sleep(cursor.wait)

    async def _renewed(self, session: int) -> None:
        """Begin a new session, in a task of its own: a new session cancels this stream's task."""
        try:
            await self._lost(session)
        except Disconnected as error:
            self._link.log.warning("%s", error)

    async def _listen(self, cursor: Cursor) -> int | None:
        """Read one connection to its end; return its status, or None if there was none."""
        headers = self._link.conversation.stream_headers(cursor.last_id)
        cursor.opens()
        try:
            async with self._link.wire.open("GET", headers) as incoming:
                self.settled.set()
                if incoming.streams:
                    await self._read(incoming, cursor)
                    return 200
                # A success without a stream means that there is no stream.
                return 405 if incoming.status < 300 else incoming.status
        except (Disconnected, RemoteError) as error:
            self._link.log.info("the server's stream broke: %s", error)
            return None
        finally:
            self.settled.set()

    async def _read(self, incoming: Incoming, cursor: Cursor) -> None:
        async with aclosing(incoming.events()) as events:
            async for event in events:
                cursor.passed(event)
                if event.data and event.event == "message":
                    self._link.inbox.put(event.data.encode())
                    await self._link.inbox.room()
