"""Remote servers whose connections have the credentials of the clients that they are for."""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Final

from mcp_protogen.runtime.core.connection_errors import HttpError
from mcp_protogen.runtime.core.errors import ProtocolError
from mcp_protogen.runtime.core.json import is_object, json_text
from mcp_protogen.runtime.core.spec import CALL_TOOL
from mcp_protogen.runtime.server.base import ServerBase, SessionBase, package_of
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.links import Link, Work
from mcp_protogen.runtime.toolkit.remote_mounts import Proxy
from mcp_protogen.runtime.toolkit.remotes import (
    Remote,
    RemoteKey,
    RemoteSettings,
    cause_of,
    reason_of,
)
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.gateway.access.credentials import UnknownUser, User, client_token
from mcp_protogen.servers.gateway.logins.login import UserLogin
from mcp_protogen.servers.gateway.settings.names import LOG_IN
from mcp_protogen.servers.gateway.upstreams.health import WatchedMount
from mcp_protogen.servers.gateway.upstreams.upstream import UpstreamServer

# The claims with the client of a token (RFC 9068, section 2.2; OpenID Connect Core, section 2).
_CLIENTS: Final = ("client_id", "azp")


class UserMount(WatchedMount):
    """A remote server; if its users have their own tokens, each connection has those of one."""

    def __init__(
        self,
        above: ServerBase[Any],
        upstream: UpstreamServer,
        proxy: Proxy,
        settings: RemoteSettings,
    ) -> None:
        super().__init__(above, upstream.names, proxy, upstream.settings.opener, settings)
        self.upstream = upstream
        self._users: dict[RemoteKey, User] = {}

    def opener_for(self, outer: RequestContext) -> Opener:
        open_as = self.upstream.settings.open_as
        if open_as is None:
            return super().opener_for(outer)
        return open_as(self._users.get(self._key(outer)) or UnknownUser())

    def _open(self, outer: RequestContext) -> AbstractAsyncContextManager[Any]:
        opening, user = super()._open(outer), self._users.get(self._key(outer))
        return opening if user is None else _hide_tokens(opening, user)

    def use(self, outer: RequestContext, work: Work) -> Any:
        using = super().use(outer, work)
        return using if self.upstream.users is None else self._explain(outer, using)

    async def _explain(self, outer: RequestContext, using: Any) -> Any:
        try:
            return await using
        except ProtocolError as error:
            user = self._users.get(self._key(outer))
            if user is not None and user.problem is not None and _is_unauthorized(error):
                raise user.failure(user.problem, outer) from None
            raise

    def _begin_use(self, outer: RequestContext) -> Remote:
        users, subject = self.upstream.users, client_token(outer)
        if users is not None and subject is not None:
            key = self._key(outer)
            if key not in self._users:
                for ended in self._users.keys() - self._remotes.keys():
                    del self._users[ended]
            self._users[key] = users.user(subject, self._users.get(key))
        return super()._begin_use(outer)

    def login_tools(self, outer: RequestContext) -> dict[str, Any]:
        """Return the tool for a user who must log in, by its name; empty for other users."""
        user = self._users.get(self._key(outer))
        if not isinstance(user, UserLogin) or not user.waits_for_user:
            return {}
        key, above = self.prefix.key("tools", LOG_IN), self.above
        models: Any = package_of(type(above)).load(above.TABLE.revision).models
        text = f"Log in to {self.upstream.settings.name}, whose items are listed afterwards"
        tool = {"name": key, "description": text, "inputSchema": {"type": "object"}}
        return {key: models.Tool.from_wire(tool)}

    async def answer(self, method: str, session: SessionBase, params: Any) -> Any:
        has_logins = self.upstream.settings.login is not None
        is_own = method == CALL_TOOL and params.name == self.prefix.key("tools", LOG_IN)
        if not (has_logins and is_own):
            return await super().answer(method, session, params)
        await self.use(session.__mcp_runtime__, _do_nothing)
        kind: Any = self.above.TABLE.spec_of(CALL_TOOL).results[0]
        text = f"You are logged in to {self.upstream.settings.name}"
        return kind(content=[{"type": "text", "text": text}])

    def owner_of(self, outer: RequestContext) -> str | None:
        """Return the owner of a list: a principal and, if tokens are exchanged, its client."""
        principal, users = outer.principal, self.upstream.users
        if users is None or not users.is_by_client or principal is None:
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


async def _do_nothing(link: Link) -> None:
    """Need no more than a connection."""


@asynccontextmanager
async def _hide_tokens(
    opening: AbstractAsyncContextManager[Any], user: User
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
