"""Access tokens that are signed by an authorization server (RFC 9068)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from time import time
from typing import Final, NoReturn

from ....core.http_request import Principal
from ....http.server.authentication import TokenRefused
from ..signing import ALGORITHMS, InvalidJwt, Jwt, check_installed, read_header
from .cache import TokenCache
from .claims import ClaimRules
from .keys import JwksUri, Keys
from .server_metadata import Fetching

_TYPE: Final = "application/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JwtVerifier:
    """The `verify` of an `Authentication` for JWTs of one issuer.

    A token is accepted that is signed with a key of the issuer by one of `algorithms`, is meant for
    `audience`, has not ended, and says whose it is. The id of its principal is that of the issuer
    and its `sub`, or else its `client_id`. Verifying raises `TokenRefused` and
    `VerifierUnavailable`.

    Raise `ValueError` for options that do not go together or are not safe, and `ImportError` if
    joserfc is not installed, or httpx2 where it reads the keys by itself.
    """

    issuer: str
    """What `iss` has to be, character by character."""
    audience: str | Collection[str]
    """What `aud` has to have: the URL of the endpoint as clients know it, the `resource` of its
    metadata. Of several, one is enough."""
    keys: Keys | None = None
    """The keys of the issuer; by default the set that its metadata names."""
    algorithms: Collection[str] = ("RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
    """The algorithms of signatures that are accepted, whatever a token says. None has a secret."""
    scope_claims: Collection[str] = ("scope", "scp")
    """The claims with scopes: a text with spaces between them, or an array."""
    types: Collection[str] = ("at+jwt", "jwt")
    """What `typ` may be; one that is missing counts as `jwt`. With `("at+jwt",)`, tokens for other
    purposes cannot be taken for access tokens (RFC 9068, section 2.1)."""
    leeway: float = 60.0
    """By how many seconds the clock of the issuer may differ; 300 at most."""
    cache: TokenCache = field(default_factory=TokenCache, repr=False)
    """What remembers the tokens that were verified."""
    fetch: Fetching | None = field(default=None, repr=False)
    """What reads metadata and keys, where `keys` is not given."""
    clock: Callable[[], float] = field(default=time, repr=False)
    """The seconds of the epoch."""
    _rules: ClaimRules = field(init=False, repr=False)
    _keys: Keys = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Said when the server starts, and not when the first token comes.
        check_installed()
        audiences = {self.audience} if isinstance(self.audience, str) else {*self.audience}
        if not audiences or "" in audiences:
            raise ValueError("a verifier needs the audience that tokens have to be for")
        for name in ("algorithms", "scope_claims", "types"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} has to be a list of names, and not one")
        if not self.algorithms or not ALGORITHMS.issuperset(self.algorithms):
            raise ValueError(f"algorithms have to be some of {', '.join(sorted(ALGORITHMS))}")
        rules = ClaimRules(
            issuer=self.issuer,
            audiences=frozenset(audiences),
            scope_claims=tuple(self.scope_claims),
            leeway=self.leeway,
        )
        if self.keys is not None and self.fetch is not None:
            raise ValueError(
                "fetch is for the keys of the issuer: give it to keys, or leave it out"
            )
        object.__setattr__(self, "_rules", rules)
        keys = self.keys
        if keys is None:
            keys = JwksUri.of_issuer(self.issuer, fetch=self.fetch)
        object.__setattr__(self, "_keys", keys)

    async def __call__(self, token: str) -> Principal:
        return await self.cache.verified(token, self._verify)

    async def _verify(self, token: str) -> Principal:
        try:
            header = read_header(token)
            algorithm, kid, type = header["alg"], header.get("kid"), header.get("typ", "JWT")
            if algorithm not in self.algorithms:
                _refuse("The algorithm of the token is not accepted")
            if not isinstance(type, str) or _kind(type) not in map(_kind, self.types):
                _refuse("The token is not an access token")
            if kid is not None and not isinstance(kid, str):
                _refuse("The token is malformed")
            claims = (await self._signed(token, kid, algorithm)).claims
        except InvalidJwt:
            _refuse("The token is malformed")
        if claims.get("iss") != self.issuer:
            _refuse("The token is of another issuer")
        self._rules.check_audience(claims)
        until = self._rules.check_times(claims, self.clock())
        if until is None:
            _refuse("The token has no end")
        return self._rules.principal(claims, until)

    async def _signed(self, token: str, kid: str | None, algorithm: str) -> Jwt:
        for key in await self._keys.find(kid, algorithm):
            try:
                return key.verify(token, [algorithm])
            except InvalidJwt:
                continue
        _refuse("The signature of the token is not valid")


def _kind(type: str) -> str:
    return type.lower().removeprefix(_TYPE)


def _refuse(description: str) -> NoReturn:
    raise TokenRefused("invalid_token", description)
