"""What a server can do in one revision: found out once, however many connections there are."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..connection.connection import Connection
from ..core.spec import Role
from ..messages.envelope import SERVER_INFO, members
from ..rules.lifecycle import State
from ..translation.revision_view import RevisionView, RevisionViews
from .base import ServerBase
from .input_required.strategies import Strategy, strategies


class BoundServer:
    """One server in one revision: its handlers, and what all of its connections share."""

    __slots__ = ("audience", "declared", "handlers", "server", "signature", "view", "ways")

    def __init__(self, view: RevisionView[ServerBase[Any]]) -> None:
        server = view.handlers
        own, revision = server.__mcp_runtime__, view.table.revision
        self.view = view
        self.server = server
        self.handlers: Mapping[str, Callable[..., Awaitable[Any]]] = own.bound(revision)
        """By wire name."""
        self.ways: Mapping[str, Strategy] = strategies(server.TABLE, view.table)
        """How the handlers of some methods are run."""
        self.audience = f"{type(server).__module__}.{type(server).__qualname__} {revision}"
        """For whom a state is meant that a client carries."""
        self.declared: Mapping[Role, Mapping[str, Any]] = {
            "server": own.declaration(),
            "client": {},
        }
        self.signature = members({SERVER_INFO: view.identity})
        """What belongs into `_meta` of each result of the stateless era."""

    def connection(self, state: State = State.OPEN) -> Connection:
        """Return a new connection."""
        connection = Connection(self.view.table, "server", self.declared, state=state)
        if self.view.table.era.signs_results:
            connection.signature = self.signature
        return connection


class BoundServers:
    """What some servers can do, by revision; found out when it is first asked for."""

    __slots__ = ("_known", "_views")

    def __init__(self, views: RevisionViews[ServerBase[Any]]) -> None:
        self._views = views
        self._known: dict[str, BoundServer] = {}

    def __getitem__(self, revision: str) -> BoundServer:
        known = self._known.get(revision)
        if known is None:
            known = self._known[revision] = BoundServer(self._views[revision])
        return known
