"""A bridge as an ASGI application: HTTP clients on one side, an opener for the server on the other.

Each session has its own connection to the server. Stateless requests share one if principal, client
info and declaration are the same.
"""

from asyncio import gather, shield, wait
from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Generator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from logging import getLogger
from typing import Any, Final, NamedTuple, TypeAlias

from ...core.connection_errors import Disconnected
from ...core.errors import INTERNAL_ERROR, MethodNotFound
from ...core.json import json_text
from ...core.options import USUAL, Options
from ...core.revision import Revision
from ...core.tasks import Tasks
from ...http.server.app import HttpApp, Running
from ...http.server.asgi import HttpExchange, HttpRefusal
from ...http.server.http_state import HttpState
from ...http.server.options import USUAL_HTTP, HttpOptions, quota_of
from ...http.server.sessions.servers import Served
from ...http.server.stateless import StatelessHttp
from ...http.server.time_limits import SharedTimer
from ...messages.jsonrpc import Call, Parsed
from ...messages.reading import Batch
from ...rules import server_negotiation
from ...server.base import ServerBase
from ...server.connection import BoundServer, ServerState, ServerViews
from ...server.serve import Router
from ...server.upstream import Upstream
from ...translation.revision_view import RevisionViews
from ...transports.base import Opener, Transport
from .bridge import UNREACHABLE, BridgeBase, Caller, UnfitCaller, caller_of, open_proxy

_log: Final = getLogger(__name__)

_Key: TypeAlias = tuple[str, str | None, bytes]
"""A revision, the id of a principal, and its client's info and declaration."""


def bridge_app(
    bridge: type[BridgeBase],
    opener: Opener,
    *,
    client_revisions: Iterable[Revision] | None = None,
    server_revisions: Iterable[Revision] | None = None,
    options: Options = USUAL,
    http: HttpOptions = USUAL_HTTP,
) -> HttpApp:
    """Return an ASGI application that forwards all requests of clients to a server.

    `bridge` is the `Bridge` of a package; `client_revisions` and `server_revisions` are its
    parameters. `opener` is called for each session, and once for all stateless requests with the
    same principal, client info and capabilities. `http.max_sessions` limits both kinds, in all and
    per principal; unused ones end after `http.session_lifetime`.

    Raise `ValueError` for options with shared sessions, or without sessions.
    """
    if http.shared is not None or not http.sessions:
        raise ValueError("a bridge needs HttpOptions(sessions=True), without shared")
    revisions = tuple(bridge.REVISIONS if client_revisions is None else client_revisions)
    servers = tuple(bridge.REVISIONS if server_revisions is None else server_revisions)
    # Before a server is known, only the revisions count.
    unknown = max(revisions, key=lambda revision: revision.id).load().Server()
    served = Served((unknown,), revisions, options, http)
    return BridgeApp(BridgeSettings(bridge, opener, servers, served))


class BridgeSettings(NamedTuple):
    bridge: type[BridgeBase]
    opener: Opener
    servers: tuple[Revision, ...]
    served: Served


class BridgeApp(HttpApp):
    def __init__(self, way: BridgeSettings) -> None:
        self.way = way
        super().__init__(way.served)

    def _new_running(self) -> Running:
        state = _BridgeState(self.way)
        return Running(state, _BridgedStateless(state).post)


