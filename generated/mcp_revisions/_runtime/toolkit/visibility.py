"""Which items of a server are there, for all clients, for one session, or for a principal.

What goes before what is said in `Toolkit.enable`.
"""

from collections.abc import Awaitable, Callable, Collection, Iterator
from inspect import isawaitable
from logging import getLogger
from typing import Any, Final, Protocol, TypeAlias

from ..server.base import OpenConnection, SessionBase

Enabled: TypeAlias = bool | Callable[[Any], bool | Awaitable[bool]]
"""Whether an item is there, or a function that says so of a session."""

_log: Final = getLogger(__name__)


class Named(Protocol):
    """What is on offer under a name or URI, with its tags."""

    @property
    def key(self) -> str: ...
    @property
    def tags(self) -> Collection[str]: ...
    @property
    def enabled(self) -> Enabled: ...


class Rules:
    """What was switched on or off, by name or tag."""

    def __init__(self) -> None:
        self.said: dict[tuple[str, bool], bool] = {}
        """By name or tag, and whether it is a tag."""

    def say(self, words: Collection[str], on: bool, *, are_tags: bool) -> None:
        for word in words:
            # The last one stands last.
            self.said.pop((word, are_tags), None)
            self.said[word, are_tags] = on

    def of(self, item: Named) -> bool | None:
        for (word, is_tag), on in reversed(self.said.items()):
            if word in item.tags if is_tag else word == item.key:
                return on
        return None


class Visibility:
    """All that was said of one server."""

    def __init__(self) -> None:
        self.everybody = Rules()
        self.principals: dict[str, Rules] = {}
        self.sessions: dict[OpenConnection, Rules] = {}

    def fixed(self, item: Named) -> bool | None:
        """Return whether an item is there for everybody or nobody; None if that depends."""
        some: Iterator[Rules] = iter((*self.principals.values(), *self.sessions.values()))
        if any(rules.of(item) is not None for rules in some):
            return None
        said = self.everybody.of(item)
        if said is not None:
            return said
        return item.enabled if isinstance(item.enabled, bool) else None

    async def shows(self, item: Named, session: SessionBase) -> bool:
        context = session.__mcp_runtime__
        own = self.sessions.get(context.connection), self.principals.get(context.principal or "")
        for rules in (*own, self.everybody):
            said = None if rules is None else rules.of(item)
            if said is not None:
                return said
        if isinstance(item.enabled, bool):
            return item.enabled
        try:
            shown = item.enabled(session)
            return bool(await shown if isawaitable(shown) else shown)
        except Exception:
            # What nobody allows is not shown.
            _log.exception("whether %s is enabled is not known, so it is not", item.key)
            return False
