"""Signatures of JWTs (RFC 7515, RFC 7519), by joserfc, which is imported when first needed.

Only asymmetric algorithms exist here: a token cannot choose `none` or a shared secret. Claims are
not checked.
"""

from collections.abc import Collection, Mapping
from copy import copy
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

from ...core.base64url import base64url_bytes
from ...core.json import JSONObject
from ...core.libraries import library
from .json_objects import object_in

# RFC 7518, section 3.1; RFC 8037, section 3.1; RFC 9864. The first one of a key is its default.
_OF_CURVES: Final[Mapping[str, tuple[str, ...]]] = {
    "P-256": ("ES256",),
    "P-384": ("ES384",),
    "P-521": ("ES512",),
    "Ed25519": ("EdDSA", "Ed25519"),
    "Ed448": ("EdDSA", "Ed448"),
}
_OF_RSA: Final = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")

ALGORITHMS: Final = frozenset(_OF_RSA).union(*_OF_CURVES.values())

# RFC 7638, section 3.2: the members that identify a key.
_MEMBERS: Final[Mapping[str, tuple[str, ...]]] = {
    "EC": ("crv", "kty", "x", "y"),
    "OKP": ("crv", "kty", "x"),
    "RSA": ("e", "kty", "n"),
}

# In bits. Smaller keys are weak (RFC 7518, section 3.3), larger ones are slow to verify.
_SMALLEST_RSA: Final = 2048
_LARGEST_RSA: Final = 8192

# In characters.
_LARGEST_HEADER: Final = 8 * 1024
_LARGEST_PAYLOAD: Final = 64 * 1024


class InvalidKey(ValueError):
    """A key is unreadable, weak, or unfit for the algorithm."""


class InvalidJwt(ValueError):
    """A JWT is malformed, or not signed with the key."""


class Jwt(NamedTuple):
    header: Mapping[str, Any]
    claims: Mapping[str, Any]


class PublicKey:
    """A key for verifying signatures; its type and `alg` decide the `algorithms`."""

    def __init__(self, key: Any) -> None:
        self._key = key
        members: dict[str, Any] = key.as_dict(private=False)
        self.jwk: Final = {name: members[name] for name in _MEMBERS[key.key_type]}
        self.kid: Final[str | None] = key.kid
        possible = _algorithms(key)
        self.algorithms: Final = tuple(name for name in possible if key.alg in (None, name))

    @cached_property
    def thumbprint(self) -> str:
        """RFC 7638."""
        text: str = _joserfc("jwk").thumbprint(self.jwk)
        return text

    def verify(self, token: str, algorithms: Collection[str]) -> Jwt:
        """Return the content of a token signed with this key; raise `InvalidJwt`."""
        header = read_header(token)
        if header["alg"] not in algorithms or header["alg"] not in self.algorithms:
            raise InvalidJwt("the algorithm of the token is not accepted")
        jws, errors = _joserfc("jws"), _joserfc("errors")
        try:
            signed = jws.deserialize_compact(token, self._key, registry=_registry())
        except (ValueError, errors.JoseError):
            raise InvalidJwt("the token is malformed, or not signed with this key") from None
        if (claims := object_in(signed.payload)) is None:
            raise InvalidJwt("the content of the token is not a JSON object")
        return Jwt(header, claims)


class PrivateKey:
    def __init__(self, text: str, algorithm: str | None = None) -> None:
        """Read a PEM without a password, or a JWK as JSON; raise `InvalidKey`."""
        jwk = object_in(text) if text.lstrip().startswith("{") else text
        if jwk is None:
            raise InvalidKey("the private key is not valid JSON")
        self._key = _read(jwk, private=True)
        self.public: Final = PublicKey(self._key)
        self.algorithm: Final = algorithm or next(iter(self.public.algorithms), "")
        if self.algorithm not in self.public.algorithms:
            raise InvalidKey(f"the key cannot sign with {algorithm or 'its algorithm'}")

    @classmethod
    def generate(cls, algorithm: str = "ES256") -> "PrivateKey":
        curve = next((name for name, used in _OF_CURVES.items() if algorithm in used), None)
        if algorithm not in ALGORITHMS:
            raise InvalidKey(f"cannot generate a key for the algorithm {algorithm!r:.20}")
        kind = "RSA" if curve is None else "EC" if curve.startswith("P-") else "OKP"
        key = _joserfc("jwk").generate_key(kind, curve)
        return cls(key.as_pem(private=True).decode(), algorithm)

    def sign(self, claims: Mapping[str, Any], **header: Any) -> str:
        fields = {**header, "alg": self.algorithm}
        token: str = _joserfc("jwt").encode(fields, {**claims}, self._key, registry=_registry())
        return token


