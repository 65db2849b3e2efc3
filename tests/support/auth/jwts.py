"""Keys for tests, and JWTs signed and checked with them; by joserfc only."""

import json
from collections.abc import Collection, Mapping
from functools import cache
from hashlib import sha256
from typing import Any, Final

from joserfc import jws, jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet
from joserfc.util import urlsafe_b64encode
from support.auth.messages import Fault

ASYMMETRIC: Final = ("ES256", "ES384", "RS256", "PS256", "EdDSA", "Ed25519")


@cache
def key_of(name: str) -> ECKey:
    """Return the key of this name (its `kid`), the same one throughout a process."""
    return ECKey.generate_key("P-256", {"kid": name, "alg": "ES256", "use": "sig"})


def private_pem(key: ECKey) -> str:
    """Return a private key as a client gets it."""
    return key.as_pem(private=True).decode()


def public_jwk(key: ECKey) -> dict[str, Any]:
    return dict(key.as_dict(private=False))


def jwks_of(*keys: ECKey) -> dict[str, Any]:
    """Return a JWK Set with the public parts of keys (RFC 7517, section 5)."""
    return {"keys": [public_jwk(key) for key in keys]}


def sign_token(
    claims: Mapping[str, Any], key: ECKey, header: Mapping[str, Any] | None = None
) -> str:
    """Return a JWT; members of `header` replace the usual ones."""
    usual = {"alg": "ES256", "kid": key.kid, "typ": "JWT", **(header or {})}
    fields = {name: value for name, value in usual.items() if value is not None}
    return jwt.encode(fields, dict(claims), key, algorithms=["ES256"], default_type=None)


def unsigned_token(claims: Mapping[str, Any]) -> str:
    """Return a JWT with the algorithm `none` (RFC 7519, section 6)."""
    parts = ({"alg": "none", "typ": "JWT"}, dict(claims))
    return ".".join(urlsafe_b64encode(json.dumps(part).encode()).decode() for part in parts) + "."


def claims_of(token: str) -> dict[str, Any]:
    """Return the claims of a JWT without checking its signature."""
    return dict(json.loads(jws.extract_compact(token.encode()).payload))


def header_of(token: str) -> dict[str, Any]:
    return dict(jws.extract_compact(token.encode()).headers())


def verify_token(
    token: str, keys: KeySet | ECKey, algorithms: Collection[str] = ASYMMETRIC
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
