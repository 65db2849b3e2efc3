"""Routes beside the endpoint: functions of a request, and ASGI applications."""

from asyncio import to_thread
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from inspect import isawaitable, iscoroutinefunction, signature
from logging import getLogger
from typing import Any, Final, TypeAlias, TypedDict, TypeVar

from pydantic_core import to_json

from ...core.connection_errors import Disconnected
from ...core.errors import INTERNAL_ERROR, PARSE_ERROR, LocalError, RemoteError
from ...core.http_request import HttpRequest
from ...core.json import read_json
from ...core.oauth_scopes import InsufficientScope
from ...server.base import ServerBase
from .. import headers
from .asgi import (
    LENGTH,
    HttpExchange,
    HttpRefusal,
    Message,
    Receive,
    Scope,
    Send,
    fields_of,
    length_of,
    too_large,
)
from .http_state import HttpState

_log: Final = getLogger(__name__)

_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")


class RouteRequest(HttpRequest):
    """The request of a route, with its body."""

    def __init__(self, exchange: HttpExchange, server: Any) -> None:
        super().__init__(exchange.scope, exchange.path, exchange.principal)
        self.body: Final = exchange.body
        self._server = server

    def json(self) -> Any:
        """Return the JSON value in the body; answer an invalid one with 400."""
        try:
            return read_json(self.body)
        except ValueError:
            reason = "The body of the request is not JSON"
            raise HttpRefusal(400, reason, code=PARSE_ERROR) from None

    @property
    def state(self) -> Any:
        """The value of the server's `lifespan`; raise `LocalError` without one."""
        if self._server is None:
            raise LocalError("request.state is unavailable: each session has its own server")
        return self._server.__mcp_runtime__.state


@dataclass(frozen=True, slots=True)
class RouteResponse:
    """The answer of a route; other content than text, bytes or None becomes JSON."""

    content: Any = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    def messages(self, method: str) -> tuple[Message, Message]:
        """Return the messages for ASGI; raise `ValueError` for an invalid header field."""
        content, kind = self.content, headers.JSON
        if content is None:
            content = b""
        elif isinstance(content, str):
            content, kind = content.encode(), "text/plain; charset=utf-8"
        elif isinstance(content, bytes):
            kind = "application/octet-stream"
        else:
            content = to_json(content)
        fields: dict[str, str] = {}
        if self.status in (204, 304):
            content = b""  # RFC 9110, sections 6.4.1 and 8.6: without a length.
        else:
            fields["content-length"] = str(len(content))
        if content:
            fields["content-type"] = kind
        fields |= {name.lower(): value for name, value in self.headers.items()}
        start = {"type": "http.response.start", "status": self.status, "headers": fields_of(fields)}
        return start, {"type": "http.response.body", "body": b"" if method == "HEAD" else content}


RouteFunction: TypeAlias = Callable[[RouteRequest], object]
"""A plain or async function that returns a `RouteResponse`, or its content.

It may also return an ASGI application, such as a Starlette response. None means status 204.
"""
RouteFunctionT = TypeVar("RouteFunctionT", bound=RouteFunction)
AsgiApp: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


class RouteOptions(TypedDict, total=False):
    methods: Collection[str]
    authenticated: bool


