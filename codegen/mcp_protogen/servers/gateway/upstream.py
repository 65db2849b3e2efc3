"""A server behind the gateway, as all fronts and clients share it."""

from logging import getLogger
from typing import Final

from mcp_protogen.servers.gateway.item_lock import ItemLock
from mcp_protogen.servers.gateway.names import ServerNames
from mcp_protogen.servers.gateway.settings import ServerSettings

_log: Final = getLogger("mcp_protogen.gateway")

MOST_ITEMS: Final = 2000
_MOST_SAID: Final = 5 * MOST_ITEMS


class Upstream:
    """A server behind the gateway, for all clients."""

    def __init__(self, settings: ServerSettings, names: ServerNames) -> None:
        self.settings, self.names = settings, names
        self.last_keys: dict[str, frozenset[str]] = {}
        """The names and URIs of its last list for any client, by list."""
        self.lock = ItemLock(settings)
        self._said: set[str] = set()

    @property
    def lock_violations(self) -> int:
        """The number of items in its last lists that the lock has not, or not so."""
        return self.lock.violations

    def say_once(self, text: str) -> None:
        """Log a warning about its items, unless it was logged before."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            _log.warning("%s: %s", self.settings.name, text)
