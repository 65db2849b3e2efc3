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

_ASKING: Final = ("ask", "elicit")
_HOLDERS: Final = (MethodType, classmethod, staticmethod)


class ServerRuntime(HandlerSet):
    """The runtime's part of a server: its open connections, and how often it has changed."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.connections: dict[OpenConnection, None] = {}
        """In the order of their opening."""
        self.changes: dict[str, int] = {}
        """How many changes were published, by method."""
        self.relays: dict[Relay, str | None] = {}
        """What carries its changes; for a server of one session, with the key of that."""
        self.lifespan: Lifespan | None = None
        self.routes: list[Any] | tuple[Any, ...] = []
        """What is served beside the endpoint over HTTP; a tuple once it is."""
        self._warned: set[str] = set()

    @property
    def wants_scopes(self) -> bool:
        return False

    async def scopes_of(
        self, method: str, params: Mapping[str, Any], session: "SessionBase"
    ) -> frozenset[str]:
        """Return the scopes that a request needs, whose `params` are as they came."""
        return frozenset()

    @property
    def state(self) -> Any:
        """The value of the lifespan; raise `LocalError` if none is entered."""
        if self.lifespan is None or not self.lifespan.users:
            name = self.identity()["name"]
            raise LocalError(f"session.state: {name} has no lifespan, whose value it would be")
        return self.lifespan.state

    def layer(self, table: MethodTable, tells_apart: bool) -> Layer | None:
        """Return what stands around requests; `tells_apart` as in `ServerState`."""
        return None

    def begin(self, state: Any) -> None:
        """Begin to serve; raise `TypeError` or `ValueError` for what cannot be served."""

    def parts(self) -> Iterator["ServerBase[Any]"]:
        """Yield the server, and all that is mounted in it."""
        yield cast("ServerBase[Any]", self.owner)

    def add_connection(self, connection: OpenConnection) -> None:
        """Publish changes on a connection from now on."""
        self.connections[connection] = None

    def remove_connection(self, connection: OpenConnection) -> None:
        self.connections.pop(connection, None)

    def switches_of(self, connection: OpenConnection) -> SessionSwitches:
        return ()

    def switch_all(self, connection: OpenConnection, switched: SessionSwitches) -> None:
        """Switch for a session what another process has, in place of all that was before."""

    def listening(self, context: RequestContext) -> AbstractContextManager[object]:
        """Return what is entered while the listen stream of a request is open."""
        return nullcontext()

    def warn_undeclared(self, method: str) -> None:
        """Log once that notifications are not sent, because clients do not expect them."""
        if method not in self._warned:
            self._warned.add(method)
            cls = type(self.owner).__name__
            advice = f'write SENDS = frozenset({{"{method}"}}) in the class'
            _log.warning("%s does not declare %s, which is not sent: %s", cls, method, advice)

    async def publish(self, method: str, uri: str | None = None) -> None:
        """Tell those who want to know of a change; a relay may do so later."""
        self.count(method)
        relays = self.all_relays()
        work = [_publish(connection, method, uri) for connection in self._beside(relays)]
        work += [
            relay.publish(change) for relay, change in self._changes_to_relay(relays, method, uri)
        ]
        for outcome in await gather(*work, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def announce(self, method: str, to: Iterable[OpenConnection] | None = None) -> None:
        """Publish a change, to all or some, and do not wait; any thread may call this."""
        self.count(method)
        if to is None:
            relays = self.all_relays()
            to = self._beside(relays)
            for relay, change in self._changes_to_relay(relays, method):
                relay.announce(change)
        self.send(method, None, to)

    def send(self, method: str, uri: str | None, to: Iterable[OpenConnection]) -> None:
        """Send a notification on connections, each where it runs, and do not wait."""
        for connection in list(to):
            call_in(connection.endpoint.jobs.loop, partial(_start, connection, method, uri))

    def all_relays(self) -> Mapping[Relay, str | None]:
        """Return what carries its changes to other processes, also that of servers above it."""
        return self.relays

    def _beside(self, relays: Mapping[Relay, str | None]) -> list[OpenConnection]:
        return [
            connection
            for connection in list(self.connections)
            if connection.state.relay not in relays
        ]

    def _changes_to_relay(
        self, relays: Mapping[Relay, str | None], method: str, uri: str | None = None
    ) -> "Iterator[tuple[Relay, PublishedChange]]":
        """Yield one relay for all that lead to the same processes, and what it is to carry."""
        if not relays:
            return
        from ..core.subscriptions import PublishedChange

        alive = {
            id(open_relay.engine): open_relay
            for open_relay in relays
            if not open_relay.loop.is_closed()
        }
        for relay in alive.values():
            session = relays[relay]
            if session is not None:
                yield relay, PublishedChange(method=method, uri=uri, session=session)
                continue
            name, revision = self.identity()["name"], self.owner.TABLE.revision
            yield relay, PublishedChange(method=method, uri=uri, server=name, revision=revision)

    def count(self, method: str) -> None:
        self.changes[method] = self.changes.get(method, 0) + 1


def _start(connection: OpenConnection, method: str, uri: str | None) -> None:
    connection.endpoint.tasks.start(_publish(connection, method, uri))


async def _publish(connection: OpenConnection, method: str, uri: str | None) -> None:
    # A client that has gone needs no notification.
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

    `SESSION` is the class of what handlers get beside the params. The methods that publish reach
    every connection of this server that wants to know: in the handshake revisions each one, or for
    a resource those subscribed to it; in 2026-07-28 the listen streams that asked for it. If the
    capability is not declared, as one does by naming the notification in `SENDS`, nothing is sent,
    and the log says so once.
    """

    ROLE: ClassVar[Role] = "server"
    SESSION: ClassVar[type[Any]]
    EXTENDED_SESSION: ClassVar[type[Any]]
    """The class of sessions that the generated base of an extension brings along."""
    REVISIONS: ClassVar[Sequence[Revision] | None] = None
    """The revisions that are spoken where nobody says which; its own alone if this is None."""

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
        """Return what is entered before this server serves, and left afterwards.

        Its value is the `state` of sessions. A server object has one lifespan, however many
        connections it serves.
        """
        return nullcontext()

    @made_once
    def __mcp_runtime__(self) -> ServerRuntime:
        return ServerRuntime(self)

    @property
    def sessions(self) -> tuple[SessionT, ...]:
        """The connections that are open, one session for each, in the order of their opening.

        Where several workers serve a session, it is one of those of the worker that has its stream.
        """
        connections = self.__mcp_runtime__.connections
        return tuple(connection.session() for connection in connections if connection.is_owner)

    async def tools_list_changed(self) -> None:
        """Tell those who want to know that the list of tools has changed."""
        await self.__mcp_runtime__.publish("notifications/tools/list_changed")

    async def prompts_list_changed(self) -> None:
        """Tell those who want to know that the list of prompts has changed."""
        await self.__mcp_runtime__.publish("notifications/prompts/list_changed")

    async def resources_list_changed(self) -> None:
        """Tell those who want to know that the list of resources has changed."""
        await self.__mcp_runtime__.publish("notifications/resources/list_changed")

    async def resource_updated(self, uri: str) -> None:
        """Tell those who subscribed to it that a resource has changed."""
        await self.__mcp_runtime__.publish("notifications/resources/updated", uri)


