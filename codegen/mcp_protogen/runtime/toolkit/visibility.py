"""Switches of items: for all clients, for one session, or for a principal."""

from collections.abc import Collection, Iterable, Iterator
from typing import Protocol

from ..server.base import SessionBase
from ..server.context import OpenConnection
from .decorators import Enabled


class Named(Protocol):
    @property
    def key(self) -> str: ...
    @property
    def tags(self) -> Collection[str]: ...
    @property
    def enabled(self) -> Enabled: ...


class Switches:
    """Switches by name or tag; the last switch of an item counts."""

    def __init__(self) -> None:
        self._switches: dict[tuple[str, bool], bool] = {}

    def add(self, text: str, is_tag: bool, on: bool) -> None:
        # Assignment to an existing key would not move it to the end.
        self._switches.pop((text, is_tag), None)
        self._switches[text, is_tag] = on

    def __iter__(self) -> Iterator[tuple[str, bool, bool]]:
        return ((*switch, on) for switch, on in self._switches.items())

    def of(self, item: Named) -> bool | None:
        for (text, is_tag), on in reversed(self._switches.items()):
            if text in item.tags if is_tag else text == item.key:
                return on
        return None


class Visibility:
    def __init__(self) -> None:
        self.everybody = Switches()
        self.principals: dict[str, Switches] = {}
        self.sessions: dict[OpenConnection, Switches] = {}

    def replace(
        self, connection: OpenConnection, switched: Iterable[tuple[str, bool, bool]]
    ) -> None:
        own = self.sessions[connection] = Switches()
        for text, is_tag, on in switched:
            own.add(text, is_tag, on)

    def is_enabled_for_all(self, item: Named) -> bool | None:
        """Return whether an item is enabled for all clients; None if it depends."""
        for some in (self.principals, self.sessions):
            if any(switches.of(item) is not None for switches in some.values()):
                return None
        on = self.everybody.of(item)
        if on is None and isinstance(item.enabled, bool):
            return item.enabled
        return on

    def of(self, item: Named, session: SessionBase) -> bool | None:
        """Return whether an item was switched on or off for a session."""
        context = session.__mcp_runtime__
        own = self.sessions.get(context.connection), self.principals.get(context.principal_id or "")
        for switches in (*own, self.everybody):
            on = None if switches is None else switches.of(item)
            if on is not None:
                return on
        return None
