"""The session of the handshake era, and the stream for messages that answer no request.

2025-11-25, basic/transports, "Session Management", "Listening for Messages from the Server".
"""

import asyncio
from asyncio import Lock, sleep
from logging import getLogger
from typing import Final

from ...core.errors import Disconnected, McpError, RemoteError
from ..sse import Event
from .outgoing import INITIALIZE, message_of
from .request import ask, post_unanswered
from .resume import Cursor
from .state import ClientState

_log: Final = getLogger(__name__)

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

# Temporary statuses: timeout, too many requests, and any failure of the server.
_PASSING: Final = frozenset({408, 429, *range(500, 600)})

# How long to wait for the server's own stream, because the next request may make the server use it;
# in seconds.
_LISTENING: Final = 1.0

# The timeout for ending a session, in seconds.
_FAREWELL: Final = 2.0


class HttpSession:
    """A session and its stream, if the server has them; one that has ended is replaced."""

    __slots__ = ("_lock", "_settled", "_state", "_task")

    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._lock = Lock()
        self._task: asyncio.Task[None] | None = None
        # Set when it is known whether the server has a stream.
        self._settled = asyncio.Event()

    async def ready(self) -> None:
        """Wait while a new session begins: until then, nothing else should be sent."""
        if self._lock.locked():
            async with self._lock:
                pass

    async def renew(self, lost: int) -> None:
        """Begin a new session, unless that has happened since there were `lost` sessions.

        Raises `Disconnected` if that fails, or if the new session is in another revision: the user
        of the connection relies on the one that was negotiated.
        """
        protocol = self._state.protocol
        async with self._lock:
            if protocol.sessions != lost or protocol.opening is None:
                return
            agreed = protocol.agreed
            self._state.log.info("the server has ended the session; beginning a new one")
            problem: object = None
            try:
                await ask(self._state, INITIALIZE, protocol.opening.params)
                if protocol.sessions == lost:
                    problem = "no revision given"
            except (McpError, RemoteError, Disconnected) as error:
                problem = error
            if problem is not None:
                raise Disconnected(f"the session has ended, and no new one could begin: {problem}")
            if protocol.agreed != agreed:
                broken = Disconnected(
                    f"the session has ended, and the new one is of {protocol.agreed} "
                    f"instead of {agreed}: connect again"
                )
                self._state.inbox.end(broken)
                raise broken
            await post_unanswered(self._state, message_of(_INITIALIZED))
            self._open_stream()

    async def listen(self) -> None:
        """Open the stream, and wait for a limited time until it is open."""
        self._open_stream()
        try:
            async with asyncio.timeout(_LISTENING):
                await self._settled.wait()
        except TimeoutError:
            _log.info("it is not known yet whether the server offers a stream")

    def _open_stream(self) -> None:
        """Keep a stream open, in place of that of an earlier session."""
        if self._task is not None:
            self._task.cancel()
        self._task = self._state.tasks.start(self._run())

    async def _run(self) -> None:
        cursor = Cursor(self._state.reconnection)
        session = self._state.protocol.sessions
        opened = False
        while True:
            status = await self._listen(cursor)
            opened = opened or status == 200
            if status == 404 and opened and self._state.protocol.session is not None:
                # The stream was there before, so 404 means that the session has ended.
                self._state.tasks.start(self._renewed(session))
            if status == 400 and cursor.last_id is not None:
                # The server no longer knows this event; continue with those to come.
                cursor.last_id = None
                continue
            if status is not None and status != 200 and status not in _PASSING:
                self._state.log.info("the server does not offer a stream: HTTP %d", status)
                return
            cursor.broke()
            await sleep(cursor.wait)

    async def _renewed(self, lost: int) -> None:
        """Begin a new session, in a task of its own: a new session cancels this stream's task."""
        try:
            await self.renew(lost)
        except Disconnected as error:
            self._state.log.warning("%s", error)

    async def _listen(self, cursor: Cursor) -> int | None:
        """Read one connection to its end; return its status, or None if there was none."""

        def take(event: Event) -> None:
            data = cursor.passed(event)
            if data is not None:
                self._state.inbox.put(data)

        try:
            async with self._state.get(cursor) as incoming:
                self._settled.set()
                if incoming.streams:
                    await self._state.read(incoming, take)
                    return 200
                # A success without a stream means that there is no stream.
                return 405 if incoming.status < 300 else incoming.status
        except (Disconnected, RemoteError) as error:
            self._state.log.info("the server's stream broke: %s", error)
            return None
        finally:
            self._settled.set()

    async def end(self) -> None:
        """End the session, if there is one."""
        protocol = self._state.protocol
        if protocol.session is None:
            return
        asked = self._state.http.open("DELETE", protocol.session_headers())
        try:
            async with asyncio.timeout(_FAREWELL), asked as reply:
                # The server may refuse this, or may have forgotten the session.
                _log.info("the session was ended: HTTP %d", reply.status)
        except Exception as error:
            # Also for what the user's own authentication raises: there is nothing left to save, and
            # the reason for closing may be a worse error.
            _log.warning("the server was not told of the end of the session: %r", error)