def check_forms(function: object) -> None:
    """Raise `TypeError` if a function asks for a type that no form can show."""
    # Some objects say of any attribute that they have it.
    if type(function) in _HOLDERS:
        function = cast(Any, function).__func__
    inner = unwrap(function) if type(function) is FunctionType else None
    codes = [*_codes(inner.__code__)] if type(inner) is FunctionType else []
    if any(name in code.co_names for code in codes for name in _ASKING):
        from .asked_forms import check_asked

        check_asked(cast(FunctionType, inner), codes)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def package_of(server: type[Any]) -> ModuleType:
    return load_generated(generated_class(server).__module__.rsplit(".", 2)[0])


def is_question(given: object) -> bool:
    """Return whether `elicit` gets a type, and warn of it: that is `ask`."""
    if isinstance(given, (WireModel, dict)):
        return False
    warn("elicit(message, Type) is ask(message, Type)", DeprecationWarning, stacklevel=3)
    return True


async def ask_form(
    session: Peer, spec: AnyRequest, message: str, kind: Any, options: CallOptions
) -> Any:
    """Ask the user for a value of a type, as `session.ask` of a package."""
    from ..core.forms import FORM
    from .questions import form

    asked = form(kind)
    wire: JSONObject = {"message": message, FORM: asked.schema_for(spec, session.TABLE.revision)}
    return asked.read(await session.request(spec, validator_of(spec.params)(wire), **options))


