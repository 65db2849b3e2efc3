"""A connection driven by asyncio: calls are awaited, and what the peer sends is handled.

Every request runs as a task of its own, so a handler may call back to the peer that is waiting for
it. A transport gives a peer a `Link` and hands it the bytes that come; timeouts, cancellation and
negotiation are not known here.
"""

from asyncio import Future, gather, get_running_loop
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from logging import getLogger
from typing import Any, ClassVar, Final, Generic, NamedTuple, TypeAlias, TypeVar

from .codec import MethodTable
from .connection import Connection, Event, Failure, Refusal
from .dispatch import Error, Notification, Request, Result
from .errors import (
    INTERNAL_ERROR,
    Disconnected,
    InvalidParams,
    InvalidRequest,
    LocalError,
    McpError,
    MethodNotFound,
    ProtocolError,
    RequestId,
)
from .handlers import Handlers
from .spec import NotificationSpec, RequestSpec, Role

P = TypeVar("P")
R = TypeVar("R")

_log: Final = getLogger(__name__)

Invoke: TypeAlias = Callable[[str, Any], Awaitable[Any]]


class Link(NamedTuple):
    """What a transport gives a peer: how to send bytes, where to run tasks, what is declared."""

    send: Callable[[bytes], Awaitable[None]]
    spawn: Callable[[Coroutine[Any, Any, None]], object]
    declared: Mapping[Role, Mapping[str, Any]]


class Peer:
    """One side of a connection. Generated subclasses add one method per message it may send."""

    ROLE: ClassVar[Role]
    TABLE: ClassVar[MethodTable]

    _open: "_Open | None" = None

    def open(self, link: Link, invoke: Invoke) -> None:
        """Start on a new connection; `invoke` runs the handler of a method with its params."""
        connection = Connection(self.TABLE, self.ROLE, link.declared)
        self._open = _Open(connection, link, invoke)

    def close(self) -> None:
        """End the connection: requests without an answer raise `Disconnected`."""
        state, self._open = self._open, None
        if state is not None:
            state.abandon()

    def receive(self, data: bytes) -> None:
        """Take in what the transport read: one message, or one batch."""
        if self._open is not None:
            self._open.receive(data)

    async def request(self, spec: RequestSpec[P, R], params: P | None) -> R:
        """Send a request and wait for its result; None leaves out params that may be left out.

        Raises `LocalError` if it may not be sent, `McpError` if the peer answers with an error,
        `RemoteError` if the answer does not fit, and `Disconnected`.
        """
        return await self._opened().request(spec, params)

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        """Send a notification; None leaves out params that may be left out. Raises `LocalError`."""
        state = self._opened()
        await state.link.send(state.connection.notify(spec, params))

    def _opened(self) -> "_Open":
        if self._open is None:
            raise LocalError("not connected")
        return self._open


class _Open:
    """The state of a peer while it is connected."""

    __slots__ = ("_invoke", "_waiting", "connection", "link")

    def __init__(self, connection: Connection, link: Link, invoke: Invoke) -> None:
        self.connection = connection
        self.link = link
        self._invoke = invoke
        self._waiting: dict[RequestId, Future[Any]] = {}

    async def request(self, spec: RequestSpec[P, R], params: P | None) -> R:
        id, data = self.connection.request(spec, params)
        answer: Future[R] = get_running_loop().create_future()
        self._waiting[id] = answer
        try:
            await self.link.send(data)
            return await answer
        finally:
            del self._waiting[id]
            self.connection.forget(id)

    def abandon(self) -> None:
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(Disconnected("the connection ended before the answer came"))

    def receive(self, data: bytes) -> None:
        events = self.connection.receive(data)
        if isinstance(events, list):
            self.link.spawn(self._reply_to_batch(events))
        elif isinstance(events, (Result, Error, Failure)):
            self._settle(events)
        else:
            self.link.spawn(self._reply(events))

    async def _reply(self, event: Event) -> None:
        data = await self._react(event)
        if data is not None:
            await self.link.send(data)

    async def _reply_to_batch(self, events: list[Event]) -> None:
        # Answers to a batch travel as a batch, once all are there (JSON-RPC 2.0, section 6).
        answers = [data for data in await gather(*map(self._react, events)) if data is not None]
        if answers:
            await self.link.send(b"[%b]" % b",".join(answers))

    async def _react(self, event: Event) -> bytes | None:
        """Handle one event; bytes if it has to be answered."""
        if isinstance(event, Request):
            return await self._respond(event)
        if isinstance(event, Refusal):
            return self.connection.refuse(event.id, event.error)
        if isinstance(event, Notification):
            await self._heed(event)
        elif isinstance(event, (Result, Error, Failure)):
            self._settle(event)
        else:
            _log.warning("ignored a message: %r", event.error)
        return None

    async def _respond(self, request: Request[Any]) -> bytes | None:
        try:
            result = await self._invoke(request.spec.method, request.params)
            return self.connection.answer(request, result)
        except (McpError, InvalidRequest, MethodNotFound, InvalidParams) as error:
            return self.connection.refuse(request.id, error)
        except Exception:
            # The peer learns that something failed, never what: texts of exceptions hold secrets.
            _log.exception("the handler of %s failed", request.spec.method)
            internal = ProtocolError("Internal error", code=INTERNAL_ERROR)
            return self.connection.refuse(request.id, internal)

    async def _heed(self, notification: Notification[Any]) -> None:
        try:
            await self._invoke(notification.spec.method, notification.params)
        except MethodNotFound:
            _log.debug("nobody heeds %s", notification.spec.method)
        except Exception:
            _log.exception("the handler of %s failed", notification.spec.method)

    def _settle(self, event: Result[Any] | Error | Failure) -> None:
        answer = None if event.id is None else self._waiting.get(event.id)
        if answer is None or answer.done():
            return
        if isinstance(event, Result):
            answer.set_result(event.value)
        elif isinstance(event, Error):
            answer.set_exception(McpError(event.code, event.message, event.data))
        else:
            answer.set_exception(event.error)


class ClientBase(Peer, Handlers):
    """Base of the generated client: one connection, its calls and its handlers in one class."""

    ROLE: ClassVar[Role] = "client"

    def connect(self, link: Link) -> None:
        """Start on a new connection to a server."""
        self.open(link, self._invoke)

    async def _invoke(self, method: str, params: Any) -> Any:
        return await self._handler(method)(params)

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a question that came inside a result."""
        spec, name = self.INPUT_REQUESTS[method]
        return await getattr(self, name)(spec.params() if params is None else params)


class SessionBase(Peer):
    """Base of the generated session: what a server knows of, and may send to, one client."""

    ROLE: ClassVar[Role] = "server"


SessionT = TypeVar("SessionT", bound=SessionBase)


class ServerBase(Handlers, Generic[SessionT]):
    """Base of the generated server, which answers any number of connections.

    `SESSION` is the class of one connection; handlers get the session a message came from.
    """

    ROLE: ClassVar[Role] = "server"
    SESSION: ClassVar[type[Any]]

    def accept(self, link: Link) -> SessionT:
        """Start on a new connection to a client."""
        session: SessionT = self.SESSION()
        session.open(link, partial(self._invoke, session))
        return session

    async def _invoke(self, session: SessionT, method: str, params: Any) -> Any:
        return await self._handler(method)(session, params)
