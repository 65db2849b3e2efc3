"""Access tokens signed by an authorization server (RFC 9068)."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Final

from ....core.http_request import Principal
from ....core.options import string_set
from ..signing import InvalidJwt, Jwt, check_algorithms, read_header
from ..steps import Fetching
from .cache import TokenCache
from .claims import ClaimChecks, refuse
from .keys import JwksUri, Keys

_TYPE: Final = "application/"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JwtVerifier(ClaimChecks):
    """The `verify` of an `Authentication` for JWTs of one issuer.

    A token must be signed with a key of the issuer by one of `algorithms`, be for `audience`, be
    unexpired, and have a `sub` or a `client_id`. The id of its principal is made of the issuer and
    `sub`, or else `client_id`. Verifying raises `TokenRefused` and `VerifierUnavailable`.

    Raise `ValueError` for invalid or unsafe options, and `ImportError` if joserfc is not installed,
    or httpx2 without `keys`.
    """

    audience: str | Collection[str]
    """Values of which `aud` must have one: the URL of the endpoint as clients know it, the
    `resource` of its metadata."""
    keys: Keys | None = None
    """The keys of the issuer; by default the set in its metadata."""
    algorithms: Collection[str] = ("RS256", "PS256", "ES256", "ES384", "EdDSA", "Ed25519")
    """The accepted signature algorithms. None of them has a shared secret."""
    types: Collection[str] = ("at+jwt", "jwt")
    """The accepted `typ`; a missing one counts as `jwt`. With `("at+jwt",)`, tokens for other
    purposes cannot pass as access tokens (RFC 9068, section 2.1)."""
    cache: TokenCache = field(default_factory=TokenCache, repr=False)
    """The memory of verified tokens."""
    fetch: Fetching | None = field(default=None, repr=False)
    """The HTTP client for metadata and keys, without `keys`."""
    _keys: Keys = field(init=False, repr=False)

    def __post_init__(self) -> None:
        # Fail when the server starts, not at the first token.
        check_algorithms(self.algorithms)
        string_set(self.types, "types")
        self._check_options(self.audience)
        if self.keys is not None and self.fetch is not None:
            raise ValueError("fetch and keys exclude each other: give fetch to keys")
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
        if (until := self._check_times(claims)) is None:
            refuse("The token has no exp")
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