class SessionBase(Peer):
    """Base of the generated session, which shows a handler the context of its request.

    Where servers have no requests of their own, a handler that asks the client something is stopped
    there, and run again from its beginning when the client comes back with the answer. Asking
    raises `InvalidParams` for the answer to a form that does not fit it.
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
        """The id of the request that is handled, if it is one."""
        return self._context.request_id

    @property
    def principal(self) -> "Principal | None":
        """The sender of the request, as the transport has authenticated it, if it does.

        Outside of a request, it is that of the latest one.
        """
        return self._context.principal

    @property
    def http_request(self) -> "HttpRequest | None":
        """The HTTP request of the request that is handled; None over HTTP+SSE, and without HTTP."""
        return self._context.http_request

    def require_scopes(self, *scopes: str) -> None:
        """Raise `InsufficientScope` if the token of the request does not allow all of `scopes`.

        Over HTTP, an answer that has not begun then has the status 403 and names them, so that the
        client can get such a token. Over other transports, which have no tokens, all is allowed.
        """
        self._context.require_scopes(scopes)

    @property
    def state(self) -> Any:
        """The value of the server's `lifespan`; raise `LocalError` if it has none."""
        return self._context.connection.server.__mcp_runtime__.state

    @property
    def inputs(self) -> "Inputs | None":
        """The client's answers to the questions of the round before; None in the first one.

        If a client sends answers without a state, the handler runs again once it has asked for
        them, and gets them here.
        """
        return self._context.inputs

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        """Report to the client how far its request has come, if it asked for reports.

        `done` has to grow: a report that says no more than the one before is not sent. One that
        comes too soon after it waits, unless it is the first to reach `total`: it gives way to the
        next one, and the last one goes out before the answer
        (basic/utilities/progress, "Behavior Requirements" and "Implementation Notes").
        """
        await self._context.reports.progress(done, total, message)

    async def log(self, level: "Level", data: Any, logger: str | None = None) -> None:
        """Send a log entry, if the client wants entries of that level.

        Wanted is, in the handshake revisions, what `logging/setLevel` asked for, and everything
        before it did; in 2026-07-28, what the request itself asked for, and nothing if it did not.
        An entry that cannot be sent ends nothing: the server's own log says why. A server without a
        toolkit declares `logging` by naming `notifications/message` in `SENDS`.
        """
        await self._context.reports.log(level, data, logger)

    def from_thread(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine where the server runs, and wait for its result in a thread.

        Plain functions of a toolkit run in threads: `session.from_thread(session.progress(1, 3))`.
        Raises what the coroutine raises, `CancelledError` when the request is cancelled, and
        `LocalError` where the server runs, which would wait for itself.
        """
        return self._context.thread_waits.run(work)

    async def close_stream(self) -> None:
        """Let go of the connection that carries this request, and work on.

        Over HTTP, from 2025-11-25 to before 2026-07-28, the client comes back for the answer, and
        for what is said until then; so a long request holds no connection. Elsewhere this does
        nothing (2025-11-25, basic/transports, "Sending Messages to the Server").
        """
        await self._context.close_stream()

    async def become_task(self) -> None:
        """Go on as a task, if the client can have one; what follows does not hold it up.

        That is for a tool with `task="deferred"`: what it asks before is asked without a task.
        Elsewhere, and in a task, this does nothing.
        """
        await self._context.become_task()

    # With a union alone, mypy finds no T for a lambda that returns a coroutine.
    @overload
    async def once(self, key: str, work: Callable[[], Awaitable[T]]) -> T: ...
    @overload
    async def once(self, key: str, work: Callable[[], T]) -> T: ...
    async def once(self, key: str, work: Callable[[], Awaitable[T] | T]) -> T:
        """Return the result of `work`, done once for this request, however often its handler runs.

        A handler runs again from its beginning after each question to a client of the stateless
        era, and that of a task after its worker was lost, if it may be; what must not happen twice
        belongs in here, under a key of its own. The result is a JSON value. The client keeps it,
        and can read but not change it; that of a task is kept with the task. A worker that is
        killed after the end of the work, and before that is kept, is not known to have done it.
        """
        return await self._context.questions.once.do(key, work)
