"""The logins of all users of the gateway at its servers."""

from asyncio import Future, gather
from collections.abc import AsyncGenerator, Callable, Set
from contextlib import asynccontextmanager
from time import time
from typing import Final
from urllib.parse import urlsplit

from mcp_protogen.runtime.features.auth.client.authorizer import ResourceAuthorizer
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.storage import (
    FileStorage,
    MemoryStorage,
    TokenStorage,
)
from mcp_protogen.runtime.features.auth.client.values import ClientMetadata
from mcp_protogen.runtime.features.auth.fetch_policy import FetchPolicy, is_loopback
from mcp_protogen.runtime.features.auth.fetching import Fetcher
from mcp_protogen.runtime.features.auth.steps import Fetching
from mcp_protogen.servers.gateway.access.credentials import ClientToken, User
from mcp_protogen.servers.gateway.logins.login import CALLBACK, LoginSite, OnLogin, UserLogin
from mcp_protogen.servers.gateway.logins.storage import UserStorage
from mcp_protogen.servers.gateway.logins.waiting import WaitingLogins
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings, ServerSettings

_MOST_USERS: Final = 10_000
"""The most users of one server whose tokens are at hand; those of others are read again."""


class Logins:
    """The logins of users, which survive a reload; `address` is that of links."""

    def __init__(self, settings: GatewaySettings, audience: str, on_login: OnLogin) -> None:
        file = settings.logins
        self.storage: TokenStorage = MemoryStorage() if file is None else FileStorage(file)
        self.waiting: Final = WaitingLogins()
        self.address: Final = f"{audience.rstrip('/')}/login"
        self.on_login: Final = on_login
        self._servers: dict[str, ServerLogins] = {}

    def at(self, server: ServerSettings) -> "ServerLogins":
        """Return those at a server: the same ones, while it has the same address and client."""
        known = self._servers.get(server.name)
        if known is None or not known.are_for(server):
            if known is not None:
                known.end()
            known = self._servers[server.name] = ServerLogins(self, server)
        return known

    def keep(self, names: Set[str]) -> None:
        """End the logins that wait at other servers."""
        for name in self._servers.keys() - names:
            self._servers.pop(name).end()

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None, None]:
        """End the logins that wait when the block ends; a lifespan."""
        try:
            yield
        finally:
            flows = [flow for server in self._servers.values() for flow in server.end()]
            await gather(*flows, return_exceptions=True)


class ServerLogins:
    """The logins of users at one server; `Users`."""

    is_by_client = False

    def __init__(self, logins: Logins, server: ServerSettings) -> None:
        self.fetch: Fetching | None = None
        """Fetches what the part auth needs; None for the usual one."""
        self.clock: Callable[[], float] = time
        self._storage, self._server = logins.storage, server
        self._site = LoginSite(
            server=server.name,
            redirect_uri=f"{logins.address}{CALLBACK}",
            waiting=logins.waiting,
            make_authorizer=self._authorizer,
            on_login=logins.on_login,
        )
        self._users: dict[str, UserLogin] = {}

    def are_for(self, server: ServerSettings) -> bool:
        own = self._server
        return (own.opener_digest, own.login) == (server.opener_digest, server.login)

    def end(self) -> list[Future[bool]]:
        """End the logins that wait for their users; return what is left of their flows."""
        return [flow for user in self._users.values() if (flow := user.end()) is not None]

    def user(self, subject: ClientToken, known: User | None = None) -> UserLogin:
        """Return the login of a principal, whichever token its client has."""
        user = self._users.pop(subject.principal, None)
        if user is None:
            user = UserLogin(self._site, subject.principal)
            if len(self._users) >= _MOST_USERS:
                # Tokens stay in the store.
                del self._users[next(name for name, login in self._users.items() if login.is_idle)]
        self._users[subject.principal] = user
        return user

    def _authorizer(self, user: UserLogin, url: str) -> ResourceAuthorizer:
        login = self._server.login
        settings = OAuthSettings(
            storage=UserStorage(self._storage, user.server, user.principal),
            user_agent=user,
            client=None if login is None else login.client,
            client_metadata=ClientMetadata(client_name="mcp-gen"),
            trailing_slash=True,
            clock=self.clock,
        )
        on_this_machine = is_loopback(urlsplit(url).hostname or "")
        fetch = self.fetch or Fetcher(FetchPolicy(loopback=on_this_machine))
        return ResourceAuthorizer(settings, fetch, url)
