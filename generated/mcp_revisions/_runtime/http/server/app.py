"""The ASGI application: the checks that every request has to pass, and the routes.

Needs nothing but the standard library; runs under any ASGI server, by itself or mounted inside
another application.
"""

from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Iterable, Mapping
from logging import getLogger
from typing import Final, TypeAlias

from ...core.errors import RemoteError
from ...core.options import Options
from ...core.revision import Revision
from ...core.throttle import Throttle
from ...messages import jsonrpc
from ...server.serve import Server
from .. import headers
from .asgi import HttpRefusal, Receive, Scope, Send, respond
from .legacy_sse import LegacySse
from .options import HttpOptions
from .origin_guard import OriginGuard
from .request import HttpRequest, accepts, is_json
from .send import ResponseSender
from .state import HttpState
from .stateful import StatefulHttp
from .stateless import StatelessHttp, is_stateless

_log: Final = getLogger(__name__)

_USUAL: Final = Options()
_USUAL_HTTP: Final = HttpOptions()


def http_app(
    servers: Server | Iterable[Server],
    *,
    revisions: Iterable[Revision] | None = None,
    options: Options = _USUAL,
    http: HttpOptions = _USUAL_HTTP,
) -> "HttpApp":
    """Return an ASGI application that serves any number of clients over HTTP.

    `servers` and `revisions` are those of `serve`. Where a class is given, each session gets a
    server of its own; all requests of the stateless era share one. Raise `ValueError` if no server
    is given, or two of the same revision.
    """
    given = tuple(servers) if isinstance(servers, Iterable) else (servers,)
    if not given or len({server.TABLE.revision for server in given}) < len(given):
        raise ValueError("http_app needs at least one server, and one for a revision at most")
    return HttpApp(given, None if revisions is None else tuple(revisions), options, http)


class HttpApp:
    """An ASGI 3 application that serves both eras at one endpoint."""

    def __init__(
        self,
        servers: tuple[Server, ...],
        revisions: tuple[Revision, ...] | None,
        options: Options,
        http: HttpOptions,
    ) -> None:
        self._of = servers, revisions, options, http
        self._http = http
        self._log = Throttle(_log)
        self._guard = OriginGuard(http.allowed_hosts, http.allowed_origins)
        self._authentication = http.authentication
        resource = None if http.authentication is None else http.authentication.resource
        self._metadata = b"" if resource is None else resource.to_json()
        """Says where to get a token, at these paths."""
        self._metadata_paths = () if resource is None else resource.paths
        self._running: _Running | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection of the ASGI server."""
        if scope["type"] != "http":
            await self._serve_other(scope, receive, send)
            return
        sender = ResponseSender(send, self._http.send_timeout, self._log)
        try:
            request = HttpRequest(scope, receive, self._http.max_headers)
            handle = self._handler(request)
            principal = None if self._authentication is None else await self._principal(request)
            await handle(request, sender, principal)
        except HttpRefusal as refused:
            self._log.info("refused a request with %d: %s", refused.status, refused)
            await respond(sender, refused.status, refused.body, refused.fields)
        except RemoteError as error:
            self._log.info("refused a message: %s", error)
            answer = HttpRefusal.because(error)
            await respond(sender, answer.status, answer.body)
        while sender.stuck and (await receive())["type"] != "http.disconnect":
            # A response that was begun and cannot be ended ends with its connection.
            pass

    async def _serve_other(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1000})

    @property
    def options(self) -> HttpOptions:
        """The options it was made with."""
        return self._http

    async def close(self) -> None:
        """End all sessions and streams. ASGI servers that know lifespans do so themselves."""
        running = self._running
        if running is None:
            return
        # Until then, whoever comes is told that this is the end, and begins nothing new.
        await running.service.close()
        if self._running is running:
            self._running = None

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            else:
                await self.close()
                await send({"type": "lifespan.shutdown.complete"})
                return

    def _handler(self, request: HttpRequest) -> "_Handler":
        """Return what serves a request; raise `HttpRefusal` for a wrong path, host or method."""
        if request.path in self._metadata_paths:
            return self._send_metadata
        self._guard.check(request.fields.get(b"host"), request.fields.get(b"origin"))
        running = self._running
        if running is None or running.service.loop is not get_running_loop():
            # Not before there is a loop: an application is made at import, often, and tests run
            # one in many.
            running = self._running = _Running(HttpState(*self._of))
        running.service.check_running()
        handlers = running.handlers(request)
        handle = handlers.get(request.method)
        if handle is None:
            allow = b"allow", ", ".join(handlers).encode()
            raise HttpRefusal(405, "Method not allowed", fields=[allow])
        return handle

    async def _principal(self, request: HttpRequest) -> str | None:
        """Return who sends a request; raise `HttpRefusal`."""
        if self._authentication is None or request.path in self._metadata_paths:
            return None
        principal = await self._authentication.principal(request.field(b"authorization"))
        return principal.id

    async def _send_metadata(
        self, request: HttpRequest, send: ResponseSender, _: str | None
    ) -> None:
        """Answer with where to get a token, also to pages of any origin."""
        await respond(send, 200, self._metadata, [(b"access-control-allow-origin", b"*")])


_Handler: TypeAlias = Callable[[HttpRequest, ResponseSender, str | None], Awaitable[None]]


class _Running:
    """The application while an event loop runs it."""

    def __init__(self, service: HttpState) -> None:
        self.service = service
        http, old_sse = service.http, LegacySse(service)
        self._handshake = StatefulHttp(service)
        self._stateless = StatelessHttp(service)
        self._posts: Mapping[str, _Handler] = {"POST": self._post}
        self._endpoint = self._posts
        if http.sessions and service.offer.handshake:
            streams = {"GET": self._handshake.get, "DELETE": self._handshake.delete}
            self._endpoint = {**self._posts, **streams}
        self._elsewhere: Mapping[str, Mapping[str, _Handler]] = {}
        if http.old_sse:
            self._elsewhere = {
                http.old_sse_path: {"GET": old_sse.open},
                http.old_messages_path: {"POST": old_sse.post},
            }

    def handlers(self, request: HttpRequest) -> "Mapping[str, _Handler]":
        """Return what serves a path, by method; raise `HttpRefusal` for an unknown path."""
        if request.path == self.service.http.path:
            # Streams and sessions are in the handshake revisions alone.
            stateless = request.version in self.service.offer.stateless
            return self._posts if stateless else self._endpoint
        handlers = self._elsewhere.get(request.path)
        if handlers is None:
            raise HttpRefusal(404, "There is nothing here; see HttpOptions.path")
        return handlers

    async def _post(
        self, request: HttpRequest, send: ResponseSender, principal: str | None
    ) -> None:
        if not accepts(request.fields.get(b"accept", b""), headers.JSON, headers.EVENTS):
            raise HttpRefusal(406, "Accept has to list application/json and text/event-stream")
        if not is_json(request.fields.get(b"content-type", b"")):
            raise HttpRefusal(415, "Content-Type has to be application/json")
        bodies = self.service.bodies
        try:
            message = jsonrpc.read(await bodies.read(request))
            if is_stateless(request.version, message, self.service.offer):
                await self._stateless.post(request, message, send, principal)
            else:
                await self._handshake.post(request, message, send, principal)
        finally:
            bodies.done(request)
