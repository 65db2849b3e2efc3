"""A server behind the gateway, as all fronts and clients share it."""

from logging import getLogger
from typing import Final

from mcp_protogen.servers.gateway.credentials import TokenExchange
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
        exchange = settings.token_exchange
        self.exchange = None if exchange is None else TokenExchange(exchange, settings.name)
        self._said: set[str] = set()

    def say_once(self, text: str) -> None:
        """Log a warning about its items, unless it was logged before."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            _log.warning("%s: %s", self.settings.name, text)
