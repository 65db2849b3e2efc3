"""The server that users write: answers any number of connections, and publishes changes."""

from asyncio import gather
from contextlib import suppress
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from ..core.connection_errors import Disconnected
from ..core.spec import Role
from ..rpc.endpoint import Endpoint
from ..rules.handlers import Handlers, HandlerSet, runtime_of

SessionT = TypeVar("SessionT")


class OpenConnection(Protocol):
    """A connection that a server hears of while it is open."""

    endpoint: Endpoint

    def session(self) -> Any: ...

    async def publish(self, method: str, uri: str | None, /) -> None:
        """Send the notification of a change to a client that wants it."""
        ...


class ServerRuntime(HandlerSet):
    """The runtime's part of a server: its open connections, and how often it has changed."""

    def __init__(self, owner: Handlers) -> None:
        super().__init__(owner)
        self.connections: dict[OpenConnection, None] = {}
        """The connections that are open, in the order of their opening."""
        self.changes: dict[str, int] = {}
        """How many changes were published, by method."""

    async def publish(self, method: str, uri: str | None = None) -> None:
        """Tell those who want to know of a change, by the method of its notification."""
        self._count(method)
        work = [_publish(connection, method, uri) for connection in list(self.connections)]
        for outcome in await gather(*work, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome

    def announce(self, method: str) -> None:
        """Publish a change and do not wait; has to be called where the server runs."""
        self._count(method)
        for connection in list(self.connections):
            connection.endpoint.tasks.start(_publish(connection, method))

    def _count(self, method: str) -> None:
        self.changes[method] = self.changes.get(method, 0) + 1


async def _publish(connection: OpenConnection, method: str, uri: str | None = None) -> None:
    # A client that has gone needs no notification.
    with suppress(Disconnected):
        await connection.publish(method, uri)


class ServerBase(Handlers, Generic[SessionT]):
    """Base of the generated server.

    `SESSION` is the class of what handlers get beside the params. The methods that publish reach
    every connection of this server that wants to know: in the handshake revisions each one, or for
    a resource those subscribed to it; in 2026-07-28 the listen streams that asked for it. They
    raise `LocalError` if the capability is not declared, as one does by naming the notification
    in `SENDS`.
    """

    ROLE: ClassVar[Role] = "server"
    SESSION: ClassVar[type[Any]]

    @property
    def __mcp_runtime__(self) -> ServerRuntime:
        return runtime_of(self, ServerRuntime)

    @property
    def sessions(self) -> tuple[SessionT, ...]:
        """The connections that are open, one session for each, in the order of their opening."""
        return tuple(connection.session() for connection in self.__mcp_runtime__.connections)

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
