"""A server behind the gateway, as all fronts and clients share it."""

from collections.abc import Callable
from logging import getLogger
from typing import Final

from mcp_protogen.servers.gateway.counts import Counts
from mcp_protogen.servers.gateway.health import Health
from mcp_protogen.servers.gateway.names import ServerNames
from mcp_protogen.servers.gateway.settings import ServerSettings

_log: Final = getLogger("mcp_protogen.gateway")

MOST_ITEMS: Final = 2000
_MOST_SAID: Final = 5 * MOST_ITEMS


class Upstream:
    """A server behind the gateway, for all clients."""

    def __init__(
        self, settings: ServerSettings, names: ServerNames, hide: Callable[[str], str] = str
    ) -> None:
        self.settings, self.names = settings, names
        self.health, self.counts = Health(hide), Counts()
        self.last_keys: dict[str, frozenset[str]] = {}
        """The names and URIs of its last list for any client, by list."""
        self._said: set[str] = set()

    def say_once(self, text: str) -> None:
        """Log a warning about its items, unless it was logged before."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            _log.warning("%s: %s", self.settings.name, text)
