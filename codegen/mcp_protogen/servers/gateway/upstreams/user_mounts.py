"""Remote servers whose connections have the credentials of the clients that they are for."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from mcp_protogen.runtime.core.connection_errors import HttpError
from mcp_protogen.runtime.core.errors import ProtocolError
from mcp_protogen.runtime.core.json import is_object, json_text
from mcp_protogen.runtime.server.base import ServerBase
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Work
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.runtime.toolkit.remotes import (
    Remote,
    RemoteKey,
    RemoteSettings,
    cause_of,
    reason_of,
)
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.gateway.access.credentials import UserAuthorization, client_token
from mcp_protogen.servers.gateway.upstreams.health import WatchedMount
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

# The claims with the client of a token (RFC 9068, section 2.2; OpenID Connect Core, section 2).
_CLIENTS: Final = ("client_id", "azp")


class UserMount(WatchedMount):
    """A remote server; if tokens are exchanged, each connection has those of its client."""

    def __init__(
        self,
        above: ServerBase[Any],
        upstream: UpstreamServer,
        proxy: Proxy,
        settings: RemoteSettings,
    ) -> None:
        super().__init__(above, upstream.names, proxy, upstream.settings.opener, settings)
        self.upstream = upstream
        self._users: dict[RemoteKey, UserAuthorization] = {}

    def opener_for(self, outer: RequestContext) -> Opener:
        exchange, open_as = self.upstream.exchange, self.upstream.settings.open_as
        if exchange is None or open_as is None:
            return super().opener_for(outer)
        return open_as(self._users.get(self._key(outer)) or UserAuthorization(exchange))

    def _open(self, outer: RequestContext) -> AbstractAsyncContextManager[Any]:
        opening, user = super()._open(outer), self._users.get(self._key(outer))
        return opening if user is None else _hide_tokens(opening, user)

    def use(self, outer: RequestContext, work: Work) -> Any:
        using = super().use(outer, work)
        return using if self.upstream.exchange is None else self._explain(outer, using)

    async def _explain(self, outer: RequestContext, using: Any) -> Any:
        try:
            return await using
        except ProtocolError as error:
            user = self._users.get(self._key(outer))
            if user is not None and user.problem is not None and _is_unauthorized(error):
                raise user.failure(user.problem) from None
            raise

    def _begin_use(self, outer: RequestContext) -> Remote:
        exchange, subject = self.upstream.exchange, client_token(outer)
        if exchange is not None and subject is not None:
            key = self._key(outer)
            if key not in self._users:
                for ended in self._users.keys() - self._remotes.keys():
                    del self._users[ended]
                self._users[key] = UserAuthorization(exchange)
            self._users[key].subject = subject
        return super()._begin_use(outer)

    def owner_of(self, outer: RequestContext) -> str | None:
        """Return the owner of a list: a principal and, if tokens are exchanged, its client."""
        principal = outer.principal
        if self.upstream.exchange is None or principal is None:
            return outer.principal_id
        # A user may permit one client more than another one.
        clients = [principal.claims.get(name) for name in _CLIENTS]
        return json_text([principal.id, sorted(principal.scopes), clients]).decode()

    def permits(self, kind: str, key: str, context: RequestContext) -> bool:
        """Return whether a client may have an item, by the name or URI that it uses."""
        rules = self.upstream.rules
        own = self.prefix.strip(kind, key) if rules else None
        return own is None or rules.permit(kind, own, context.principal)

    def _key(self, outer: RequestContext) -> RemoteKey:
        key = super()._key(outer)
        is_named = key.connection is not None or key in self._remotes
        return key if is_named else key._replace(principal=self.owner_of(outer))


@asynccontextmanager
async def _hide_tokens(
    opening: AbstractAsyncContextManager[Any], user: UserAuthorization
) -> AsyncGenerator[Any, None]:
    """Connect; errors, which are logged, have no token that the server repeats."""
    try:
        async with opening as server:
            yield server
    except HttpError as error:
        raise HttpError(error.status, user.hide(error.message), error.retry_after) from None


def _is_unauthorized(error: ProtocolError) -> bool:
    said = error.data.get("reason") if is_object(error.data) else None
    return "unauthorized" in (said, reason_of(cause_of(error)))
