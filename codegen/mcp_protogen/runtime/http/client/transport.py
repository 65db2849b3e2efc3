"""The client's HTTP transport, for all revisions."""

import asyncio
from asyncio import Task, sleep
from collections.abc import Callable, Sequence
from contextvars import copy_context
from typing import Final, NoReturn

from ...connection import CANCELLED, INITIALIZED
from ...core.connection_errors import Disconnected, HttpError, RevisionLost, Unsent
from ...core.errors import InvalidAnswer, McpError, RemoteError, RequestId
from ...core.middleware import OVER_HTTP
from ...messages.method_table import MethodTable
from ...rules.server_negotiation import DISCOVER, INITIALIZE
from ...transports.base import Paused, Renewed, Unanswered, wait_within
from .. import headers as fields
from ..sse import Event
from .client_state import ClientState, Cursor, Reconnection
from .http_client import URL, HttpWire
from .outgoing import POSTED, Message, message_of
from .request import PostedRequest, RefusedPost, ask, http_error, post, post_unanswered, relearn

# Seconds to wait for a message without an answer, before the next one.
_ARRIVAL: Final = 10.0

_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'

# Temporary statuses: timeout, too many requests, and any failure of the server.
_PASSING: Final = frozenset({408, 429, *range(500, 600)})

# Seconds to wait for the server's own stream, which the next request may need.
_LISTENING: Final = 1.0

# Seconds to wait for the endpoint of HTTP+SSE.
_ENDPOINT: Final = 5.0

# Seconds to wait for the end of a session.
_FAREWELL: Final = 2.0


