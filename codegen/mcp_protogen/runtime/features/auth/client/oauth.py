"""OAuth for a client: the class that users configure."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from ....http.client.authorization import Exchange
from ....http.headers import PROTOCOL_VERSION
from ....http.httpx2 import HttpClient, httpx2
from ..errors import AuthorizationError
from ..fetch_policy import FetchPolicy, host_of, is_loopback
from ..fetching import Fetcher
from ..urls import origin
from .authorizer import ResourceAuthorizer
from .grants import WorkloadIdentity
from .settings import OAuthSettings
from .user_agent import WebRedirect

_NOT_HTTPS: Final = (
    "tokens are sent over HTTPS only, or to this machine; to send them to {host} without it, set"
    " OAuth(fetch_policy=FetchPolicy(trusted_hosts=...))"
)
_SEVERAL: Final = (
    "this OAuth has a secret and is used for several servers: name the issuer that may see it, with"
    " OAuth(issuer=...), or make one OAuth for each server"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OAuth(OAuthSettings):
    """The authorization of a client's requests: `connect_http(url, auth=OAuth())`.

    By default the user logs in with a browser on this machine when a server requires it, and tokens
    are kept until the process ends. One object may serve several servers and connections; each
    server has its own tokens.

    Requests fail with `AuthorizationError` if no token can be obtained.
    """

    fetch_policy: FetchPolicy | None = None
    """The URLs that may be fetched; None for HTTPS at public addresses, and for this machine if the
    server is on it."""
    http: HttpClient | None = field(default=None, repr=False)
    """An HTTP client for these requests, with proxies and certificates; see `Fetcher`."""
    _authorizers: dict[str, ResourceAuthorizer] = field(
        default_factory=dict[str, ResourceAuthorizer], init=False, repr=False
    )

    def authorizer(self, url: str) -> ResourceAuthorizer:
        """Return the authorizer for a server.

        Raise `ValueError` for a URL without HTTPS, and for a second server if no `issuer` says who
        may see the client's secret.
        """
        if (authorizer := self._authorizers.get(url)) is None:
            parsed = httpx2().URL(url)
            on_this_machine = is_loopback(host_of(parsed))
            policy = self.fetch_policy or FetchPolicy(loopback=on_this_machine)
            trusted = on_this_machine or policy.trusts(parsed)
            if parsed.scheme != "https" and not (parsed.scheme == "http" and trusted):
                raise ValueError(_NOT_HTTPS.format(host=host_of(parsed)))
            self._check_secrets(url)
            fetcher = Fetcher(policy, self.http)
            authorizer = self._authorizers[url] = ResourceAuthorizer(self, fetcher, url)
        return authorizer

    def _check_secrets(self, url: str) -> None:
        """Raise `ValueError` if a second MCP server could choose who sees the client's secret.

        Servers of one origin trust each other. An assertion signed here, or made for its audience,
        is useless elsewhere.
        """
        client, grant = self.client, self.grant
        is_fixed = isinstance(grant, WorkloadIdentity) and isinstance(grant.assertion, str)
        has_secret = client is not None and client.client_secret is not None
        if self.issuer or (client is not None and client.issuer) or not (is_fixed or has_secret):
            return
        if any(origin(urlsplit(used)) != origin(urlsplit(url)) for used in self._authorizers):
            raise ValueError(_SEVERAL)

    def take_redirect(self, url: str) -> bool:
        """Take the URL of a redirect, with a `WebRedirect` as `user_agent`.

        Return whether a login waits for it; if not, show the browser an error.
        """
        agent = self.user_agent
        if not isinstance(agent, WebRedirect):
            raise TypeError("take_redirect needs OAuth(user_agent=WebRedirect(...))")
        return agent.take_redirect(url)

    async def forget(self, url: str) -> None:
        """Forget the tokens for a server; the next request gets new ones."""
        await self.authorizer(url).forget()

    def httpx_auth(self, url: str) -> Any:
        """Return an `httpx2.Auth` for an `httpx2.AsyncClient`'s requests to a server."""
        return _httpx_auth(self.authorizer(url))


def _httpx_auth(authorizer: ResourceAuthorizer) -> Any:
    package = httpx2()

    class Auth(package.Auth):  # type: ignore[misc, name-defined]
        def sync_auth_flow(self, request: Any) -> Any:
            raise AuthorizationError("OAuth needs an httpx2.AsyncClient, not a Client")

        async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
            exchanges: list[Exchange] = []
            while True:
                verb, url = request.method, str(request.url)
                if (fields := authorizer.headers(verb, url)) is None:
                    await authorizer.prepare()
                    fields = authorizer.headers(verb, url) or {}
                request.headers.update(fields)
                response = yield request
                # A client may follow redirects on its own, also to another origin.
                url, get = str(response.url), response.headers.get_list
                version = request.headers.get(PROTOCOL_VERSION, "")
                exchange = Exchange(verb, url, fields, response.status_code, get, version=version)
                exchanges.append(exchange)
                if not authorizer.refuses(exchange) or not await authorizer.again(exchanges):
                    return

    return Auth()