class _BridgeState(HttpState):
    def __init__(self, way: BridgeSettings) -> None:
        super().__init__(way.served)
        self.way = way
        self.revisions: Final = {revision.id: revision for revision in way.served.revisions or ()}
        self.alike: OrderedDict[_Key, _Upstream] = OrderedDict()
        """The shared connections, the latest used at the end."""
        self._of_alike = quota_of(self.http, "max_sessions")
        self._idle = SharedTimer(self.http.session_lifetime)
        self._connecting = Tasks()
        """The connections themselves, which end after their users."""
        self._of_sessions: dict[BoundServer, _Upstream] = {}

    async def session_server(
        self, call: Call, revision: str, exchange: HttpExchange
    ) -> BoundServer:
        caller = caller_of(call, self.revisions[revision], self.options.of_client)
        upstream = self._open_upstream(caller)
        try:
            with self.watching(exchange, upstream.end):
                server = await upstream.wait_open(call)
        except BaseException:
            upstream.end()
            raise
        bound_server = self.servers_of(server).bound_server(revision)
        self._of_sessions[bound_server] = upstream
        upstream.when_gone(lambda: self._end_session(bound_server))
        return bound_server

    def _open_upstream(self, caller: Caller) -> "_Upstream":
        upstream = _Upstream()
        upstream.work = self._connecting.start(upstream.run(_connect(self.way, caller)))
        return upstream

    def servers_of(self, server: ServerBase[Any]) -> ServerState:
        """Return the state for the clients of one connection; tasks are not shared with others."""
        shared, views = self.shared, RevisionViews({server.TABLE.revision: server})
        servers = ServerState(views, self.tasks, self.options)
        servers.ids, servers.network = shared.ids, shared.network
        servers.tells_apart, servers.offer = shared.tells_apart, shared.offer
        return servers

    async def release(self, bound_server: BoundServer) -> None:
        upstream = self._of_sessions.pop(bound_server, None)
        if upstream is not None:
            await upstream.close()

    async def enter_lifespan(self, bound_server: BoundServer) -> AsyncExitStack:
        stack = AsyncExitStack()
        stack.push_async_callback(self.release, bound_server)
        return stack

    def _end_session(self, bound_server: BoundServer) -> None:
        for session in self.sessions:
            if session.connection.bound_server is bound_server:
                _log.warning("a session was ended: its server is gone")
                self.tasks.start(self.sessions.remove(session))
                return

    async def serve_alone(
        self, views: ServerViews, transport: Transport, on_begin: Callable[[Router], None]
    ) -> None:
        bridge = self.way.bridge(
            transport,
            self.way.opener,
            client_revisions=[self.revisions[revision] for revision in self.offer.handshake],
            server_revisions=self.way.servers,
            options=self.options,
        )
        try:
            await bridge.run()
        except Exception as error:
            _report(error)

    @contextmanager
    def use_upstream(self, key: _Key, caller: Caller) -> Generator["_Upstream", None, None]:
        alike = self.alike.get(key)
        if alike is None:
            self._of_alike.require(key[1], free=self._drop_idle)
            self._of_alike.take(key[1])
            alike = self.alike[key] = self._open_upstream(caller)
            alike.when_gone(lambda: self._forget(key, alike))
        self.alike.move_to_end(key)
        alike.used += 1
        self._idle.open.pop(alike, None)
        try:
            yield alike
        finally:
            alike.used -= 1
            if not alike.used and self.alike.get(key) is alike:
                alike.on_end = partial(self._drop, key, alike)
                self._idle.begin(alike)

    def _drop_idle(self, owner: str | None, _: int) -> bool:
        for key, alike in self.alike.items():
            if not alike.used and owner in (None, key[1]):
                self._drop(key, alike)
                return True
        return False

    def leave(self, key: _Key, alike: "_Upstream") -> None:
        """End a connection that is not open yet, unless others wait for it."""
        if alike.used == 1:
            self._drop(key, alike)

    def _drop(self, key: _Key, alike: "_Upstream") -> None:
        if self.alike.get(key) is not alike:
            return
        del self.alike[key]
        self._of_alike.give_back(key[1])
        self._idle.open.pop(alike, None)
        self.tasks.start(alike.close())

    def _forget(self, key: _Key, alike: "_Upstream") -> None:
        self._drop(key, alike)
        if alike.http is not None:
            alike.http.abort(Disconnected("the server is gone"))

    async def close(self) -> None:
        await super().close()
        await gather(*(upstream.close() for upstream in self.alike.values()))
        await self._connecting.cancel()


def _report(error: Exception) -> None:
    _log.error("the server cannot be reached: %s: %s", type(error).__name__, error)


@asynccontextmanager
async def _connect(way: BridgeSettings, caller: Caller) -> AsyncGenerator[ServerBase[Any], None]:
    bridge, opener, servers, served = way
    try:
        async with open_proxy(bridge, caller, opener, servers, served.options) as server:
            yield server
    except Exception as error:
        _report(error)
        raise


class _Upstream(Upstream):
    http: StatelessHttp | None = None
    """The side of clients that share it."""
    used = 0
    """The requests that use it now."""
    on_end: Callable[[], None]

    def when_gone(self, work: Callable[[], None]) -> None:
        self.work.add_done_callback(lambda _: None if self.over.is_set() else work())

    async def wait_open(self, call: Call) -> ServerBase[Any]:
        """Return the server for a client's call; raise `HttpRefusal` without one."""
        try:
            await shield(self.ready)
            return self.server
        except UnfitCaller as unfit:
            error, status = unfit.error, 404 if isinstance(unfit.error, MethodNotFound) else 400
            code, data = error.code, error.data
            raise HttpRefusal(status, error.message, code=code, id=call.id, data=data) from None
        except Exception:
            raise HttpRefusal(502, UNREACHABLE, code=INTERNAL_ERROR, id=call.id) from None

    async def close(self) -> None:
        self.end()
        await wait([self.work])


class _BridgedStateless:
    def __init__(self, state: _BridgeState) -> None:
        self._state = state
        self._none = StatelessHttp(state)

    async def post(self, exchange: HttpExchange, message: Parsed | Batch) -> None:
        state, version = self._state, exchange.version
        if (
            not isinstance(message, Call)
            or message.id is None
            or version not in state.offer.stateless
            or message.method == server_negotiation.INITIALIZE
            or version != server_negotiation.read_revision(message)
        ):
            # It is invalid, or needs no server.
            await self._none.post(exchange, message)
            return
        state.requests.require(exchange.principal_id)
        caller = caller_of(message, state.revisions[version], state.options.of_client)
        said = json_text({"capabilities": caller.capabilities, "info": caller.info})
        key: _Key = (version, exchange.principal_id, said)
        with state.use_upstream(key, caller) as alike:
            with state.watching(exchange, partial(state.leave, key, alike)):
                server = await alike.wait_open(message)
            if alike.http is None:
                alike.http = StatelessHttp(state, state.servers_of(server))
            await alike.http.post(exchange, message)
