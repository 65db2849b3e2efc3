"""Authentication of callers: access tokens, and what they allow.

The server is a resource server of OAuth 2.1: it issues no tokens, and `verify` verifies them
(2025-11-25 and 2026-07-28, basic/authorization).
"""

import hmac
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from time import time
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, urlsplit

from ...core.http_request import Principal
from ...core.oauth_scopes import NO_SCOPES, checked_scopes, format_scopes
from ...core.throttle import Throttle
from .asgi import Field, HttpExchange, HttpRefusal, fields_of
from .protected_resource import (
    BEARER,
    DPOP,
    ProtectedResource,
    challenge,
    is_quotable,
    mask_unquotable,
)

Verify: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Returns the principal of an access token, or None. It must check the audience (RFC 8707)."""
ExpandScopes: TypeAlias = Callable[[frozenset[str]], Collection[str]]
"""Returns the scopes that a token's scopes imply, such as `read` for `write`."""

_TOKEN: Final = re.compile(r"[!#-+\--~]+")
"""Visible ASCII without quotes and commas, more than RFC 6750, section 2.1, allows."""
_SCHEMES: Final = {BEARER.lower(): BEARER, DPOP.lower(): DPOP}

_STATUSES: Final = {"invalid_request": 400, "insufficient_scope": 403}
"""The status of a code of RFC 6750, section 3.1, if not 401."""


class TokenRefused(Exception):
    """A token or its proof is refused: `error` is a code of RFC 6750 or RFC 9449.

    `description` goes to the client, so it must not be secret; characters that a header field
    cannot have are replaced. Raise `ValueError` for such a code.
    """

    def __init__(self, error: str, description: str) -> None:
        if not error or not is_quotable(error):
            raise ValueError(f"{error!r:.100} is not a valid error code")
        super().__init__(description)
        self.error: Final = error
        self.description: Final = description


class VerifierUnavailable(Exception):
    """Tokens cannot be verified for now, for example if an identity provider does not answer.

    The client may return after `retry_after` seconds; the text goes to the log.
    """

    def __init__(self, reason: str = "", *, retry_after: int = 5) -> None:
        super().__init__(reason)
        self.retry_after: Final = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRequest:
    """A request whose token is bound to a key (RFC 9449, section 7)."""

    proofs: tuple[str, ...]
    """The values of all `DPoP` header fields."""
    method: str
    url: str
    """The URL of the request as the client knows it, without query and fragment."""
    token: str = field(repr=False)
    principal: Principal


