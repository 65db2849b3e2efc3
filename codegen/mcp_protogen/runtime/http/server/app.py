"""The ASGI application: the checks of every request, and the routes.

It runs under any ASGI server, alone or mounted in another application.
"""

from asyncio import Task, create_task, get_running_loop, shield, wait
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from logging import getLogger
from typing import Any, Final, TypeAlias

from ...core.errors import RemoteError
from ...core.options import USUAL, Options
from ...core.quotas import NoRoom
from ...core.revision import Revision
from ...core.throttle import Throttle
from ...messages.envelope import PROTOCOL_VERSION
from ...messages.jsonrpc import Call, Malformed, Parsed
from ...messages.method_table import HANDSHAKE_ERA
from ...messages.reading import Batch
from ...rules.server_negotiation import Offer
from ...server.lifespan import LifespanError
from ...server.serve import ServeOptions, Server, enter_lifespans, has_lifespan, revisions_spoken
from ...storage.engine import EngineUnavailable
from .asgi import (
    HttpExchange,
    HttpRefusal,
    Receive,
    Scope,
    Send,
    check_post,
    other_spelling,
    refusal_of,
    single_message,
)
from .cors import CrossOrigin
from .http_state import SHUTTING_DOWN, HttpState
from .legacy_sse import LegacySse
from .options import USUAL_HTTP, HttpOptions
from .resource_metadata import send_document
from .routes import Route, Routes
from .scope_check import check_known
from .sessions.servers import Served, cannot_begin
from .stateful import StatefulHttp
from .stateless import StatelessHttp
from .time_limits import SharedTimer

_log: Final = getLogger(__name__)

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_ANY: Final = "*"
_USUAL_PORTS: Final = {"http": ":80", "https": ":443"}

_KNOWN: Final = 1000
_LONGEST: Final = 300
_PORT: Final = len("65535")


class AppOptions(ServeOptions, total=False):
    http: HttpOptions
    routes: Iterable[Route]


def http_app(
    servers: Server | Iterable[Server],
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = USUAL,
    http: HttpOptions = USUAL_HTTP,
    routes: Iterable[Route] = (),
) -> "HttpApp":
    """Return an ASGI application that serves clients over HTTP.

    `servers` and `revisions` are those of `serve`. A class gives each session its own server; all
    stateless requests share one. Lifespans are entered with that of the ASGI server, or else at the
    first request. `routes` are served beside the endpoint. Raise `ValueError` without a server, for
    two of one revision, clashing routes, unchecked tokens, and `method_scopes` of unknown methods.
    """
    all_servers = tuple(servers) if isinstance(servers, Iterable) else (servers,)
    if not all_servers or len({server.TABLE.revision for server in all_servers}) < len(all_servers):
        raise ValueError("http_app needs at least one server, and at most one per revision")
    all_spoken = revisions_spoken(all_servers, revisions)
    spoken = None if all_spoken is None else tuple(all_spoken)
    beside = [*routes, *_routes_of(all_servers)]
    if http.authentication is None:
        _check_no_tokens(all_servers, beside)
    else:
        check_known(http.authentication.method_scopes, all_servers)
    return HttpApp(Served(all_servers, spoken, options, http), beside)


def _check_no_tokens(servers: Iterable[Server], routes: Iterable[Route]) -> None:
    advice = "set HttpOptions(authentication=...)"
    for route in routes:
        if route.authenticated:
            raise ValueError(f"{route} requires a token: {advice}")
    for server in servers:
        if isinstance(server, type):
            # Each session gets an object of it.
            name, wants = server.__name__, server.__mcp_wants_scopes__
        else:
            name, wants = type(server).__name__, server.__mcp_runtime__.wants_scopes
        if wants:
            raise ValueError(f"{name} requires scopes of a token: {advice}")


def _routes_of(servers: Iterable[Server]) -> Iterator[Route]:
    for server in servers:
        if not isinstance(server, type):
            runtime = server.__mcp_runtime__
            runtime.routes = tuple(runtime.routes)
            yield from runtime.routes


