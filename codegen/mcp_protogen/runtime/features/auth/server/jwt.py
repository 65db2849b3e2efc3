"""Access tokens that are signed by an authorization server (RFC 9068)."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ....core.http_request import Principal
from ..signing import ALGORITHMS, InvalidJwt, Jwt, check_installed, read_header
from ..steps import Fetching
from .cache import TokenCache
from .claims import ClaimRules, refuse
from .keys import JwksUri, Keys

_TYPE: Final = "application/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JwtVerifier(ClaimRules):
    """The `verify` of an `Authentication` for JWTs of one issuer.

    A token is accepted that is signed with a key of the issuer by one of `algorithms`, is meant for
    `audience`, has not ended, and says whose it is. The id of its principal is that of the issuer
    and its `sub`, or else its `client_id`. Verifying raises `TokenRefused` and
    `VerifierUnavailable`.

    Raise `ValueError` for options that do not go together or are not safe, and `ImportError` if
    joserfc is not installed, or httpx2 where it reads the keys by itself.
    """

    audience: str | Collection[str]
    """What `aud` has to have: the URL of the endpoint as clients know it, the `resource` of its
    metadata. Of several, one is enough."""
    keys: Keys | None = None
    """The keys of the issuer; by default the set that its metadata names."""
    algorithms: Collection[str] = ("RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
    """The algorithms of signatures that are accepted, whatever a token says. None has a secret."""
    types: Collection[str] = ("at+jwt", "jwt")
    """What `typ` may be; one that is missing counts as `jwt`. With `("at+jwt",)`, tokens for other
    purposes cannot be taken for access tokens (RFC 9068, section 2.1)."""
    cache: TokenCache = field(default_factory=TokenCache, repr=False)
    """What remembers the tokens that were verified."""
    fetch: Fetching | None = field(default=None, repr=False)
    """What reads metadata and keys, where `keys` is not given."""
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
        self._check_rules()
        if self.keys is not None and self.fetch is not None:
            raise ValueError(
                "fetch is for the keys of the issuer: give it to keys, or leave it out"
            )
        object.__setattr__(self, "_audiences", frozenset(audiences))
        keys = self.keys
        if keys is None:
            keys = JwksUri.of_issuer(self.issuer, fetch=self.fetch)
        object.__setattr__(self, "_keys", keys)

    async def __call__(self, token: str) -> Principal:
        return await self.cache.verify(token, self._verify)

    async def _verify(self, token: str) -> Principal:
        try:
            header = read_header(token)
            algorithm, kid, type = header["alg"], header.get("kid"), header.get("typ", "JWT")
            if algorithm not in self.algorithms:
                refuse("The algorithm of the token is not accepted")
            if not isinstance(type, str) or _kind(type) not in map(_kind, self.types):
                refuse("The token is not an access token")
            if kid is not None and not isinstance(kid, str):
                refuse("The token is malformed")
            claims = (await self._verify_signature(token, kid, algorithm)).claims
        except InvalidJwt:
            refuse("The token is malformed")
        if claims.get("iss") != self.issuer:
            refuse("The token is of another issuer")
        self._check_audience(claims)
        until = self._check_times(claims)
        if until is None:
            refuse("The token has no end")
        return self._principal(claims, until)

    async def _verify_signature(self, token: str, kid: str | None, algorithm: str) -> Jwt:
        for key in await self._keys.find(kid, algorithm):
            try:
                return key.verify(token, [algorithm])
            except InvalidJwt:
                continue
        refuse("The signature of the token is not valid")


def _kind(type: str) -> str:
    return type.lower().removeprefix(_TYPE)
