"""Credentials of users for a server: tokens that are exchanged for those of clients (RFC 8693).

A client's token goes to the token endpoint in the file and to no other address.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from math import inf
from time import time
from typing import Final, Protocol
from urllib.parse import urlsplit

from mcp_protogen.runtime.core.errors import INTERNAL_ERROR, McpError
from mcp_protogen.runtime.core.throttle import Throttle
from mcp_protogen.runtime.features.auth.client.authorizer import run_flow
from mcp_protogen.runtime.features.auth.client.token_endpoint import TokenRequest, request_tokens
from mcp_protogen.runtime.features.auth.client.values import ServerMetadata, Tokens
from mcp_protogen.runtime.features.auth.errors import (
    AuthorizationError,
    OAuthError,
    Unreachable,
    UnsafeUrl,
)
from mcp_protogen.runtime.features.auth.fetch_policy import FetchPolicy
from mcp_protogen.runtime.features.auth.fetching import Fetcher
from mcp_protogen.runtime.features.auth.server.cache import ExpiringCache
from mcp_protogen.runtime.features.auth.server.claims import numeric_date
from mcp_protogen.runtime.features.auth.server.single_flight import SingleFlight
from mcp_protogen.runtime.features.auth.steps import Fetching
from mcp_protogen.runtime.http.client.authorization import Authorizer, Exchange, HttpAuthorization
from mcp_protogen.runtime.http.server.authentication import VerifierUnavailable
from mcp_protogen.runtime.server.context import RequestContext
from mcp_protogen.runtime.toolkit.remotes import reason_of
from mcp_protogen.servers.connect.authorization import FixedFields, require_https
from mcp_protogen.servers.gateway.settings.settings import ExchangeSettings, ServerSettings

_MOST_TOKENS: Final = 10_000
"""The most tokens that are kept for one server; the least recently used ones make room."""
_MOST_REQUESTS, _MOST_WAITING = 16, 1000
_PATIENCE: Final = 30.0
"""The longest time for an exchange, in seconds, with the wait for others."""

# Tokens are replaced early, because clocks differ: by these seconds, at most this share of their
# lifetime.
_AHEAD: Final = 30.0
_SHARE: Final = 0.1

_GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ACCESS_TOKEN: Final = "urn:ietf:params:oauth:token-type:access_token"


@dataclass(frozen=True, slots=True)
class ClientToken:
    """A client's token that the gateway has verified."""

    principal: str
    token: str = field(repr=False)
    expires_at: float = inf
    """In seconds since the epoch."""

    @property
    def key(self) -> bytes:
        """A digest: with other scopes or another client, one user's tokens have other rights."""
        return sha256(f"{self.principal}\n{self.token}".encode()).digest()


def client_token(context: RequestContext) -> ClientToken | None:
    """Return the token that a request came with; None without one."""
    principal, request = context.principal, context.http_request
    if principal is None or request is None:
        return None
    _, _, token = request.headers.get("authorization", "").partition(" ")
    # Verifiers accept a token for a while after its end, because clocks differ.
    ends = (principal.expires_at, numeric_date(principal.claims.get("exp")))
    ends_at = min((end for end in ends if end is not None), default=inf)
    return ClientToken(principal.id, token.strip(), ends_at) if token else None


class User(HttpAuthorization, Protocol):
    """The authorization of the connections of one user to a server."""

    problem: AuthorizationError | None
    """Why the latest request has got no token."""

    def hide(self, text: str) -> str:
        """Return a text without tokens."""
        ...

    def failure(self, problem: AuthorizationError, outer: RequestContext) -> McpError:
        """Return the answer to a request without a token."""
        ...


class Users(Protocol):
    """What gives the users of a server their authorization."""

    is_by_client: bool
    """Whether the clients of a user may have different rights."""

    def user(self, subject: ClientToken, known: User | None) -> User:
        """Return the user whose client has a token; `known` is that of its connection."""
        ...


