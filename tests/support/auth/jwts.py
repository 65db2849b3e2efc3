"""Keys for tests, and JWTs signed and checked with them; by joserfc only."""

import json
from collections.abc import Collection, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeyParameters, KeySet, OctKey, OKPKey, RSAKey
from joserfc.util import urlsafe_b64encode

from support.auth.messages import Fault

SignatureKey = ECKey | RSAKey | OKPKey | OctKey

ASYMMETRIC: Final = ("ES256", "ES384", "RS256", "PS256", "EdDSA", "Ed25519")


@cache
def key_of(name: str, algorithm: str = "ES256") -> SignatureKey:
    """Return the key of this name (its `kid`), the same one throughout a process."""
    given: KeyParameters = {"kid": name, "alg": algorithm, "use": "sig"}
    if algorithm.startswith("ES"):
        return ECKey.generate_key({"ES256": "P-256", "ES384": "P-384"}[algorithm], given)
    if algorithm.startswith("Ed"):
        return OKPKey.generate_key("Ed25519", given)
    if algorithm.startswith("HS"):
        return OctKey.generate_key(256, given)
    return RSAKey.generate_key(2048, given)


def private_pem(key: SignatureKey) -> str:
    """Return a private key as a client gets it."""
    assert not isinstance(key, OctKey)
    return key.as_pem(private=True).decode()


def private_jwk(key: SignatureKey) -> str:
    return json.dumps(key.as_dict(private=True))


def public_jwk(key: SignatureKey) -> dict[str, Any]:
    return dict(key.as_dict(private=False))


def jwks_of(*keys: SignatureKey) -> dict[str, Any]:
    """Return a JWK Set with the public parts of keys (RFC 7517, section 5)."""
    return {"keys": [public_jwk(key) for key in keys]}


def sign_token(
    claims: Mapping[str, Any],
    key: SignatureKey,
    header: Mapping[str, Any] | None = None,
    algorithm: str | None = None,
) -> str:
    """Return a JWT; members of `header` replace the usual ones."""
    algorithm = algorithm or str(key.as_dict().get("alg", "ES256"))
    usual = {"alg": algorithm, "kid": key.kid, "typ": "JWT", **(header or {})}
    fields = {name: value for name, value in usual.items() if value is not None}
    return jwt.encode(fields, dict(claims), key, algorithms=[fields["alg"]], default_type=None)


def unsigned_token(claims: Mapping[str, Any], header: Mapping[str, Any] | None = None) -> str:
    """Return a JWT with the algorithm `none` (RFC 7519, section 6)."""
    parts = ({"alg": "none", "typ": "JWT", **(header or {})}, dict(claims))
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts) + "."


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without checking its signature."""
    return dict(json.loads(jws.extract_compact(token.encode()).payload))


def header_of(token: str) -> dict[str, Any]:
    return dict(jws.extract_compact(token.encode()).headers())


def verify_token(
    token: str, keys: KeySet | SignatureKey, algorithms: Collection[str] = ASYMMETRIC
) -> dict[str, Any]:
    """Return the claims of a JWT if one of these keys signed it; raise `Fault` otherwise."""
    try:
        return dict(jwt.decode(token, keys, algorithms=list(algorithms)).claims)
    except (JoseError, ValueError) as error:
        raise Fault(
            "invalid_grant", f"the signature is not valid ({type(error).__name__})"
        ) from error


def thumbprint(jwk: Mapping[str, Any]) -> str:
    """Return the thumbprint of a public key (RFC 7638)."""
    return KeySet.import_key_set({"keys": [dict(jwk)]}).keys[0].thumbprint()


def digest(text: str) -> str:
    """Return the SHA-256 of a text in base64url, as in `ath` and in PKCE."""
    return urlsafe_b64encode(sha256(text.encode()).digest()).decode()