class HttpApp:
    """An ASGI 3 application for both eras at one endpoint."""

    def __init__(self, served: Served, routes: Iterable[Route] = ()) -> None:
        self._servers, self.revisions, self.options, self.http = served
        http = self.http
        self._log = Throttle(__name__)
        listed_only = http.cors is not None and http.cors.credentials
        self.guard = OriginGuard(http.allowed_hosts, http.allowed_origins, listed_only=listed_only)
        self._unchecked: dict[str, _Handler] = {}
        """Handlers without checks, by path: where to get a token, and health."""
        if http.authentication is not None and (resource := http.authentication.resource):
            metadata = partial(send_document, resource.to_json())
            self._unchecked = dict.fromkeys(resource.paths, metadata)
        for server in self._servers:
            if publish := getattr(server, "__mcp_publish__", None):
                self._unchecked |= publish(server, self)
        self._cross_origin: CrossOrigin | None = None
        if http.cors is not None:
            known = [revision.load().methods.TABLE for revision in self.revisions or ()]
            tables = known or [server.TABLE for server in self._servers]
            self._cross_origin = CrossOrigin(http.cors, self.guard.may_call, tables)
        old = (http.old_sse_path, http.old_messages_path) if http.old_sse else ()
        paths = http.path, *old
        reserved = {*paths, *map(other_spelling, paths), *self._unchecked}
        self._routes = Routes(routes, reserved)
        for path, probe in ((http.health_path, _respond_to_probe), (http.ready_path, self._ready)):
            if path is not None and path not in reserved and not self._routes.are_at(path):
                self._unchecked[path] = probe
        self._running: Running | None = None
        self._beginning: Task[None] | None = None
        self.on_begun: Callable[[], None] | None = None
        """Called after the start in the lifespan of the ASGI server."""
        self.missing: Callable[[], Collection[str]] = tuple
        """Returns the names of what it is not ready without."""
        self.failure: LifespanError | None = None
        """The error in the lifespan of the ASGI server, which only logs it."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or the lifespan of the ASGI server."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        running = self._running_here
        sending = SharedTimer(self.http.send_timeout) if running is None else running.state.sending
        exchange = HttpExchange(scope, receive, send, sending, self._log)
        if self._cross_origin is not None:
            exchange.add(partial(self._cross_origin.response_fields, scope))
        try:
            exchange.read_head(self.http.max_headers)
            handle = self._unchecked.get(exchange.path)
            await (self._serve(exchange, running) if handle is None else handle(exchange))
        except (HttpRefusal, NoRoom, RemoteError, EngineUnavailable) as error:
            error.__traceback__ = None  # which keeps this frame alive
            refusal = refusal_of(error)
            self._log.info("refused a request with %d: %r", refusal.status, str(error))
            await exchange.respond(refusal.status, refusal.body, refusal.fields)
        if running is None:
            sending.close()
        while exchange.stuck and (await receive())["type"] != "http.disconnect":
            # A response that cannot be completed ends with its connection.
            pass

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (await receive())["type"] == "lifespan.startup":
                work = self._begin() if self._has_to_begin else None
                if not await self._answer("startup", work, send):
                    return
                if self.on_begun is not None:
                    self.on_begun()
            await self._answer("shutdown", self.close(), send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    async def _answer(self, phase: str, work: Awaitable[Any] | None, send: Send) -> bool:
        try:
            if work is not None:
                await work
        except LifespanError as error:
            self.failure = error
            await send({"type": f"lifespan.{phase}.failed", "message": str(error)})
            return False
        await send({"type": f"lifespan.{phase}.complete"})
        return True

    @property
    def has_sessions(self) -> bool:
        """Return whether it keeps sessions, as only handshake revisions do."""
        spoken = self.revisions or [server.TABLE.rules for server in self._servers]
        return self.http.sessions and any(revision.era == HANDSHAKE_ERA.name for revision in spoken)

    async def _ready(self, exchange: HttpExchange) -> None:
        running = self._running_here
        if running is None:
            # Start now: a load balancer may send no request before.
            status = "starting" if self._has_to_begin and not await self._has_begun() else "ready"
        elif running.state.closing:
            status = "closing"
        else:
            status = "ready" if running.state.worker.current else "engine unavailable"
        if status == "ready" and (missing := self.missing()):
            status = f"waiting for {', '.join(missing)}"
        await _respond_to_probe(exchange, 200 if status == "ready" else 503, status)

    async def _has_begun(self) -> bool:
        task = self._beginning_task()
        await wait([task], timeout=0)
        if not task.done():
            return False
        if (error := task.exception()) is not None:
            _log.error("the server is not ready: %s", error, exc_info=error)
        return error is None

    async def close(self) -> None:
        """End all sessions and streams. ASGI servers with lifespans do this themselves."""
        if self._beginning is not None and self._beginning.get_loop() is get_running_loop():
            await wait([self._beginning])
        running = self._running
        if running is None:
            return
        # Until then, requests are refused and start nothing.
        try:
            await running.state.close()
        finally:
            if self._running is running:
                self._running = None
            await running.held.aclose()

    @property
    def _running_here(self) -> "Running | None":
        running = self._running
        return None if running is None or running.loop is not get_running_loop() else running

    async def _begin(self) -> None:
        """Enter the servers' lifespans in this event loop; raise `LifespanError`."""
        if self._running_here is None:
            # Other requests may wait for it, too.
            await shield(self._beginning_task())

    def _beginning_task(self) -> Task[None]:
        task = self._beginning
        if task is None or task.done() or task.get_loop() is not get_running_loop():
            task = self._beginning = create_task(self._enter())
        return task

    @property
    def _has_to_begin(self) -> bool:
        return self.http.shared is not None or any(map(has_lifespan, self._servers))

    async def _enter(self) -> None:
        running = self._new_running()
        state = running.state
        try:
            try:
                await state.begin()
            except Exception as error:
                reason = f"the shared engine cannot be used: {type(error).__name__}: {error}"
                raise LifespanError(reason) from error
            await running.held.enter_async_context(enter_lifespans(state.shared_servers))
        except BaseException:
            await state.close()
            raise
        self._running = running

    def _new_running(self) -> "Running":
        state = HttpState(Served(self._servers, self.revisions, self.options, self.http))
        return Running(state, StatelessHttp(state).post)

    async def _begin_first(self) -> None:
        # Only now: applications are often made at import, and tests run one in many loops.
        if not self._has_to_begin:
            self._running = self._new_running()
            return
        try:
            await self._begin()
        except LifespanError as error:
            raise cannot_begin(error) from None

    async def _serve(self, exchange: HttpExchange, running: "Running | None") -> None:
        source = exchange.fields.get(b"host"), exchange.fields.get(b"origin")
        if source not in self.guard.passed:
            self.guard.check(*source)
        while running is None:
            await self._begin_first()
            running = self._running_here
        if running.state.closing:
            raise HttpRefusal.for_now(SHUTTING_DOWN)
        handlers = running.paths.get(exchange.path) or running.paths.get(exchange.other_path)
        if handlers is running.endpoint and exchange.version in running.state.offer.stateless:
            # Only handshake revisions have streams and sessions.
            handlers = running.posts
        handle = None if handlers is None else handlers.get(exchange.scope["method"])
        if handle is None:
            handle = self._other_handler(exchange, handlers, running.state)
        if self.http.authentication is not None and not self._is_open(exchange):
            # A verifier may need the lifespans; shutdown may begin meanwhile.
            check = self.http.authentication.authenticate
            exchange.set_principal(await check(exchange, self.http.path))
            if running.state.closing:
                raise HttpRefusal.for_now(SHUTTING_DOWN)
        try:
            await handle(exchange)
        finally:
            running.state.end_request(exchange)

    def _other_handler(
        self, exchange: HttpExchange, methods: Iterable[str] | None, state: HttpState
    ) -> "_Handler":
        if methods is not None:
            return self._other_method(exchange, methods)
        route = self._routes.find(exchange.path, exchange.scope["method"])
        if route is None:
            methods = self._routes.methods(exchange.path)
            if not methods:
                raise HttpRefusal(404, "Not found; see HttpOptions.path")
            return self._other_method(exchange, methods)
        if (method := self._preflight(exchange)) is not None:
            return self._other_method(exchange, [method])
        return partial(route.serve, state)

    def _other_method(self, exchange: HttpExchange, methods: Iterable[str]) -> "_Handler":
        if self._cross_origin is not None and self._preflight(exchange) is not None:
            return partial(self._cross_origin.answer, methods=methods)
        raise HttpRefusal.not_allowed(methods)

    def _preflight(self, exchange: HttpExchange) -> str | None:
        return None if self._cross_origin is None else self._cross_origin.preflight_method(exchange)

    def _is_open(self, exchange: HttpExchange) -> bool:
        """Return whether no token is needed: for open routes, and preflights."""
        route = self._routes.find(exchange.path, exchange.scope["method"])
        is_open = route is not None and not route.authenticated
        return is_open or self._preflight(exchange) is not None


