"""The server that users write, and the session that its handlers get."""

from asyncio import gather
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from functools import cache, partial
from inspect import unwrap
from logging import getLogger
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, TypeVar, cast, overload
from warnings import warn

from ..core.connection_errors import Disconnected
from ..core.errors import LocalError, RequestId
from ..core.json import JSONObject
from ..core.models.base import WireModel, validator_of
from ..core.options import CallOptions
from ..core.revision import Revision, load_generated
from ..core.spec import AnyRequest, Role
from ..core.tasks import call_in
from ..messages.method_table import MethodTable
from ..rpc.peer import Peer
from ..rules.handlers import Handlers, HandlerSet, extended_by, generated_class, made_once
from .context import OpenConnection, Relay, RequestContext, SessionSwitches
from .layers import Layer

if TYPE_CHECKING:
    from ..core.http_request import HttpRequest, Principal
    from ..core.subscriptions import Level, PublishedChange
    from .lifespan import Lifespan
    from .rounds import Inputs

T = TypeVar("T")
SessionT = TypeVar("SessionT")

_log: Final = getLogger(__name__)

_BOUND: Final = (MethodType, classmethod, staticmethod)


class ServerRuntime(HandlerSet):
    """The runtime's part of a server: its open connections and published changes."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.connections: dict[OpenConnection, None] = {}
        self.changes: dict[str, int] = {}
        self.relays: dict[Relay, str | None] = {}
        """The relays of its changes; for the server of one session, with the session's key."""
        self.lifespan: Lifespan | None = None
        self.routes: list[Any] | tuple[Any, ...] = []
        """Routes served beside the endpoint over HTTP; a tuple once serving has begun."""
        self._warned: set[str] = set()

    @property
    def wants_scopes(self) -> bool:
        return False

    async def scopes_of(
        self, method: str, params: Mapping[str, Any], session: "SessionBase"
    ) -> frozenset[str]:
        """Return the scopes that a request needs; `params` are as received."""
        return frozenset()

    @property
    def state(self) -> Any:
        """The value of the lifespan; raise `LocalError` outside of one."""
        if self.lifespan is None or not self.lifespan.users:
            name = self.identity()["name"]
            raise LocalError(f"session.state: {name} has no lifespan; define one that yields it")
        return self.lifespan.state

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        """Return the layer around requests; `tells_apart` as in `ServerState`."""
        return None

    def begin(self, state: Any) -> None: ...

    def parts(self) -> Iterator["ServerBase[Any]"]:
        yield cast("ServerBase[Any]", self.owner)

    def add_connection(self, connection: OpenConnection) -> None:
        self.connections[connection] = None

    def remove_connection(self, connection: OpenConnection) -> None:
        self.connections.pop(connection, None)

    def switches_of(self, connection: OpenConnection) -> SessionSwitches:
        return ()

    def resume(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        """Go on with what a session has chosen at another process."""

    def listening(self, context: RequestContext) -> AbstractContextManager[object]:
        """Return a context manager for the time in which the listen stream of a request is open."""
        return nullcontext()

    def warn_undeclared(self, method: str) -> None:
        """Log once that a notification is not sent because it is not declared."""
        if method not in self._warned:
            self._warned.add(method)
            name = type(self.owner).__name__
            advice = f'write SENDS = frozenset({{"{method}"}}) in the class'
            _log.warning("%s does not declare %s, so it is not sent: %s", name, method, advice)

    async def publish(self, method: str, uri: str | None = None) -> None:
        """Notify interested clients of a change; a relay may do so later."""
        self.count(method)
        relays = self.all_relays()
        work = [_publish(connection, method, uri) for connection in self._beside(relays)]
        work += [relay.publish(change) for relay, change in self._changes_for(relays, method, uri)]
        for outcome in await gather(*work, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def announce(self, method: str, to: Iterable[OpenConnection] | None = None) -> None:
        """Publish a change, to all or some, without waiting; any thread may call this."""
        self.count(method)
        if to is None:
            relays = self.all_relays()
            to = self._beside(relays)
            for relay, change in self._changes_for(relays, method):
                relay.announce(change)
        self.send(method, None, to)

    def send(self, method: str, uri: str | None, to: Iterable[OpenConnection]) -> None:
        """Send a notification on each connection's own loop, without waiting."""
        for connection in list(to):
            call_in(connection.endpoint.jobs.loop, partial(_start, connection, method, uri))

    def all_relays(self) -> Mapping[Relay, str | None]:
        """Return the relays of its changes, including those of servers above it."""
        return self.relays

    def _beside(self, relays: Mapping[Relay, str | None]) -> list[OpenConnection]:
        return [
            connection
            for connection in list(self.connections)
            if connection.state.relay not in relays
        ]

    def _changes_for(
        self, relays: Mapping[Relay, str | None], method: str, uri: str | None = None
    ) -> "Iterator[tuple[Relay, PublishedChange]]":
        if not relays:
            return
        from ..core.subscriptions import PublishedChange

        alive = {id(relay.engine): relay for relay in relays if not relay.loop.is_closed()}
        for relay in alive.values():
            of = {"session": relays[relay]}
            if relays[relay] is None:
                of = {"server": self.identity()["name"], "revision": self.owner.TABLE.revision}
            yield relay, PublishedChange(method=method, uri=uri, **of)

    def count(self, method: str) -> None:
        self.changes[method] = self.changes.get(method, 0) + 1


def _start(connection: OpenConnection, method: str, uri: str | None) -> None:
    connection.endpoint.tasks.start(_publish(connection, method, uri))


async def _publish(connection: OpenConnection, method: str, uri: str | None) -> None:
    with suppress(Disconnected):
        await connection.publish(method, uri)


@cache
def _extended_session(
    session: "type[SessionBase]", extended: "tuple[type[SessionBase], ...]", table: MethodTable
) -> "type[SessionBase]":
    bases = (*(base for base in extended if not issubclass(session, base)), session)
    return type(session.__name__, bases, {"TABLE": table, "__module__": session.__module__})


class ServerBase(Handlers, Generic[SessionT]):
    """Base of the generated server.

    `SESSION` is the class that handlers get beside the params. The publishing methods reach every
    interested connection of this server: in the handshake revisions all, or for a resource those
    subscribed to it; in 2026-07-28 the listen streams that asked for it. Without the capability,
    which naming the notification in `SENDS` declares, nothing is sent, and the log says so once.
    """

    ROLE: ClassVar[Role] = "server"
    SESSION: ClassVar[type[Any]]
    EXTENDED_SESSION: ClassVar[type[Any]]
    """The session class of an extension's generated base."""
    REVISIONS: ClassVar[Sequence[Revision] | None] = None
    """The revisions spoken by default; None for only its own."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Raise `TypeError` for a question in a method that no form can ask."""
        super().__init_subclass__(**options)
        if (extended := extended_by(cls)) and hasattr(cls, "SESSION"):
            sessions = tuple(dict.fromkeys(base.EXTENDED_SESSION for base in extended))
            own: Any = cls.SESSION
            session = _extended_session(own, sessions, cls.TABLE)
            setattr(cls, "SESSION", session)  # noqa: B010 (a constant of the class, once made)
        for member in vars(cls).values():
            check_forms(member)

    def lifespan(self) -> AbstractAsyncContextManager[Any]:
        """Return a context manager entered before this server serves, and left afterwards.

        Its value is the `state` of sessions. All connections of a server object share it.
        """
        return nullcontext()

    @made_once
    def __mcp_runtime__(self) -> ServerRuntime:
        return ServerRuntime(self)

    @property
    def sessions(self) -> tuple[SessionT, ...]:
        """One session for each open connection, in the order of opening.

        If several workers serve a session, only the worker that has its stream lists it.
        """
        connections = self.__mcp_runtime__.connections
        return tuple(connection.session() for connection in connections if connection.is_owner)

    async def resource_updated(self, uri: str) -> None:
        """Notify subscribed clients that a resource has changed."""
        await self.__mcp_runtime__.publish("notifications/resources/updated", uri)


def check_forms(function: object) -> None:
    # Some objects claim to have every attribute.
    if type(function) in _BOUND:
        function = cast(Any, function).__func__
    plain = unwrap(function) if type(function) is FunctionType else None
    codes = [*_codes(plain.__code__)] if type(plain) is FunctionType else []
    if any(name in code.co_names for code in codes for name in ("ask", "elicit")):
        from .form_check import check_asked

        check_asked(cast(FunctionType, plain), codes)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def package_of(server: type[Any]) -> ModuleType:
    return load_generated(generated_class(server).__module__.rsplit(".", 2)[0])


def is_question(value: object) -> bool:
    """Return whether `elicit` was called with a type, and warn: that is `ask`."""
    if isinstance(value, (WireModel, dict)):
        return False
    warn(
        "elicit(message, Type) is deprecated: write ask(message, Type)",
        DeprecationWarning,
        stacklevel=3,
    )
    return True


async def ask_form(
    session: Peer, spec: AnyRequest, message: str, kind: Any, options: CallOptions
) -> Any:
    """Ask the user for a value of a type, as `session.ask` of a package."""
    from ..core.forms import FORM
    from .questions import form

    built = form(kind)
    wire: JSONObject = {"message": message, FORM: built.schema_for(spec, session.TABLE.revision)}
    return built.read(await session.request(spec, validator_of(spec.params)(wire), **options))


class SessionBase(Peer):
    """Base of the generated session, which gives a handler the context of its request.

    If servers have no requests of their own, a handler that asks the client something is stopped
    there, and runs again from its beginning when the client returns with the answer. Asking raises
    `InvalidParams` for an answer that does not fit its form.
    """

    ROLE: ClassVar[Role] = "server"

    def __init__(self, context: RequestContext) -> None:
        self._context = context

    @property
    def __mcp_runtime__(self) -> RequestContext:
        return self._context

    @property
    def revision(self) -> str:
        """The revision that the client speaks."""
        return self._context.spoken.revision

    @property
    def request_id(self) -> RequestId | None:
        """The id of the current request, if there is one."""
        return self._context.request_id

    @property
    def principal(self) -> "Principal | None":
        """The sender of the request, if the transport has authenticated it.

        Outside a request, that of the latest one.
        """
        return self._context.principal

    @property
    def http_request(self) -> "HttpRequest | None":
        """The HTTP request of the current request; None over HTTP+SSE, and without HTTP."""
        return self._context.http_request

    def require_scopes(self, *scopes: str) -> None:
        """Raise `InsufficientScope` if the token of the request lacks any of `scopes`.

        Over HTTP, an answer that has not begun then has the status 403 and names the scopes, so
        that the client can get such a token. Other transports have no tokens, and allow everything.
        """
        self._context.require_scopes(scopes)

    @property
    def state(self) -> Any:
        """The value of the server's `lifespan`; raise `LocalError` without one."""
        return self._context.connection.server.__mcp_runtime__.state

    @property
    def inputs(self) -> "Inputs | None":
        """The client's answers to the questions of the previous round; None in the first one.

        If a client sends answers without a state, the handler runs again after it has asked for
        them, and gets them here.
        """
        return self._context.inputs

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report progress to the client, if it asked for reports.

        `done` must grow: other reports are not sent. A report that follows too soon is delayed,
        unless it is the first to reach `total`; a newer one replaces it, and the last one goes out
        before the answer (basic/utilities/progress, "Behavior Requirements" and "Implementation
        Notes").
        """
        await self._context.reports.progress(done, total, message)

    async def log(self, level: "Level", data: Any, logger: str | None = None) -> None:
        """Send a log entry, if the client wants entries of that level.

        In the handshake revisions `logging/setLevel` sets the level, and before that the client
        gets all; in 2026-07-28 each request sets it, and without it the client gets none. An entry
        that cannot be sent does not raise: the server's own log says why. A server without a
        toolkit declares `logging` by naming `notifications/message` in `SENDS`.
        """
        await self._context.reports.log(level, data, logger)

    def from_thread(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the server's event loop, and wait for its result in a thread.

        Plain functions of a toolkit run in threads: `session.from_thread(session.progress(1, 3))`.
        Raises the errors of the coroutine, `CancelledError` when the request is cancelled, and
        `LocalError` on the event loop, which would wait for itself.
        """
        return self._context.thread_waits.run(work)

    async def close_stream(self) -> None:
        """Release the connection that carries this request, and continue.

        Over HTTP, from 2025-11-25 to before 2026-07-28, the client returns for the answer and
        earlier messages, so a long request needs no connection. Elsewhere this does nothing
        (2025-11-25, basic/transports, "Sending Messages to the Server").
        """
        await self._context.close_stream()

    async def become_task(self) -> None:
        """Continue as a task, if the client supports it, without delaying the client.

        This is for a tool with `task="deferred"`, which can ask questions before it becomes a task.
        Elsewhere, and inside a task, this does nothing.
        """
        await self._context.become_task()

    # With only a union, mypy finds no T for a lambda that returns a coroutine.
    @overload
    async def once(self, key: str, work: Callable[[], Awaitable[T]]) -> T: ...
    @overload
    async def once(self, key: str, work: Callable[[], T]) -> T: ...
    async def once(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, done once for this request, even if its handler runs again.

        A handler runs again from its beginning after each question to a client of the stateless
        era, and an idempotent task after its worker was lost. Work that must not happen twice
        belongs here, under its own key. The result must be a JSON value. The client keeps it, and
        can read but not change it; that of a task is kept with the task. If a worker is killed
        between the end of the work and the storing of its result, the work may be done again.
        """
        return await self._context.questions.once.do(key, work)
