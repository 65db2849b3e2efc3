"""Which items of a server are enabled: for all clients, for one session, or for a principal.

`Toolkit.enable` says which of several switches counts.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator
from inspect import isawaitable
from logging import getLogger
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

from ..server.base import SessionBase
from ..server.context import OpenConnection

Enabled: TypeAlias = bool | Callable[[Any], bool | Awaitable[bool]]
"""Whether an item is enabled, or a function of the session that decides it."""

_log: Final = getLogger(__name__)


class Named(Protocol):
    """An item under a name or URI, with its tags."""

    @property
    def key(self) -> str: ...
    @property
    def tags(self) -> Collection[str]: ...
    @property
    def enabled(self) -> Enabled: ...


class Selection(NamedTuple):
    """Items by name or tag, and the clients to switch them for: all, if none are given."""

    names: tuple[str, ...]
    tags: Collection[str]
    session: SessionBase | None
    principal_id: str

    def check(self) -> None:
        if isinstance(self.tags, str):
            raise TypeError(f"tags are one text: write tags={{{self.tags!r}}}")
        if not self.names and not self.tags:
            raise TypeError("give the name or a tag of an item")
        if cast(Any, self.principal_id) is None or (self.principal_id and self.session is not None):
            # A client that has no principal must not mean all clients.
            raise TypeError("give a session, or a principal_id that is not None")

    def has(self, key: str, tags: Collection[str]) -> bool:
        return key in self.names or any(tag in tags for tag in self.tags)


class Switches:
    """What was switched on or off, by name or tag; the last switch of an item counts."""

    def __init__(self) -> None:
        self._switches: dict[tuple[str, bool], bool] = {}
        """By name or tag, and whether it is a tag."""

    def set(self, selection: Selection, on: bool) -> None:
        for name in selection.names:
            self.add(name, False, on)
        for tag in selection.tags:
            self.add(tag, True, on)

    def add(self, text: str, is_tag: bool, on: bool) -> None:
        # A dictionary leaves a key that it has in its place.
        self._switches.pop((text, is_tag), None)
        self._switches[text, is_tag] = on

    def __iter__(self) -> Iterator[tuple[str, bool, bool]]:
        for (text, is_tag), on in self._switches.items():
            yield text, is_tag, on

    def of(self, item: Named) -> bool | None:
        for (text, is_tag), on in reversed(self._switches.items()):
            if text in item.tags if is_tag else text == item.key:
                return on
        return None


class Visibility:
    """All switches of one server."""

    def __init__(self) -> None:
        self.everybody = Switches()
        self.principals: dict[str, Switches] = {}
        """By the id of the principal."""
        self.sessions: dict[OpenConnection, Switches] = {}

    def fixed(self, item: Named) -> bool | None:
        """Return whether an item is enabled, if that is so for all clients; None if it depends."""
        for some in (self.principals, self.sessions):
            if any(switches.of(item) is not None for switches in some.values()):
                return None
        on = self.everybody.of(item)
        if on is None and isinstance(item.enabled, bool):
            return item.enabled
        return on

    async def shows(self, item: Named, session: SessionBase) -> bool:
        context = session.__mcp_runtime__
        own = self.sessions.get(context.connection), self.principals.get(context.principal_id or "")
        for switches in (*own, self.everybody):
            on = None if switches is None else switches.of(item)
            if on is not None:
                return on
        if isinstance(item.enabled, bool):
            return item.enabled
        try:
            enabled = item.enabled(session)
            return bool(await enabled if isawaitable(enabled) else enabled)
        except Exception:
            _log.exception("the function that enables %s failed, so it is not shown", item.key)
            return False