@dataclass(frozen=True, slots=True)
class Route:
    """A path beside the endpoint, answered by a function of a `RouteRequest`.

    An ASGI application in its place answers all methods, also below the path. Raise `ValueError` or
    `TypeError` for an invalid route.
    """

    path: str
    endpoint: RouteFunction | AsgiApp
    _: KW_ONLY
    methods: Collection[str] = ()
    """The methods of a function; by default GET, with HEAD."""
    authenticated: bool = False
    """Whether the route requires a token, as the endpoint does."""
    server: ServerBase[Any] | None = None
    """The server for the `state` of requests; by default the newest one served."""

    is_app: bool = field(init=False, repr=False)
    """Whether the endpoint is an ASGI application."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_app", _binds(self.endpoint, 3))
        if not self.path.startswith("/"):
            raise ValueError(f"{self}: the path must begin with a slash")
        if "{" in self.path:
            advice = "use the query, or an ASGI application with routes"
            raise ValueError(f"{self}: the path must not have parameters: {advice}")
        if isinstance(self.methods, str):
            raise TypeError(f'{self}: write a list: methods=["{self.methods}"]')
        if other := [method for method in self.methods if method not in _METHODS]:
            raise ValueError(f"{self}: expected methods of {', '.join(_METHODS)}, got {other[0]!r}")
        if self.is_app == _binds(self.endpoint, 1):
            noun = "a function of one request, or an ASGI application"
            raise TypeError(f"{self}: expected {noun}, got {self.endpoint!r}")
        if self.is_app and self.methods:
            raise TypeError(f"{self}: an ASGI application takes no methods")

    def __str__(self) -> str:
        name = getattr(self.endpoint, "__name__", type(self.endpoint).__name__)
        return f"{name}, the route {self.path}"

    @property
    def prefix(self) -> str:
        return self.path.rstrip("/")

    @property
    def answered(self) -> tuple[str, ...]:
        """The methods of a function; HEAD is GET without content."""
        methods = tuple(self.methods or ("GET",))
        return methods if "GET" not in methods else tuple(dict.fromkeys([*methods, "HEAD"]))

    async def serve(self, state: HttpState, exchange: HttpExchange) -> None:
        if self.is_app:
            app: Any = self.endpoint
            root = exchange.scope.get("root_path", "") + self.prefix
            receive = _limit_body(exchange, state.http.max_body)
            await _run(app, exchange, {**exchange.scope, "root_path": root}, receive)
            return
        await state.bodies.read(exchange)
        # Only now, so that slow clients take no room.
        state.take_place(state.requests, exchange)
        shared = state.shared_servers
        server = self.server or (shared[-1] if shared else None)
        try:
            result = await _call_function(self.endpoint, RouteRequest(exchange, server))
            if callable(result):
                response: Any = result
                await _run(response, exchange, exchange.scope, exchange.receive)
                return
            if not isinstance(result, RouteResponse):
                result = RouteResponse(result, 204 if result is None else 200)
            await exchange.send(*result.messages(exchange.scope["method"]))
        except HttpRefusal:
            raise
        except InsufficientScope as error:
            raise state.scopes.refusal(exchange, error) from None
        except Exception as error:
            _log.exception("%s failed", self)
            raise HttpRefusal(500, "Internal error", code=INTERNAL_ERROR) from error

    def add_to(self, server: ServerBase[Any]) -> None:
        """Serve the route with a server; raise `ValueError` if its place is taken."""
        runtime = server.__mcp_runtime__
        if isinstance(runtime.routes, tuple):
            raise RuntimeError(f"{self}: add routes before http_app(...), or app.http()")
        Routes([*runtime.routes, self], ())
        runtime.routes.append(self)


async def _call_function(function: Any, request: RouteRequest) -> Any:
    def call() -> Any:
        try:
            return function(request)
        except StopIteration as error:
            # A future cannot raise StopIteration.
            raise RuntimeError("a route raised StopIteration") from error

    is_async = iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__)
    result = call() if is_async else await to_thread(call)
    return await result if isawaitable(result) else result


async def _run(app: AsgiApp, exchange: HttpExchange, scope: Scope, receive: Receive) -> None:
    async def send(message: Message) -> None:
        await exchange.send(message)
        if exchange.closed:
            raise Disconnected  # so that streams end

    try:
        await app(scope, receive, send)
    except Disconnected:
        if not exchange.closed:
            raise
    except RemoteError as error:
        # Otherwise the client would get it as a protocol error.
        raise RuntimeError("a route failed") from error


def _limit_body(exchange: HttpExchange, most: int) -> Receive:
    length_of(exchange.fields.get(LENGTH, b"0"), most)
    left = most

    async def receive() -> Message:
        nonlocal left
        message = await exchange.receive()
        left -= len(message.get("body", b""))
        if left < 0:
            raise too_large(most)
        return message

    return receive


def _binds(endpoint: object, number: int) -> bool:
    try:
        signature(endpoint).bind(*range(number))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return False
    return True


class Routes:
    """The routes of an application; raise `ValueError` for a place used twice or `reserved`."""

    def __init__(self, routes: Iterable[Route], reserved: Collection[str]) -> None:
        self._functions: dict[str, dict[str, Route]] = {}
        self._apps: dict[str, Route] = {}
        self._reserved = reserved
        for route in routes:
            if not {route.path, route.prefix}.isdisjoint(reserved):
                raise ValueError(f"{route}: the server uses this path itself: choose another")
            if route.is_app:
                owners = {route.prefix: self._apps.setdefault(route.prefix, route)}
            else:
                by_method = self._functions.setdefault(route.path, {})
                owners = {method: by_method.setdefault(method, route) for method in route.answered}
            for existing in owners.values():
                if existing is not route:
                    raise ValueError(f"{route}: {existing} already uses this path: choose another")

    def are_at(self, path: str) -> bool:
        return path in self._functions or path.rstrip("/") in self._apps

    def methods(self, path: str) -> Mapping[str, Route]:
        return self._functions.get(path, {})

    def find(self, path: str, method: str) -> Route | None:
        """Return the function for a request, or the nearest application."""
        if path in self._reserved:
            return None
        if path in self._functions:
            return self._functions[path].get(method)
        prefixes = [prefix for prefix in self._apps if f"{path}/".startswith(f"{prefix}/")]
        return self._apps[max(prefixes, key=len)] if prefixes else None