class Proofs(Protocol):
    """The check that a client has its token's key; see `DPoPProofs` of the part auth."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The accepted signing algorithms, for the challenge."""
        ...

    def nonce(self) -> str | None:
        """Return the nonce for new proofs, if they need one."""
        ...

    async def check(self, request: ProofRequest) -> None:
        """Raise `TokenRefused` with `invalid_dpop_proof`, `use_dpop_nonce` or `invalid_token`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """The callers: those whose token `verify` accepts, and has all `scopes`.

    Refusals follow RFC 6750, section 3.1: 400 for malformed credentials, 401 for a missing or
    invalid token, 403 for missing scopes. Tokens must be in `Authorization`, not in a query
    (2026-07-28, basic/authorization, "Token Requirements"). Raise `TypeError` or `ValueError` for
    invalid scopes.
    """

    verify: Verify = field(repr=False)
    scopes: Collection[str] = NO_SCOPES
    """The scopes that every request needs."""
    resource: ProtectedResource | None = None
    """Where clients get tokens; its metadata is served, and named in challenges."""
    method_scopes: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """Additional scopes by method: `{"tools/call": {"write"}}`."""
    expand_scopes: ExpandScopes | None = None
    """Implied scopes, in addition to those of a token."""
    proofs: Proofs | None = field(default=None, repr=False)
    """The check of bound tokens, in the scheme DPoP; without it, they are refused."""
    require_proofs: bool = False
    """Whether only bound tokens are accepted."""

    needed: frozenset[str] = field(init=False, repr=False)
    """`scopes` as a set."""
    needed_by: Mapping[str, frozenset[str]] = field(init=False, repr=False)
    """`method_scopes` as non-empty sets."""
    schemes: tuple[str, ...] = field(init=False, repr=False)
    """The accepted authentication schemes."""
    _log: Throttle = field(
        default_factory=partial(Throttle, __name__), init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        name = type(self).__name__
        needed_by = {
            method: needed
            for method, scopes in self.method_scopes.items()
            if (needed := checked_scopes(scopes, f"{name}, {method}"))
        }
        object.__setattr__(self, "needed", checked_scopes(self.scopes, name))
        object.__setattr__(self, "needed_by", needed_by)
        proofs, resource = self.proofs, self.resource
        bearer = () if self.require_proofs else (BEARER,)
        object.__setattr__(self, "schemes", bearer if proofs is None else (*bearer, DPOP))
        if proofs is None:
            if self.require_proofs:
                raise ValueError(f"{name}: require_proofs needs proofs")
        elif resource is not None:
            bound, algorithms = self.require_proofs, proofs.algorithms
            metadata = replace(resource, dpop_algorithms=algorithms, dpop_required=bound)
            object.__setattr__(self, "resource", metadata)

    async def authenticate(self, exchange: HttpExchange, endpoint: str) -> Principal:
        """Return the caller; raise `HttpRefusal`. `endpoint` is the path of the endpoint."""
        scheme, token = self._credentials(exchange)
        if scheme == DPOP and self.proofs is not None and (nonce := self.proofs.nonce()):
            # In every answer, for the next proof (RFC 9449, section 8.2).
            added = fields_of({"dpop-nonce": nonce})
            exchange.add(lambda _: added)
        try:
            principal = await self._verify_token(token)
            if scheme == DPOP:
                await self._check_proof(token, principal, exchange, endpoint)
            elif _is_bound(principal):
                # It may be stolen (RFC 9449, section 7.2).
                raise TokenRefused("invalid_token", "The token is bound to a key: use DPoP")
        except TokenRefused as error:
            raise self._refusal(error.description, scheme, error.error) from None
        except VerifierUnavailable as error:
            self._log.warning("a token could not be verified: %s", error)
            reason = "Tokens cannot be verified now"
            raise HttpRefusal.for_now(reason, error.retry_after) from None
        if self.expand_scopes is not None:
            implied = frozenset(self.expand_scopes(principal.scopes))
            principal = replace(principal, scopes=principal.scopes | implied)
        if not self.needed <= principal.scopes:
            text = "The token lacks required scopes"
            raise HttpRefusal(403, text, fields=self.insufficient(exchange, self.needed, text))
        return principal

    def _credentials(self, exchange: HttpExchange) -> tuple[str, str]:
        kind, _, secret = (exchange.field(b"authorization") or "").partition(" ")
        scheme, token = _SCHEMES.get(kind.lower(), ""), secret.strip(" ")
        if scheme not in self.schemes:
            # Without credentials there is no error code (RFC 6750, section 3.1).
            raise self._refusal("An access token is required")
        if not _TOKEN.fullmatch(token):
            raise self._refusal("The credentials are malformed", scheme, "invalid_request")
        return scheme, token

    async def _verify_token(self, token: str) -> Principal:
        principal = await self.verify(token)
        if principal is None:
            raise TokenRefused("invalid_token", "The token is not valid")
        if principal.expires_at is not None and principal.expires_at <= time():
            raise TokenRefused("invalid_token", "The token has expired")
        return principal

    async def _check_proof(
        self, token: str, principal: Principal, exchange: HttpExchange, endpoint: str
    ) -> None:
        # The scheme exists only with proofs.
        assert self.proofs is not None
        if not _is_bound(principal):
            raise TokenRefused("invalid_token", "The token is not bound to a key")
        await self.proofs.check(
            ProofRequest(
                proofs=tuple(exchange.request.headers.getlist("dpop")),
                method=exchange.scope["method"],
                url=self._url(exchange, endpoint),
                token=token,
                principal=principal,
            )
        )

    def _url(self, exchange: HttpExchange, endpoint: str) -> str:
        """Return the URL of a request as its client knows it, behind proxies."""
        scope, path = exchange.scope, quote(exchange.path, safe="/:@!$&'()*+,;=~")
        if self.resource is None:
            root = scope.get("root_path", "")
            return f"{scope.get('scheme', 'http')}://{exchange.field(b'host')}{root}{path}"
        parts = urlsplit(self.resource.url)
        if exchange.path == endpoint:
            path = parts.path
        elif parts.path.endswith(endpoint):
            path = parts.path.removesuffix(endpoint) + path
        return f"{parts.scheme}://{parts.netloc}{path}"

    def insufficient(
        self, exchange: HttpExchange, scopes: frozenset[str], text: str
    ) -> tuple[Field, ...]:
        """Return the challenge for missing `scopes`; it names all required ones."""
        kind = (exchange.field(b"authorization") or "").partition(" ")[0]
        scheme = _SCHEMES.get(kind.lower(), BEARER)
        return (self._challenge(scheme, self.needed | scopes, text, "insufficient_scope"),)

    def _refusal(self, reason: str, scheme: str = "", error: str = "") -> HttpRefusal:
        """Return a refusal with a challenge per scheme; `scheme` gets the error."""
        fields = [
            self._challenge(name, self.needed, reason, error if name == scheme else "")
            for name in self.schemes
        ]
        return HttpRefusal(_STATUSES.get(error, 401), reason, fields=fields)

    def _challenge(self, scheme: str, scopes: frozenset[str], text: str, error: str) -> Field:
        fields = {"error": error, "error_description": mask_unquotable(text)} if error else {}
        if scheme == DPOP and self.proofs is not None:
            fields["algs"] = " ".join(self.proofs.algorithms)
        if scopes:
            fields["scope"] = format_scopes(scopes)
        if self.resource is not None:
            fields["resource_metadata"] = self.resource.metadata_url
        return challenge(scheme, fields)


def _is_bound(principal: Principal) -> bool:
    key = principal.claims.get("cnf")
    return isinstance(key, Mapping) and "jkt" in key


def static_tokens(principals: Mapping[str, Principal]) -> Verify:
    """Return a `verify` that accepts these tokens, for tests and a few trusted clients.

    Raise `ValueError` for a token of less than 16 characters, or with invalid ones.
    """
    for token in principals:
        if len(token) < 16:
            raise ValueError("each token must have at least 16 characters")
        if not _TOKEN.fullmatch(token):
            raise ValueError("tokens must be visible ASCII, without quotes and commas")
    tokens = [(token.encode(), principal) for token, principal in principals.items()]

    async def verify(token: str) -> Principal | None:
        secret, match = token.encode(), None
        # Compare all, so that timing reveals nothing.
        for known_token, principal in tokens:
            if hmac.compare_digest(secret, known_token):
                match = principal
        return match

    return verify