class TokenExchange:
    """The exchange of clients' tokens for those of one server, shared by all connections to it."""

    is_by_client = True

    def __init__(self, settings: ExchangeSettings, server: str) -> None:
        self._settings, self.server = settings, server
        # The file names the host, which may be in a private network.
        host = urlsplit(settings.exchange).hostname or ""
        self.fetch: Fetching = Fetcher(FetchPolicy(trusted_hosts=frozenset({host})))
        self.clock: Callable[[], float] = time
        self._issued = ExpiringCache[Tokens](_MOST_TOKENS)
        self._running = SingleFlight[None](_MOST_REQUESTS, _MOST_WAITING, patience=_PATIENCE)
        self._log = Throttle("mcp_protogen.gateway")

    def user(self, subject: ClientToken, known: User | None) -> User:
        """Return the user of a connection, with the latest token of its client."""
        user = known if isinstance(known, UserAuthorization) else UserAuthorization(self)
        user.subject = subject
        return user

    def token_for(self, subject: ClientToken) -> Tokens | None:
        """Return the token that was issued for a client's token, unless one of them has expired."""
        return self._issued.get(subject.key, self.clock())

    async def renew(self, subject: ClientToken, refused: str | None = None) -> None:
        """Exchange a client's token unless that is done; raise `AuthorizationError`.

        `refused` is the credential that the server has refused; another one is left alone.
        """
        if (issued := self.token_for(subject)) is not None:
            if issued.authorization != refused:
                return
            # Requests that come meanwhile wait for the new one.
            self._issued.put(subject.key, issued, -inf, 0)
        try:
            await self._running.join(partial(self._exchange, subject), subject.key)
        except VerifierUnavailable:
            raise AuthorizationError("too many tokens are being exchanged") from None
        except TimeoutError:
            text = f"the exchange took longer than {_PATIENCE:g} s"
            raise AuthorizationError(text) from None

    async def _exchange(self, subject: ClientToken) -> None:
        settings, now = self._settings, self.clock()
        try:
            if subject.expires_at <= now:
                raise AuthorizationError("the token of the client has expired")
            endpoint = settings.exchange
            request = TokenRequest(
                server=ServerMetadata(issuer=endpoint, token_endpoint=endpoint),
                client=settings.client,
                scopes=settings.scopes,
                clock=self.clock,
            )
            form = {
                "grant_type": _GRANT,
                "audience": settings.audience,
                "subject_token": subject.token,
                "subject_token_type": _ACCESS_TOKEN,
                "requested_token_type": _ACCESS_TOKEN,
            }
            if settings.scopes:
                form["scope"] = " ".join(sorted(settings.scopes))
            tokens = await run_flow(request_tokens(request, form), self.fetch)
            if tokens.access_token == subject.token:
                # It is not for the server (RFC 8693, section 2.1).
                raise AuthorizationError("the token endpoint answered with the token of the client")
            self._keep(subject, tokens, now)
        except AuthorizationError as error:
            # The endpoint may repeat the token, and the text is also in the status.
            error.args = (str(error).replace(subject.token, "(token)"),)
            text = "%s: a token of %s could not be exchanged: %s"
            self._log.warning(text, self.server, subject.principal, error)
            raise

    def _keep(self, subject: ClientToken, tokens: Tokens, now: float) -> None:
        ends_at = inf if tokens.expires_at is None else tokens.expires_at
        ends_at -= min(_AHEAD, (ends_at - now) * _SHARE)
        until = min(ends_at, subject.expires_at)
        if until <= (now := self.clock()):
            raise AuthorizationError("the token endpoint answered with a token that has expired")
        self._issued.put(subject.key, tokens, until, now)


class WithoutUser:
    """No tokens, where the gateway acts for no client; an `HttpAuthorization`."""

    def authorizer(self, url: str) -> Authorizer:
        """Return the authorizer; raise `ValueError` if others could read the tokens of users."""
        require_https(url)
        return FixedFields()


class UnknownUser(WithoutUser):
    """The authorization where the gateway acts for a client, and does not know for which one."""

    def authorizer(self, url: str) -> Authorizer:
        return _Refusal()


class _Refusal(FixedFields):
    def headers(self, verb: str, url: str) -> Mapping[str, str]:
        raise AuthorizationError("the request has no token of a user")


def wants_user(server: ServerSettings, error: Exception) -> bool:
    """Return whether a server has answered, but only that it wants the token of a user."""
    return server.is_for_user and reason_of(error) == "unauthorized"


class UserAuthorization:
    """The authorization of one client's connection to a server; an `HttpAuthorization`.

    `subject` is the token of the client's latest request. A token that the server refuses with
    status 401 is replaced once.
    """

    def __init__(self, exchange: TokenExchange, subject: ClientToken | None = None) -> None:
        self._exchange = exchange
        self.subject = subject
        self.problem: AuthorizationError | None = None
        """Why the latest exchange has failed."""

    def authorizer(self, url: str) -> Authorizer:
        """Return the authorizer; raise `ValueError` if others could read the tokens."""
        require_https(url)
        return self

    def headers(self, verb: str, url: str) -> Mapping[str, str] | None:
        issued = None if self.subject is None else self._exchange.token_for(self.subject)
        if issued is None:
            # The end of a session is not worth an exchange.
            return {} if verb == "DELETE" else None
        self.problem = None
        return {"authorization": issued.authorization}

    async def prepare(self) -> None:
        await self._renew()
        # Meanwhile a request may have brought another token.
        while self.subject is not None and self._exchange.token_for(self.subject) is None:
            await self._renew()

    def refuses(self, exchange: Exchange) -> bool:
        return exchange.status == 401 and exchange.verb != "DELETE"

    async def again(self, exchanges: Sequence[Exchange]) -> bool:
        if len(exchanges) > 1:
            # The text of such an answer may repeat the token.
            raise AuthorizationError("the server refuses the token that was issued for it")
        await self._renew(exchanges[0].fields.get("authorization"))
        return True

    async def _renew(self, refused: str | None = None) -> None:
        try:
            if self.subject is None:
                raise AuthorizationError("the request has no token to exchange")
            await self._exchange.renew(self.subject, refused)
        except AuthorizationError as error:
            self.problem = error
            raise

    def hide(self, text: str) -> str:
        """Return a text without the tokens of the client."""
        issued = None if self.subject is None else self._exchange.token_for(self.subject)
        if issued is not None:
            text = text.replace(issued.access_token, "(token)")
        return text

    def failure(self, problem: AuthorizationError, outer: RequestContext) -> McpError:
        """Return the answer to a client whose token could not be exchanged."""
        server = self._exchange.server
        why = explain(problem, "the token endpoint cannot be reached")
        text = f"No token for the server of {server} could be obtained: {why}"
        return McpError(INTERNAL_ERROR, text, {"server": server, "reason": "unauthorized"})


def explain(problem: BaseException, unreachable: str) -> str:
    """Return the reason for a missing token, for a client."""
    # The address of the endpoint, and what it describes, are for the log.
    if isinstance(problem, OAuthError):
        return problem.error
    return unreachable if isinstance(problem, Unreachable | UnsafeUrl) else str(problem)
