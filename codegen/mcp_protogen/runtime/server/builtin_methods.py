"""The methods that the runtime answers unless a server does, and what it keeps of them anyway.

The log level and the subscriptions of a client are kept whoever answers: what a handler adds is its
own decision to accept or refuse.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from ..core.errors import InvalidParams
from ..core.subscriptions import Listeners
from ..messages.parsed import Request
from ..rpc.incoming import Job
from .bound_server import BoundServer
from .listen_stream import ListenStreams
from .shared import ServerState


class ServedConnection(Protocol):
    """The connection that a built-in method is called over."""

    level: str
    """The least severe log entries that the client wants, in the handshake era."""

    @property
    def bound_server(self) -> BoundServer:
        """The handlers and declarations of the server."""
        ...

    @property
    def shared(self) -> ServerState:
        """The state in common with other connections."""
        ...

    @property
    def listeners(self) -> Listeners:
        """The subscriptions of the client."""
        ...

    @property
    def streams(self) -> ListenStreams:
        """The listen streams."""
        ...

    def register(self) -> None:
        """Hear of what the server publishes from now on."""
        ...

    def session(self) -> Any:
        """Return a new session for the connection as a whole."""
        ...


async def ping(connection: ServedConnection, request: Request[Any]) -> Any:
    """Answer that the server is there."""
    return request.spec.results[0]()


async def set_level(connection: ServedConnection, request: Request[Any]) -> Any:
    """Send log entries of this level and above from now on."""
    _keep_level(connection, request)
    return request.spec.results[0]()


async def subscribe(connection: ServedConnection, request: Request[Any]) -> Any:
    """Tell the client from now on when the resource changes."""
    _keep_subscription(connection, request)
    return request.spec.results[0]()


async def unsubscribe(connection: ServedConnection, request: Request[Any]) -> Any:
    """Stop telling the client when the resource changes."""
    _drop_subscription(connection, request)
    return request.spec.results[0]()


async def discover(connection: ServedConnection, request: Request[Any]) -> Any:
    """Say what the server speaks, offers and is called (2026-07-28, server/discover)."""
    result, bound_server = request.spec.results[0], connection.bound_server
    return result(
        supported_versions=list(connection.shared.supported),
        instructions=getattr(bound_server.server, "instructions", None),
        **bound_server.view.introduction(result),
    )


async def listen(connection: ServedConnection, request: Request[Any]) -> Any:
    """Keep a stream of changes open until either side ends it."""
    connection.register()
    return await connection.streams.serve(request, connection.session)


BUILT_IN: Final[Mapping[str, Callable[[ServedConnection, Request[Any]], Awaitable[Any]]]] = {
    "logging/setLevel": set_level,
    "ping": ping,
    "resources/subscribe": subscribe,
    "resources/unsubscribe": unsubscribe,
    "server/discover": discover,
    "subscriptions/listen": listen,
}


def _check_subscription(connection: ServedConnection, job: Job) -> None:
    connection.listeners.check(job.request.params.uri)


def _check_stream(connection: ServedConnection, job: Job) -> None:
    problems = connection.shared.options.of_stream.problems("", {"params": job.request.raw})
    if problems:
        raise InvalidParams(problems[0].message, problems)


def _keep_level(connection: ServedConnection, request: Request[Any]) -> None:
    connection.level = request.params.level


def _keep_subscription(connection: ServedConnection, request: Request[Any]) -> None:
    connection.listeners.subscribe(request.params.uri)


def _drop_subscription(connection: ServedConnection, request: Request[Any]) -> None:
    connection.listeners.unsubscribe(request.params.uri)


_Check: TypeAlias = Callable[[ServedConnection, Job], None]
_Keep: TypeAlias = Callable[[ServedConnection, Request[Any]], None]


class Kept(NamedTuple):
    """The check of a request before it is answered, and what is kept of it afterwards."""

    check: _Check | None = None
    keep: _Keep | None = None


NOTHING: Final = Kept()
KEPT: Final[Mapping[str, Kept]] = {
    "logging/setLevel": Kept(keep=_keep_level),
    "resources/subscribe": Kept(_check_subscription, _keep_subscription),
    "resources/unsubscribe": Kept(keep=_drop_subscription),
    "subscriptions/listen": Kept(_check_stream),
}
