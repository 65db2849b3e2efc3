"""OAuth for a client: what users of a package write."""

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
    "tokens are sent over HTTPS only, or to this machine; to send them to {host} without it, say"
    " OAuth(fetch_policy=FetchPolicy(trusted_hosts=...))"
)
_SEVERAL: Final = (
    "this OAuth has a secret and is used for several servers: say who may see it, with"
    " OAuth(issuer=...), or make one OAuth for each server"
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OAuth(OAuthSettings):
    """Authorizes the requests of a client: `connect_http(url, auth=OAuth())`.

    By default the user logs in with the browser of this machine when a server asks for it, and
    tokens are kept until the process ends. One object may be used for several servers and
    connections; each server has tokens of its own.

    Requests end with `AuthorizationError` where no token can be had.
    """

    fetch_policy: FetchPolicy | None = None
    """Which URLs may be fetched; None for those of HTTPS with public addresses, and those of this
    machine if the server is there, too."""
    http: HttpClient | None = field(default=None, repr=False)
    """A client for these requests, with proxies and certificates; see `Fetcher`."""
    _authorizers: dict[str, ResourceAuthorizer] = field(
        default_factory=dict[str, ResourceAuthorizer], init=False, repr=False
    )

    def authorizer(self, url: str) -> ResourceAuthorizer:
        """Return what authorizes the requests to a server.

        Raise `ValueError` for a URL to which no token may be sent, because it is not of HTTPS, and
        for a second server where no `issuer` says who may see the secret of the client.
        """
        found = self._authorizers.get(url)
        if found is None:
            parsed = httpx2().URL(url)
            on_this_machine = is_loopback(host_of(parsed))
            policy = self.fetch_policy or FetchPolicy(loopback=on_this_machine)
            trusted = on_this_machine or policy.trusts(parsed)
            if parsed.scheme != "https" and not (parsed.scheme == "http" and trusted):
                raise ValueError(_NOT_HTTPS.format(host=host_of(parsed)))
            self._check_secrets(url)
            fetcher = Fetcher(policy, self.http)
            found = self._authorizers[url] = ResourceAuthorizer(self, fetcher, url)
        return found

    def _check_secrets(self, url: str) -> None:
        """Raise `ValueError` where a second MCP server could name who sees the secret of a client.

        Servers of one origin trust each other. An assertion that is made for its audience, and one
        that is signed here, is of no use elsewhere.
        """
        client, grant = self.client, self.grant
        static = isinstance(grant, WorkloadIdentity) and isinstance(grant.assertion, str)
        has_secret = client is not None and client.client_secret is not None
        if self.issuer or (client is not None and client.issuer) or not (static or has_secret):
            return
        if {origin(urlsplit(server_url)) for server_url in (url, *self._authorizers)} != {
            origin(urlsplit(url))
        }:
            raise ValueError(_SEVERAL)

    def redirected(self, url: str) -> bool:
        """Take the URL that a browser was redirected to, with a `WebRedirect` as `user_agent`.

        Return whether it was waited for; if not, the browser should get an error.
        """
        agent = self.user_agent
        if not isinstance(agent, WebRedirect):
            raise TypeError("only a WebRedirect is told of redirects")
        return agent.redirected(url)

    async def forget(self, url: str) -> None:
        """Forget the tokens for a server: the next request needs new ones."""
        await self.authorizer(url).forget()

    def httpx_auth(self, url: str) -> Any:
        """Return an `httpx2.Auth` for requests of an `httpx2.AsyncClient` to a server at a URL."""
        return _httpx_auth(self.authorizer(url))


def _httpx_auth(authorizer: ResourceAuthorizer) -> Any:
    package = httpx2()

    class Auth(package.Auth):  # type: ignore[misc, name-defined]
        def sync_auth_flow(self, request: Any) -> Any:
            raise AuthorizationError("OAuth needs an AsyncClient")

        async def async_auth_flow(self, request: Any) -> AsyncGenerator[Any, Any]:
            exchanges: list[Exchange] = []
            while True:
                verb, url = request.method, str(request.url)
                fields = authorizer.headers(verb, url)
                if fields is None:
                    await authorizer.prepare()
                    fields = authorizer.headers(verb, url) or {}
                request.headers.update(fields)
                response = yield request
                values = response.headers.get_list
                # A client may follow redirects on its own, to another origin, too.
                answered = str(response.url)
                version = request.headers.get(PROTOCOL_VERSION, "")
                exchange = Exchange(
                    verb, answered, fields, response.status_code, values, version=version
                )
                exchanges.append(exchange)
                if not authorizer.refuses(exchange) or not await authorizer.again(exchanges):
                    return

    return Auth()
