"""DPoP proofs of clients (RFC 9449), as a test's server checks them."""

from dataclasses import dataclass, field

from joserfc import jws, jwt
from joserfc.jwk import import_key
from mcp_protogen.runtime.core.base64url import text_digest
from support.auth.messages import Fault, Request

_AGE = 300
"""Seconds that the time of a proof may be off, either way."""


@dataclass
class ProofChecks:
    """Memory and policy of one server for proofs."""

    nonce: str | None = None
    """What proofs need to have; may be changed at any time."""
    seen: set[str] = field(default_factory=set[str])

    def key(self, request: Request, now: float, token: str | None = None) -> str:
        """Return the thumbprint of the proven key of a request; raise `Fault`."""
        proof = request.headers["dpop"]
        header = jws.extract_compact(proof.encode()).headers()
        key = import_key(header["jwk"])
        claims = jwt.decode(proof, key, algorithms=["ES256"]).claims
        given = (header["typ"], key.is_private, claims["htm"], claims["htu"], claims.get("ath"))
        ath = None if token is None else text_digest(token)
        if given != ("dpop+jwt", False, request.method, request.url.partition("?")[0], ath):
            raise Fault("invalid_dpop_proof", f"of another request: {given}")
        if self.nonce is not None and claims.get("nonce") != self.nonce:
            raise Fault("use_dpop_nonce", "a nonce is needed", headers={"dpop-nonce": self.nonce})
        if claims["jti"] in self.seen or abs(claims["iat"] - now) > _AGE:
            raise Fault("invalid_dpop_proof", "the proof was used before, or is old")
        self.seen.add(claims["jti"])
        return key.thumbprint()
