"""A server behind the gateway, as all fronts and clients share it."""

from collections.abc import Callable, Iterable
from logging import getLogger
from typing import Final, Literal, TypeAlias

from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.servers.gateway.access.access_log import log_refusal
from mcp_protogen.servers.gateway.access.access_rules import AccessRules
from mcp_protogen.servers.gateway.access.credentials import TokenExchange, Users
from mcp_protogen.servers.gateway.access.limits import CallLimits
from mcp_protogen.servers.gateway.settings.names import ServerNames
from mcp_protogen.servers.gateway.settings.settings import RuleSettings, ServerSettings
from mcp_protogen.servers.gateway.upstreams.circuit import Circuit
from mcp_protogen.servers.gateway.upstreams.counts import Counts
from mcp_protogen.servers.gateway.upstreams.health import Health
from mcp_protogen.servers.gateway.upstreams.item_lock import ItemLock

_log: Final = getLogger("mcp_protogen.gateway")

Refused: TypeAlias = Literal["denied", "limited"]

MOST_ITEMS: Final = 2000
_MOST_SAID: Final = 5 * MOST_ITEMS


class UpstreamServer:
    """A server behind the gateway, for all clients."""

    def __init__(
        self,
        settings: ServerSettings,
        names: ServerNames,
        rules: Iterable[RuleSettings] = (),
        hide: Callable[[str], str] = str,
        users: Users | None = None,
    ) -> None:
        self.settings, self.names = settings, names
        is_of_users = settings.token_exchange is not None or settings.login is not None
        self.health, self.counts = Health(hide, is_of_users), Counts()
        self.last_keys: dict[str, frozenset[str]] = {}
        """The names and URIs of its last list for any client, by list."""
        self.circuit: Final = Circuit(settings.name)
        self.limits = CallLimits(settings.limits)
        self.rules = AccessRules(rules)
        self.lock = ItemLock(settings)
        self.users = users
        if settings.token_exchange is not None:
            self.users = TokenExchange(settings.token_exchange, settings.name)
        self._said: set[str] = set()

    def note_refusal(self, context: RequestContext, outcome: Refused) -> None:
        """Note that a request of a client is not forwarded, by a rule or a limit."""
        self.counts.add_denied(outcome)
        log_refusal(context, self.settings.name, outcome)

    def accept_as_in(self, settings: ServerSettings) -> None:
        """Take the accepted items of other settings, which are the same but for these."""
        if settings != self.settings:
            self.settings, self.lock = settings, ItemLock(settings)

    def go_on_from(self, before: "UpstreamServer") -> None:
        """Take the place of a server with other settings or rules: counts and limits go on."""
        self.counts = before.counts
        if self.settings.limits == before.settings.limits:
            self.limits = before.limits

    def say_once(self, text: str) -> None:
        """Log a warning about its items, unless it was logged before."""
        if text not in self._said and len(self._said) < _MOST_SAID:
            self._said.add(text)
            _log.warning("%s: %s", self.settings.name, text)
