"""DPoP proofs of clients (RFC 9449), as a test's server checks them."""

from dataclasses import dataclass, field
from typing import Any, Final

from joserfc.jwk import KeySet
from support.auth.jwts import claims_of, digest, header_of, thumbprint, verify_token
from support.auth.messages import Fault, Request

ALGORITHMS: Final = ("ES256", "EdDSA", "RS256")

_AGE: Final = 300
"""Seconds that the time of a proof may be off, either way."""


@dataclass
class ProofChecks:
    """Memory and policy of one server for proofs."""

    nonce: str | None = None
    """What proofs need to have; may be changed at any time."""
    seen: set[str] = field(default_factory=set[str])

    def key(self, request: Request, now: float, token: str | None = None) -> str:
        """Return the thumbprint of the proven key of a request; raise `Fault`."""
        proof = request.headers.get("dpop", "")
        try:
            header, claims = header_of(proof), claims_of(proof)
            jwk: dict[str, Any] = header["jwk"]
            keys = KeySet.import_key_set({"keys": [jwk]})
            verify_token(proof, keys, ALGORITHMS)
        except (Fault, ValueError, KeyError, TypeError) as error:
            raise Fault("invalid_dpop_proof", f"malformed: {error}") from error
        expected = {
            "typ": (header.get("typ"), "dpop+jwt"),
            "private": ("d" in jwk, False),
            "htm": (claims.get("htm"), request.method),
            "htu": (claims.get("htu"), request.url.partition("?")[0].partition("#")[0]),
            "iat": (abs(claims.get("iat", 0) - now) <= _AGE, True),
            "ath": (claims.get("ath"), None if token is None else digest(token)),
        }
        for name, (given, wanted) in expected.items():
            if given != wanted:
                raise Fault("invalid_dpop_proof", f"{name} is wrong")
        if self.nonce is not None and claims.get("nonce") != self.nonce:
            raise Fault("use_dpop_nonce", "a nonce is needed", headers={"dpop-nonce": self.nonce})
        if claims["jti"] in self.seen:
            raise Fault("invalid_dpop_proof", "the proof was used before")
        self.seen.add(claims["jti"])
        return thumbprint(jwk)