class RenewableSession:
    """A session and its stream, if the server has them; it is replaced when it ends.

    The stream is for messages that answer no request (2025-11-25, basic/transports, "Session
    Management", "Listening for Messages from the Server").
    """

    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._lock = asyncio.Lock()
        self._task: Task[None] | None = None
        self.stream: object = object()
        """The open stream, which first requests wait for; None while messages may be missed."""
        self._known = asyncio.Event()
        self._lost: RevisionLost | None = None

    async def ready(self) -> None:
        if self._lock.locked():
            async with self._lock:
                pass
        self._check()

    def _check(self) -> None:
        if self._lost is not None:
            raise self._lost

    async def check_revision(self, refused: Message) -> None:
        """Raise `RevisionLost` if the server no longer speaks the revision of a message."""
        async with self._lock:
            self._check()
            try:
                if refused.revision is None:
                    await ask(self._state, "ping", {})
                else:
                    await ask(self._state, DISCOVER, {"_meta": refused.params["_meta"]})
            except McpError as error:
                self._leave(f"the server speaks the negotiated revision no longer: {error}")

    def _leave(self, text: str) -> NoReturn:
        self._lost = RevisionLost(f"{text}: connect again")
        self._state.tasks.start(self._end_inbox())
        raise self._lost

    async def _end_inbox(self) -> None:
        # Requests that wait for the session hear first that they were not sent.
        async with self._lock:
            self._state.inbox.end(self._lost)

    async def renew(self, lost: int) -> None:
        """Begin a new session, unless there is one since `lost` sessions.

        Raise `Disconnected`, also for another revision: the user relies on the negotiated one.
        """
        protocol = self._state.protocol
        async with self._lock:
            self._check()
            if protocol.sessions != lost or protocol.opening is None:
                return
            version = protocol.agreed
            self._state.log.info("the server ended the session; beginning a new one")
            try:
                await ask(self._state, INITIALIZE, protocol.opening.params)
                if protocol.sessions == lost:
                    raise InvalidAnswer("no revision given")
            except (McpError, RemoteError, Disconnected) as error:
                text = f"the session has ended, and no new one could begin: {error}"
                if isinstance(error, McpError):
                    self._leave(text)
                raise Unsent(text) from None
            if protocol.agreed != version:
                self._leave(
                    f"the session ended, and the new one has revision {protocol.agreed} "
                    f"instead of {version}"
                )
            await post_unanswered(self._state, message_of(_INITIALIZED))
            self._open_stream()
            self._state.inbox.put(Renewed(protocol.sessions))

    async def listen(self) -> None:
        self._open_stream()
        if not await wait_within(_LISTENING, self._known.wait()):
            self.stream = None
            self._state.log.info("the server has not answered the request for its stream yet")

    def _open_stream(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = self._state.tasks.start(self._run())

    async def _run(self) -> None:
        cursor = Cursor(self._state.reconnection)
        sessions = self._state.protocol.sessions
        opened = False
        while True:
            status = await self._listen(cursor)
            opened = opened or status == 200
            if status == 404 and opened and self._state.protocol.session_id is not None:
                # The stream existed before, so the session has ended.
                self._state.tasks.start(self._renew_quietly(sessions))
            if status == 400 and cursor.last_id is not None:
                # The event is unknown by now; continue with later ones.
                cursor.last_id = None
                continue
            if status is not None and status != 200 and status not in _PASSING:
                self._state.log.info("the server does not offer a stream: HTTP %d", status)
                return
            cursor.broke()
            await sleep(cursor.wait)

    async def _renew_quietly(self, lost: int) -> None:
        """Begin a new session in its own task, because that cancels the stream's task."""
        try:
            await self.renew(lost)
        except Disconnected as error:
            self._state.log.warning("%s", error)

    async def _listen(self, cursor: Cursor) -> int | None:
        def take(event: Event) -> None:
            if (data := cursor.take_event(event)) is not None:
                self._state.inbox.put(data)

        try:
            async with await self._state.get(cursor) as reply:
                self.stream = (self.stream or object()) if reply.streams else None
                self._known.set()
                if reply.streams:
                    await reply.read_events(take, self._state.inbox.room)
                    return 200
                # A success without a stream means none.
                return 405 if reply.status < 300 else reply.status
        except (Disconnected, RemoteError) as error:
            self._state.log.info("the server's stream broke: %s", error)
            return None
        finally:
            self.stream = None
            self._known.set()

    async def end(self) -> None:
        protocol = self._state.protocol
        if protocol.session_id is None:
            return
        opening = self._state.http.open("DELETE", protocol.session_headers)
        try:
            async with asyncio.timeout(_FAREWELL), await opening as reply:
                # The server may refuse, or not know the session.
                self._state.log.info("the session was ended: HTTP %d", reply.status)
        except Exception as error:
            # Closing must go on, and its reason may be a worse error.
            self._state.log.warning("the session could not be ended at the server: %r", error)


class LegacySseTransport:
    """The transport of 2024-11-05: one stream carries all messages of the server.

    2024-11-05, basic/transports, "HTTP with SSE"; 2025-11-25, basic/transports, "Backwards
    Compatibility".
    """

    def __init__(self, state: ClientState) -> None:
        self._state = state
        self._endpoint: asyncio.Future[URL] = asyncio.get_running_loop().create_future()
        self._paused = self._was_paused = False
        self._task = state.tasks.start(self._run())

    async def find_endpoint(self) -> None:
        """Wait for the endpoint; raise `Disconnected` with the reason if it does not come."""
        while not self._endpoint.done():
            self._was_paused = self._paused
            await asyncio.wait({self._endpoint}, timeout=_ENDPOINT)
            if not self._endpoint.done() and not self._was_paused:
                self._task.cancel()
                raise Disconnected(f"GET brought no event within {_ENDPOINT:g} s")
        self._endpoint.result()

    def pause(self, paused: bool) -> None:
        """Pause the timeout for the endpoint, or start it anew."""
        self._paused, self._was_paused = paused, True

    async def _run(self) -> None:
        end = Disconnected("the server ended its stream")
        try:
            await self._listen()
        except Exception as error:
            known = isinstance(error, (Disconnected, RemoteError))
            end = Disconnected(str(error) if known else f"{type(error).__name__}: {error}")
        if self._endpoint.done():
            self._state.inbox.end(end)
        else:
            self._endpoint.set_exception(end)

    async def _listen(self) -> None:
        async with await self._state.http.open("GET", {"accept": fields.EVENTS}) as reply:
            if not reply.succeeded:
                raise http_error("GET", reply)
            if not reply.streams:
                media = reply.media or "no body"
                raise Disconnected(f"GET returned {media} instead of an event stream")
            await reply.read_events(self._take, self._state.inbox.room)

    def _take(self, event: Event) -> None:
        if self._endpoint.done():
            if event.event == "message" and event.data:
                self._state.inbox.put(event.data.encode())
            return
        if event.event != "endpoint":
            raise Disconnected(f"the first event is {event.event[:50]!r} instead of 'endpoint'")
        url = self._state.http.resolve(event.data)
        if url is None:
            raise Disconnected("the endpoint in the stream is of another origin, and is not used")
        self._endpoint.set_result(url)

    async def post(self, message: Message) -> None:
        endpoint = self._endpoint.result()
        async with await post(self._state, message, POSTED, endpoint) as reply:
            if not reply.succeeded:
                raise http_error(f"POST {message.name}", reply)


class HttpTransport:
    over_http: Final = True

    def __init__(self, http: HttpWire, reconnection: Reconnection) -> None:
        self.http = http
        self._state = ClientState(http, reconnection)
        url = http.url
        usual = 443 if url.scheme == "https" else 80
        self.network = OVER_HTTP._replace(host=url.host, port=url.port or usual)
        self.receive: Final = self._state.inbox.receive
        self.hand_over: Final = self._state.inbox.hand_over
        self._session = RenewableSession(self._state)
        self._legacy: LegacySseTransport | None = None
        self._trying: tuple[LegacySseTransport, RequestId] | None = None
        self._running: dict[RequestId, tuple[Message, Task[None]]] = {}
        self._ending: Task[None] | None = None
        self._context = copy_context()

    def write_now(self, messages: Sequence[bytes]) -> bool:
        """Send a request; return whether it is one."""
        if self._ending or self._state.inbox.broken or len(messages) > 1:
            return False
        return self._begin(self._state.protocol.outgoing(messages[0]))

    def _begin(self, message: Message) -> bool:
        if message.kind != "request":
            return False
        # Outside of the sender's context.
        task = self._context.run(self._state.tasks.start, self._request(message))
        self._running[message.id] = message, task
        return True

    async def send(self, messages: Sequence[bytes]) -> None:
        """Send messages; one without an answer arrives before the next is sent."""
        for body in messages:
            if self._ending is not None:
                raise Disconnected("the connection is closed")
            if self._state.inbox.broken is not None:
                raise self._state.inbox.broken
            message = self._state.protocol.outgoing(body)
            if not self._begin(message):
                await (self._cancel if message.method == CANCELLED else self._post)(message)

    @property
    def stream(self) -> object:
        return None if self._legacy else self._session.stream

    def know(self, table_of: Callable[[str], MethodTable]) -> None:
        """Follow tables of revisions; `table_of` raises `LookupError` for unknown ones."""
        self._state.protocol.table_of = table_of

    def wait_within(self, time_left: Callable[[RequestId], float]) -> None:
        self._state.time_left = time_left

    def pause(self, id: RequestId | None, paused: bool) -> None:
        if id is None and self._trying is not None:
            # The request waits for the stream of HTTP+SSE.
            legacy, id = self._trying
            legacy.pause(paused)
        if id is not None:
            self._state.inbox.put(Paused(id, paused))

    async def _request(self, message: Message) -> None:
        try:
            if self._legacy is None:
                await self._exchange(PostedRequest(self._state, message))
            else:
                await self._legacy.post(message)
        except Exception as error:
            # Also for errors of the user's authentication: the request must end.
            self._state.inbox.put(Unanswered(message.id, error))
        finally:
            self._running.pop(message.id, None)

    async def _exchange(self, request: PostedRequest) -> None:
        await self._session.ready()
        sessions = self._state.protocol.sessions
        refusal = await request.attempt()
        if refusal is None:
            return
        if refusal.repair == "session":
            await self._session.renew(sessions)
            refusal = await request.attempt()
        elif refusal.repair == "legacy_sse":
            refusal = await self._try_legacy(request.message, refusal)
        elif refusal.repair == "revision":
            await self._session.check_revision(request.message)
        elif refusal.repair == "headers" and await relearn(self._state, request.message):
            refusal = await request.attempt()
        if refusal is not None:
            self._state.inbox.put(refusal.received)

    async def _try_legacy(self, message: Message, refusal: RefusedPost) -> RefusedPost | None:
        """Change to HTTP+SSE; return the refusal if the server does not have it."""
        legacy = LegacySseTransport(self._state)
        self._trying = legacy, message.id
        try:
            await legacy.find_endpoint()
        except Disconnected as error:
            received = refusal.received
            if isinstance(received, Unanswered):
                assert isinstance(received.error, HttpError)
                text = f"{received.error.message}; HTTP+SSE failed too: {error}"
                failed = HttpError(received.error.status, text, received.error.retry_after)
                return RefusedPost(Unanswered(message.id, failed))
            # A protocol error says more than the failed attempt at HTTP+SSE.
            return refusal
        finally:
            self._trying = None
        self._legacy = legacy
        await legacy.post(message)
        return None

    async def _cancel(self, message: Message) -> None:
        request, task = self._running.get(message.params.get("requestId", ""), (message, None))
        # In the stateless era, closing the stream is enough (2026-07-28,
        # basic/transports/streamable-http, "Cancellation").
        if request.revision is None:
            await self._post(message)
        if task is not None:
            task.cancel()

    async def _post(self, message: Message) -> None:
        task = self._state.tasks.start(self._post_once(message))
        await asyncio.wait({task}, timeout=_ARRIVAL)

    async def _post_once(self, message: Message) -> None:
        try:
            if self._legacy is None:
                await self._post_in_session(message)
            else:
                await self._legacy.post(message)
        except (Disconnected, RemoteError) as error:
            self._state.log.warning("%s could not be sent: %s", message.name, error)

    async def _post_in_session(self, message: Message) -> None:
        await self._session.ready()
        protocol = self._state.protocol
        had_session, sessions = protocol.session_id is not None, protocol.sessions
        status = await post_unanswered(self._state, message)
        if status == 404 and had_session:
            await self._session.renew(sessions)
            # A response would be for the old session, and the new one has already been
            # confirmed.
            if message.kind == "notification" and message.method != INITIALIZED:
                await post_unanswered(self._state, message)
        elif message.method == INITIALIZED and 200 <= status < 300 and message.revision is None:
            await self._session.listen()

    async def close(self) -> None:
        """Close the connection, and end the session."""
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        # The session ends even if the caller is cancelled.
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        self._state.inbox.end()
        await self._state.tasks.cancel()
        try:
            await self._session.end()
        finally:
            await self._state.http.close()
