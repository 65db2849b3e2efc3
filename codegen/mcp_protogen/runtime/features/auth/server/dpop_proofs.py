"""The check of DPoP proofs (RFC 9449, section 4.3)."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from time import time
from typing import Any, Final, NoReturn

from ....core.base64url import text_digest
from ....core.errors import InvalidParams
from ....core.json import is_object
from ....core.json_pointers import value_at
from ....http.server.authentication import ProofRequest, TokenRefused
from ....server.sealed_state import StateSeal
from ..signing import InvalidJwt, InvalidKey, check_algorithms, public_key, read_header
from ..urls import origin, split_url
from .claims import numeric_date, refuse
from .replays import Replays

_TYPE: Final = "dpop+jwt"
# In characters.
_LONGEST_PROOF: Final = 8 * 1024
_LONGEST_ID: Final = 256

_BOUND: Final = b"dpop-nonce"
"""The binding, so that no other sealed value passes as a nonce."""

_ESCAPE: Final = re.compile("%[0-9A-Fa-f]{2}")
# RFC 3986, section 2.3
_UNRESERVED: Final = re.compile(r"[A-Za-z0-9\-._~]")


class DPoPProofs:
    """The `proofs` of an `Authentication`: checks the header field `DPoP`. Times are in seconds.

    A proof may be `max_age` old, and as far in the future. Until then, an attacker who has it and
    the token can send both again to the same URL, unless `replays` remembers it, or proofs need a
    nonce of this server, not older than `nonce_lifetime`. All workers need the same `nonce_keys`,
    of at least 16 bytes: the first one seals, all open.

    Raise `ValueError` for unsafe options, and `ImportError` if joserfc is not installed.
    """

    def __init__(
        self,
        *,
        algorithms: Collection[str] = ("ES256", "ES384", "EdDSA", "Ed25519", "PS256", "RS256"),
        max_age: float = 300.0,
        replays: Replays | None = None,
        nonce_lifetime: float | None = None,
        nonce_keys: Sequence[bytes] = (),
        clock: Callable[[], float] = time,
    ) -> None:
        check_algorithms(algorithms)
        if max_age <= 0 or (nonce_lifetime is not None and nonce_lifetime < 1):
            raise ValueError("max_age must be more than 0, and nonce_lifetime at least 1")
        if nonce_keys and nonce_lifetime is None:
            raise ValueError("nonce_keys need nonce_lifetime")
        self.algorithms: Final = tuple(algorithms)
        self._max_age = max_age
        self._replays = replays
        self._clock = clock
        self._seal: StateSeal | None = None
        if nonce_lifetime is not None:
            self._seal = StateSeal(nonce_keys, lifetime=nonce_lifetime, clock=clock)

    def nonce(self) -> str | None:
        """Return a nonce for the client's next proof; None if none is needed."""
        return None if self._seal is None else self._seal.seal(None, _BOUND)

    async def check(self, request: ProofRequest) -> None:
        """Raise `TokenRefused` unless the request has a proof that fits it and its token.

        Raise `VerifierUnavailable` if it is unknown whether the proof was used before.
        """
        thumbprint = _bound_to(request.principal.claims)
        claims = self._verify_signature(request.proofs, thumbprint)
        id = self._check_claims(claims, request)
        if self._replays is not None:
            seen = sha256(f"{thumbprint} {id}".encode()).digest()
            # A proof is valid from `max_age` before its time until `max_age` after it.
            if not await self._replays.first(seen, 2 * self._max_age):
                _refuse("The proof was used before")

    def _verify_signature(self, proofs: Sequence[str], thumbprint: str) -> Mapping[str, Any]:
        if len(proofs) != 1:
            _refuse("A request needs one header field DPoP")
        if len(proofs[0]) > _LONGEST_PROOF:
            _refuse("The proof is too long")
        try:
            header = read_header(proofs[0])
            jwk = header.get("jwk")
            if header.get("typ") != _TYPE or not is_object(jwk):
                _refuse("The proof is not a DPoP proof")
            if header["alg"] not in self.algorithms:
                _refuse("The algorithm of the proof is not accepted")
            key = public_key(jwk)
            # The signature comes last: a client's key can make it costly to check.
            if key.thumbprint != thumbprint:
                refuse("The token is bound to another key")
            return key.verify(proofs[0], self.algorithms).claims
        except (InvalidJwt, InvalidKey):
            _refuse("The proof is malformed, or not signed with its key")

    def _check_claims(self, claims: Mapping[str, Any], request: ProofRequest) -> str:
        id, issued, ath = claims.get("jti"), numeric_date(claims.get("iat")), claims.get("ath")
        wanted = comparable_url(request.url)
        if not isinstance(id, str) or not 0 < len(id) <= _LONGEST_ID:
            _refuse("The proof has no valid jti")
        if issued is None:
            _refuse("The proof has no valid iat")
        if claims.get("htm") != request.method:
            _refuse("The proof is for another method")
        if wanted is None or comparable_url(claims.get("htu")) != wanted:
            _refuse("The proof is for another URL")
        if ath != text_digest(request.token):
            _refuse("The proof is for another token")
        if self._seal is not None and not self._is_ours(claims.get("nonce")):
            raise TokenRefused("use_dpop_nonce", "The proof needs a nonce of this server")
        if not -self._max_age <= self._clock() - issued <= self._max_age:
            _refuse("The time of the proof is too far from the server's")
        return id

    def _is_ours(self, nonce: object) -> bool:
        if self._seal is None or not isinstance(nonce, str):
            return False
        try:
            self._seal.open(nonce, _BOUND)
        except InvalidParams:
            return False
        return True


def comparable_url(url: object) -> tuple[str, str, int, str] | None:
    """Return the part of a URL that must match (RFC 9449, section 4.3).

    Query, fragment and variants of spelling do not count (RFC 3986, sections 6.2.2 and 6.2.3).
    """
    parts = split_url(url) if isinstance(url, str) else None
    if parts is None:
        return None
    return *origin(parts), _ESCAPE.sub(_unescape, parts.path) or "/"


def _unescape(escape: re.Match[str]) -> str:
    character = chr(int(escape[0][1:], 16))
    return character if _UNRESERVED.match(character) else escape[0].upper()


def _bound_to(claims: Mapping[str, Any]) -> str:
    """RFC 9449, section 6.1."""
    thumbprint = value_at(claims, ("cnf", "jkt"))
    if not isinstance(thumbprint, str):
        refuse("The token is not bound to a key")
    return thumbprint


def _refuse(description: str) -> NoReturn:
    raise TokenRefused("invalid_dpop_proof", description)