class OriginGuard:
    """The check of `Host` and `Origin`; pages at an allowed host may call, too.

    By DNS rebinding, a page in a browser can reach a server on its user's machine under a name
    of its author. That name stays in `Host`, and the page in `Origin` (2026-07-28,
    basic/transports/streamable-http, "Security & Endpoint").
    """

    def __init__(
        self, hosts: Collection[str], origins: Collection[str], *, listed_only: bool = False
    ) -> None:
        self._hosts = frozenset(host.lower() for host in hosts or _LOOPBACK)
        self._origins = frozenset(map(_origin, origins))
        self._listed_only = listed_only
        self.passed: set[tuple[bytes, bytes | None]] = set()
        """The pairs that have passed before."""

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Raise `HttpRefusal` for a request that is not for this server."""
        if host is None:
            raise HttpRefusal(400, "The header field Host is missing")
        if not self._is_allowed(host.decode("latin-1").strip(" \t").lower()):
            raise HttpRefusal(421, "Host is not allowed; see allowed_hosts")
        if origin is not None and not self.may_call(origin):
            raise HttpRefusal(403, "Origin is not allowed; see allowed_origins")
        if len(host) + len(origin or b"") > _LONGEST:
            return
        if len(self.passed) >= _KNOWN:
            self.passed.clear()
        self.passed.add((host, origin))

    def _is_allowed(self, host: str) -> bool:
        if _ANY in self._hosts or host in self._hosts:
            return True
        name, colon, port = host.rpartition(":")
        is_port = bool(colon) and port.isascii() and port.isdigit() and len(port) <= _PORT
        return is_port and name in self._hosts

    def may_call(self, field: bytes) -> bool:
        origin = field.decode("latin-1").strip(" \t").lower()
        if _ANY in self._origins or origin in self._origins:
            return True
        scheme, _, host = origin.partition("://")
        if self._listed_only or scheme not in ("http", "https") or _ANY in self._hosts:
            # A server with any name must list the pages it trusts.
            return False
        # A host with a path or a user name is in no list.
        return self._is_allowed(host)


def _origin(text: str) -> str:
    origin = text.lower().rstrip("/")
    scheme = origin.partition("://")[0]
    return origin.removesuffix(_USUAL_PORTS.get(scheme, "/"))


_Handler: TypeAlias = Callable[[HttpExchange], Awaitable[None]]


async def _respond_to_probe(exchange: HttpExchange, status: int = 200, text: str = "ok") -> None:
    # Caches must not keep it.
    await send_document({"status": text}, exchange, {"cache-control": "no-store"}, status)


class Running:
    """The application in an event loop: its handlers, by path and method."""

    def __init__(
        self,
        state: HttpState,
        post_stateless: Callable[[HttpExchange, Parsed | Batch], Awaitable[None]],
    ) -> None:
        self.state = state
        self.loop: Final = get_running_loop()
        self.held: Final = AsyncExitStack()
        self._log = Throttle(__name__)
        self._stateful = StatefulHttp(state)
        self._post_stateless = post_stateless
        http, legacy = state.http, LegacySse(state)
        self.posts: Mapping[str, _Handler] = {"POST": self._post}
        self.endpoint = self.posts
        if http.sessions and state.offer.handshake:
            streams = {"GET": self._stateful.get, "DELETE": self._stateful.delete}
            self.endpoint = {**self.posts, **streams}
        self.paths: dict[str, Mapping[str, _Handler]] = {}
        if http.old_sse:
            self.paths[http.old_sse_path] = {"GET": legacy.open}
            self.paths[http.old_messages_path] = {"POST": legacy.post}
        self.paths[http.path] = self.endpoint

    async def _post(self, exchange: HttpExchange) -> None:
        get = exchange.fields.get
        check_post(get(b"accept"), get(b"content-type", b""))
        await self.state.bodies.read(exchange)
        message, exchange.body = single_message(exchange.body, self._log), b""
        offer = self.state.offer
        if offer.stateless and _is_stateless(exchange.version, message, offer):
            await self._post_stateless(exchange, message)
        else:
            await self._stateful.post(exchange, message)


def _is_stateless(version: str | None, message: Parsed | Batch, offer: Offer) -> bool:
    """Return whether a POST is stateless; rows DS01 to DS12 of the decision tables."""
    if not offer.handshake:
        return True
    if isinstance(message, (Call, Malformed)) and PROTOCOL_VERSION in message.meta:
        return True
    return version is not None and version not in offer.handshake