def public_key(key: Mapping[str, Any] | str) -> PublicKey:
    """Read a public key, a JWK or PEM; raise `InvalidKey`, also for a private key."""
    return PublicKey(_read(key, private=False))


def unverified_part(token: str, number: int) -> JSONObject | None:
    """Return the unverified header (0) or claims (1) of a JWT; None if it is not a JWT."""
    parts = token.split(".", 3)
    if len(parts) != 3 or len(parts[number]) > (_LARGEST_HEADER, _LARGEST_PAYLOAD)[number]:
        return None
    try:
        return object_in(base64url_bytes(parts[number]))
    except ValueError:
        return None


def read_header(token: str) -> JSONObject:
    """Return the unverified header of a JWT; raise `InvalidJwt`."""
    if (header := unverified_part(token, 0)) is None:
        raise InvalidJwt("the token is not a signed JWT")
    # No critical extensions are supported (RFC 7515, section 4.1.11; RFC 7797).
    if "crit" in header or "b64" in header or not isinstance(header.get("alg"), str):
        raise InvalidJwt("the header of the token requires an unsupported feature")
    return header


def _read(key: Mapping[str, Any] | str, *, private: bool) -> Any:
    read = _of_jwk(key) if isinstance(key, Mapping) else _of_pem(key)
    if not _algorithms(read):
        raise InvalidKey("the curve of the key is not supported")
    if read.key_type == "RSA" and not _SMALLEST_RSA <= read.raw_value.key_size <= _LARGEST_RSA:
        raise InvalidKey("the RSA key must have 2048 to 8192 bits")
    if read.is_private != private:
        wanted, got = ("private", "public") if private else ("public", "private")
        raise InvalidKey(f"expected a {wanted} key, got a {got} one")
    return read


def _of_jwk(jwk: Mapping[str, Any]) -> Any:
    kind, modulus = jwk.get("kty"), jwk.get("n", "")
    if not isinstance(kind, str) or kind not in _MEMBERS:
        raise InvalidKey("the type of the key is not supported")
    # joserfc only warns of small keys, and reads huge ones.
    if kind == "RSA" and not _SMALLEST_RSA <= len(str(modulus)) * 6 < _LARGEST_RSA + 8:
        raise InvalidKey("the RSA key must have 2048 to 8192 bits")
    jwks, errors = _joserfc("jwk"), _joserfc("errors")
    try:
        return jwks.import_key({**jwk})
    except (ValueError, TypeError, KeyError, errors.JoseError):
        raise InvalidKey("the JWK is malformed or not supported") from None


def _of_pem(text: str) -> Any:
    jwk, errors = _joserfc("jwk"), _joserfc("errors")
    for kind in (jwk.ECKey, jwk.OKPKey, jwk.RSAKey):
        try:
            return kind.import_key(text)
        except errors.InvalidKeyTypeError:
            continue
        except (ValueError, TypeError, errors.JoseError):
            break
    raise InvalidKey("the key must be PEM without a password, of type EC, OKP or RSA")


def _algorithms(key: Any) -> tuple[str, ...]:
    if key.key_type == "RSA":
        return _OF_RSA
    try:
        return _OF_CURVES.get(key.curve_name, ())
    except KeyError:
        return ()  # a curve that joserfc has no name for


@cache
def _registry() -> Any:
    registry = _joserfc("jws").JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
    registry.algorithms = {name: registry.algorithms[name] for name in ALGORITHMS}
    # The name is deprecated but still common; joserfc would warn for each token.
    registry.algorithms["EdDSA"] = copy(registry.algorithms["EdDSA"])
    registry.algorithms["EdDSA"].security_warning = None
    registry.max_header_length = _LARGEST_HEADER
    registry.max_payload_length = _LARGEST_PAYLOAD
    # In base64, of the largest key.
    registry.max_signature_length = _LARGEST_RSA // 6 + 1
    return registry


def check_algorithms(names: Collection[str]) -> None:
    """Raise `ValueError` for unknown ones, and `ImportError` if joserfc is not installed."""
    _joserfc("jwk")
    if isinstance(names, str) or not names or not ALGORITHMS.issuperset(names):
        raise ValueError(f"algorithms must be a list of {', '.join(sorted(ALGORITHMS))}")


def _joserfc(module: str) -> Any:
    return library(f"joserfc.{module}", "a signature")
