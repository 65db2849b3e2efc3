"""Who may call: access tokens, and what they allow.

The server is a resource server in the sense of OAuth 2.1: it issues no tokens. How they are
verified is the business of `verify` (2025-11-25 and 2026-07-28, basic/authorization).
"""

import hmac
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from logging import getLogger
from time import time
from typing import Final, Protocol, TypeAlias
from urllib.parse import quote, urlsplit

from ...core.http_request import Principal
from ...core.oauth_scopes import NO_SCOPES, checked_scopes, format_scopes
from ...core.throttle import Throttle
from .asgi import Field, HttpExchange, HttpRefusal, fields_of
from .challenge_fields import BEARER, DPOP, challenge, is_quotable, mask_unquotable
from .protected_resource import ProtectedResource

Verify: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Judges an access token: whose it is, or None. It has to see to the audience (RFC 8707), too."""
ExpandScopes: TypeAlias = Callable[[frozenset[str]], Collection[str]]
"""Returns what the scopes of a token imply, such as `read` for `write`."""

_TOKEN: Final = re.compile(r"[!#-+\--~]+")
"""Visible ASCII without quotes and commas, which is more than RFC 6750, section 2.1, allows."""
_SCHEMES: Final = {BEARER.lower(): BEARER, DPOP.lower(): DPOP}

_STATUSES: Final = {"invalid_request": 400, "insufficient_scope": 403}
"""The status for a code of RFC 6750, section 3.1, where it is not 401."""


class TokenRefused(Exception):
    """A token or a proof of it is refused: `error` is a code of RFC 6750 or RFC 9449.

    `description` goes to the client, so it has no secret; characters that cannot stand in a header
    field are replaced. Raise `ValueError` for a code that cannot.
    """

    def __init__(self, error: str, description: str) -> None:
        if not error or not is_quotable(error):
            raise ValueError(f"{error!r:.100} is no code of an error")
        super().__init__(description)
        self.error: Final = error
        self.description: Final = description


class VerifierUnavailable(Exception):
    """Tokens cannot be verified for now, such as when an identity provider does not answer.

    The client is told to come back after `retry_after` seconds; the text goes to the log.
    """

    def __init__(self, reason: str = "", *, retry_after: int = 5) -> None:
        super().__init__(reason)
        self.retry_after: Final = retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class ProofRequest:
    """A request whose token is bound to a key (RFC 9449, section 7)."""

    proofs: tuple[str, ...]
    """The values of all header fields `DPoP`."""
    method: str
    url: str
    """The URL of the request, as clients know it, without query and fragment."""
    token: str = field(repr=False)
    principal: Principal


class Proofs(Protocol):
    """Checks that a client has the key of its token; see `DPoPProofs` of the part auth."""

    @property
    def algorithms(self) -> tuple[str, ...]:
        """The signing algorithms that are accepted, for the challenge."""
        ...

    def nonce(self) -> str | None:
        """Return the nonce that proofs need to have, if they need one."""
        ...

    async def check(self, request: ProofRequest) -> None:
        """Raise `TokenRefused` with `invalid_dpop_proof`, `use_dpop_nonce` or `invalid_token`."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """Who may call: those whose token `verify` accepts, and who have all of `scopes`.

    Refusals are those of RFC 6750, section 3.1: 400 for credentials that are malformed, 401 without
    a token or with one that is not good, and 403 for one that does not allow enough. A token counts
    in `Authorization` alone, and never in a query (2026-07-28, basic/authorization, "Token
    Requirements"). Raise `TypeError` or `ValueError` for what are no scopes.
    """

    verify: Verify = field(repr=False)
    scopes: Collection[str] = NO_SCOPES
    """What every request needs."""
    resource: ProtectedResource | None = None
    """Where clients get tokens; its metadata is served, and challenges name it."""
    method_scopes: Mapping[str, Collection[str]] = field(default_factory=dict[str, Collection[str]])
    """What messages need beside that, by method: `{"tools/call": {"write"}}`."""
    expand_scopes: ExpandScopes | None = None
    """What scopes imply, where some include others; a token has its own as well."""
    proofs: Proofs | None = field(default=None, repr=False)
    """The check of tokens that are bound to a key, in the scheme DPoP; without it, none count."""
    require_proofs: bool = False
    """Whether tokens count that are bound to a key, and no others."""

    needed: frozenset[str] = field(init=False, repr=False)
    """The `scopes` as a set."""
    needed_by: Mapping[str, frozenset[str]] = field(init=False, repr=False)
    """The `method_scopes` as sets; a method that is not there needs nothing more."""
    schemes: tuple[str, ...] = field(init=False, repr=False)
    """The schemes in which a token counts."""
    _log: Throttle = field(
        default_factory=partial(Throttle, getLogger(__name__)),
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        where = type(self).__name__
        needed = {
            method: checked_scopes(some, f"{where}, {method}")
            for method, some in self.method_scopes.items()
        }
        object.__setattr__(self, "needed", checked_scopes(self.scopes, where))
        object.__setattr__(
            self, "needed_by", {method: some for method, some in needed.items() if some}
        )
        proofs, resource = self.proofs, self.resource
        bearer = () if self.require_proofs else (BEARER,)
        object.__setattr__(self, "schemes", bearer if proofs is None else (*bearer, DPOP))
        if proofs is None:
            if self.require_proofs:
                raise ValueError(f"{where}: require_proofs needs proofs, which check them")
        elif resource is not None:
            bound, algorithms = self.require_proofs, proofs.algorithms
            told = replace(resource, dpop_algorithms=algorithms, dpop_required=bound)
            object.__setattr__(self, "resource", told)

    async def authenticate(self, exchange: HttpExchange, endpoint: str) -> Principal:
        """Return the sender of a request; raise `HttpRefusal`. `endpoint` is the path of that."""
        scheme, token = self._credentials(exchange)
        if scheme == DPOP and self.proofs is not None and (nonce := self.proofs.nonce()):
            # With any answer, so that the next proof has it (RFC 9449, section 8.2).
            exchange.add(fields_of({"dpop-nonce": nonce}))
        try:
            principal = await self._verify_token(token)
            if scheme == DPOP:
                await self._check_proof(token, principal, exchange, endpoint)
            elif _is_bound(principal):
                # Somebody else could have taken it (RFC 9449, section 7.2).
                raise TokenRefused("invalid_token", "The token is bound to a key: use DPoP")
        except TokenRefused as error:
            refused = {"error": error.error, "error_description": error.description}
            status = _STATUSES.get(error.error, 401)
            raise self._refusal(status, str(error), scheme, **refused) from None
        except VerifierUnavailable as error:
            self._log.warning("a token cannot be verified: %s", error)
            why = "Tokens cannot be verified now"
            raise HttpRefusal.for_now(why, error.retry_after) from None
        if self.expand_scopes is not None:
            implied = frozenset(self.expand_scopes(principal.scopes))
            principal = replace(principal, scopes=principal.scopes | implied)
        if not self.needed <= principal.scopes:
            text = "The token does not have the scopes that are needed"
            raise HttpRefusal(403, text, fields=self.insufficient(exchange, self.needed, text))
        return principal

    def _credentials(self, exchange: HttpExchange) -> tuple[str, str]:
        written, _, rest = (exchange.field(b"authorization") or "").partition(" ")
        scheme, token = _SCHEMES.get(written.lower()), rest.strip(" ")
        if scheme is None or scheme not in self.schemes:
            # Whoever has shown nothing is told of no error (RFC 6750, section 3.1).
            raise self._refusal(401, "An access token is needed", None)
        if not _TOKEN.fullmatch(token):
            text = "The credentials are malformed"
            refused = {"error": "invalid_request", "error_description": text}
            raise self._refusal(400, text, scheme, **refused)
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
        # Without proofs there is no such scheme.
        assert self.proofs is not None
        if not _is_bound(principal):
            raise TokenRefused("invalid_token", "The token is not bound to a key")
        given = [value for name, value in exchange.scope["headers"] if name.lower() == b"dpop"]
        await self.proofs.check(
            ProofRequest(
                proofs=tuple(value.decode("latin-1").strip(" \t") for value in given),
                method=exchange.scope["method"],
                url=self._url(exchange, endpoint),
                token=token,
                principal=principal,
            )
        )

    def _url(self, exchange: HttpExchange, endpoint: str) -> str:
        """Return the URL of a request as its client knows it, behind whatever proxies."""
        scope, path = exchange.scope, quote(exchange.path, safe="/:@!$&'()*+,;=~")
        if self.resource is None:
            root = scope.get("root_path", "")
            return f"{scope.get('scheme', 'http')}://{exchange.field(b'host')}{root}{path}"
        known = urlsplit(self.resource.url)
        if exchange.path == endpoint:
            path = known.path
        elif known.path.endswith(endpoint):
            path = known.path.removesuffix(endpoint) + path
        return f"{known.scheme}://{known.netloc}{path}"

    # Challenges.

    def insufficient(
        self, exchange: HttpExchange, scopes: frozenset[str], text: str
    ) -> tuple[Field, ...]:
        """Return the challenge for a request that needs `scopes`, all of which it names."""
        written = (exchange.field(b"authorization") or "").partition(" ")[0]
        params = {"error": "insufficient_scope", "error_description": text}
        scheme = _SCHEMES.get(written.lower(), BEARER)
        return (self._challenge(scheme, self.needed | scopes, params),)

    def _refusal(self, status: int, reason: str, scheme: str | None, **params: str) -> HttpRefusal:
        """Return a refusal that challenges in each scheme, and says in one what is wrong."""
        fields = [
            self._challenge(candidate, self.needed, params if candidate == scheme else {})
            for candidate in self.schemes
        ]
        return HttpRefusal(status, reason, fields=fields)

    def _challenge(self, scheme: str, scopes: frozenset[str], params: Mapping[str, str]) -> Field:
        listed = dict(params)
        if "error_description" in listed:
            listed["error_description"] = mask_unquotable(listed["error_description"])
        if scheme == DPOP and self.proofs is not None:
            listed["algs"] = " ".join(self.proofs.algorithms)
        if scopes:
            listed["scope"] = format_scopes(scopes)
        if self.resource is not None:
            listed["resource_metadata"] = self.resource.metadata_url
        return challenge(scheme, listed)


def _is_bound(principal: Principal) -> bool:
    confirmed = principal.claims.get("cnf")
    return isinstance(confirmed, Mapping) and "jkt" in confirmed


def static_tokens(principals: Mapping[str, Principal]) -> Verify:
    """Return what accepts these tokens and no others; for tests, and for a few trusted clients.

    Raise `ValueError` for a token of less than 16 characters, or with one that no token has.
    """
    for token in principals:
        if len(token) < 16:
            raise ValueError("a token needs at least 16 characters")
        if not _TOKEN.fullmatch(token):
            raise ValueError("a token has visible ASCII characters, and no quotes and commas")
    known = [(token.encode(), principal) for token, principal in principals.items()]

    async def verify(token: str) -> Principal | None:
        given, found = token.encode(), None
        # All are looked at, so that the time it takes tells nothing.
        for known_token, principal in known:
            if hmac.compare_digest(given, known_token):
                found = principal
        return found

    return verify
