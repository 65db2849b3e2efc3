"""The server: answers any number of connections, and tells them what has changed."""

from asyncio import gather
from contextlib import suppress
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from .endpoint import Endpoint
from .errors import Disconnected
from .handlers import Handlers
from .spec import Role

SessionT = TypeVar("SessionT")
SessionT_co = TypeVar("SessionT_co", covariant=True)


class OpenConnection(Protocol[SessionT_co]):
    """A connection that a server is told of while it is open."""

    @property
    def endpoint(self) -> Endpoint:
        """What carries its messages."""
        ...

    def session(self) -> SessionT_co:
        """Return a new session for the connection as a whole."""
        ...

    async def publish(self, method: str, uri: str | None, /) -> None:
        """Send the notification of a change to a client that wants it."""
        ...


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
    def sessions(self) -> tuple[SessionT, ...]:
        """The connections that are open, one session for each, in the order of their opening."""
        return tuple(side.session() for side in self.sides)

    @property
    def sides(self) -> dict[OpenConnection[SessionT], None]:
        """The connections that are open, in the order of their opening; for the runtime."""
        # A user's __init__ need not call ours.
        sides: dict[OpenConnection[SessionT], None] = self.__dict__.setdefault("_connections", {})
        return sides

    @property
    def changes(self) -> dict[str, int]:
        """How many changes were published, by method; for the runtime."""
        changes: dict[str, int] = self.__dict__.setdefault("_changes", {})
        return changes

    async def tools_list_changed(self) -> None:
        """Tell those who want to know that the list of tools has changed."""
        await self.publish("notifications/tools/list_changed")

    async def prompts_list_changed(self) -> None:
        """Tell those who want to know that the list of prompts has changed."""
        await self.publish("notifications/prompts/list_changed")

    async def resources_list_changed(self) -> None:
        """Tell those who want to know that the list of resources has changed."""
        await self.publish("notifications/resources/list_changed")

    async def resource_updated(self, uri: str) -> None:
        """Tell those who subscribed to it that a resource has changed."""
        await self.publish("notifications/resources/updated", uri)

    async def publish(self, method: str, uri: str | None = None) -> None:
        """Tell those who want to know of a change, by the method of its notification."""
        self._count(method)
        told = [side.publish(method, uri) for side in list(self.sides)]
        for outcome in await gather(*told, return_exceptions=True):
            # Who has gone need not be told.
            if isinstance(outcome, BaseException) and not isinstance(outcome, Disconnected):
                raise outcome

    def announce(self, method: str) -> None:
        """The same, without waiting until they are told; has to be called where the server runs."""
        self._count(method)
        for side in list(self.sides):
            side.endpoint.tasks.start(_told(side, method))

    def _count(self, method: str) -> None:
        changes = self.changes
        changes[method] = changes.get(method, 0) + 1


async def _told(side: OpenConnection[Any], method: str) -> None:
    # Who has gone need not be told.
    with suppress(Disconnected):
        await side.publish(method, None)
