"""JWTs are signed and verified only by the chosen algorithms, and keys stay hidden."""

import json
import warnings
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from joserfc import jwk, jws
from mcp_protogen.runtime.features.auth import signing as module
from mcp_protogen.runtime.features.auth.signing import (
    ALGORITHMS,
    InvalidJwt,
    InvalidKey,
    PrivateKey,
    public_key,
    read_header,
)
from support.auth.pem import pem_of
from support.tables import case

# RSA keys are slow to make.
ONE_OF_EACH = ("ES256", "ES384", "ES512", "EdDSA", "Ed25519", "RS256", "PS256")
KEY = PrivateKey.generate()
CLAIMS = {"iss": "https://auth.example", "text": "ü"}

# RFC 7638, section 3.1, and RFC 8037, appendix A.3
PRINTED = (
    (
        {
            "kty": "RSA",
            "n": "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxu"
            "hDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN"
            "5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5"
            "hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBni"
            "Iqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
            "e": "AQAB",
            "alg": "RS256",
            "kid": "2011-04-29",
        },
        "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs",
    ),
    (
        {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
        "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    ),
)


def encode_part(part: object) -> str:
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def test_every_kind_of_key_signs_what_its_public_part_verifies() -> None:
    for algorithm in ONE_OF_EACH:
        with case(algorithm):
            key = PrivateKey.generate(algorithm)
            token = PrivateKey(pem_of(key), algorithm).sign(CLAIMS, typ="JWT", kid="a")
            assert public_key(key.public.jwk).verify(token, {algorithm}) == (
                {"typ": "JWT", "kid": "a", "alg": algorithm},
                CLAIMS,
            )


def test_the_first_algorithm_of_a_key_is_its_default() -> None:
    for algorithm in ("ES384", "EdDSA", "RS256"):
        with case(algorithm):
            assert PrivateKey(pem_of(PrivateKey.generate(algorithm))).algorithm == algorithm


def test_a_jwk_is_read_as_a_private_key_with_its_name_and_algorithm() -> None:
    own = jwk.ECKey.import_key(pem_of(KEY)).as_dict(private=True, kid="k1", use="sig")
    key = PrivateKey(json.dumps(own))
    assert (key.algorithm, key.public.kid, key.public.jwk) == ("ES256", "k1", KEY.public.jwk)
    assert key.public.verify(KEY.sign(CLAIMS), ALGORITHMS).claims == CLAIMS


def test_the_public_part_has_nothing_private_and_nothing_else() -> None:
    assert sorted(KEY.public.jwk) == ["crv", "kty", "x", "y"]


def test_thumbprints_are_those_of_the_standards() -> None:
    for members, thumbprint in PRINTED:
        with case(members["kty"]):
            assert public_key(members).thumbprint == thumbprint


def test_the_algorithm_of_a_jwk_is_the_only_one_it_is_used_with() -> None:
    assert public_key(PRINTED[0][0]).algorithms == ("RS256",)
    assert public_key({**KEY.public.jwk, "alg": "ES384"}).algorithms == ()


def test_keys_that_cannot_be_used_are_refused() -> None:
    small = {"kty": "RSA", "n": "A" * 171, "e": "AQAB"}
    unusable: dict[str, Mapping[str, Any] | str] = {
        "secret": {"kty": "oct", "k": "c2VjcmV0"},
        "private": json.loads(jwk_of(KEY)),
        "private PEM": pem_of(KEY),
        "small": small,
        "huge": {**small, "n": "A" * 2000},
        "number for a modulus": {**small, "n": 5},
        "no type": {},
        "type that is a list": {"kty": ["EC"]},
        "unknown type": {"kty": "PQ"},
        "unknown curve": {**KEY.public.jwk, "crv": "P-1"},
        "curve of Bitcoin": {**KEY.public.jwk, "crv": "secp256k1"},
        "exchange only": {"kty": "OKP", "crv": "X25519", "x": PRINTED[1][0]["x"]},
        "not on the curve": {**KEY.public.jwk, "x": KEY.public.jwk["y"]},
        "no base64": {**KEY.public.jwk, "x": "!"},
        "numbers": {**KEY.public.jwk, "x": 1},
        "use that is a list": {**KEY.public.jwk, "use": ["sig"], "key_ops": ["verify"]},
        "no PEM": "-----BEGIN PUBLIC KEY-----",
        "nothing": "",
    }
    for name, key in unusable.items():
        with case(name), pytest.raises(InvalidKey):
            public_key(key)


@pytest.mark.filterwarnings("ignore:Key size")
def test_a_key_of_rsa_that_is_weak_is_refused() -> None:
    weak = jwk.RSAKey.generate_key(1024)
    for key in (weak.as_pem().decode(), weak.as_dict(private=False)):
        with case(key), pytest.raises(InvalidKey, match="2048 to 8192 bits"):
            public_key(key)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InvalidKey):
            public_key(weak.as_dict(private=False))


def test_a_key_on_a_curve_without_a_name_is_refused() -> None:
    key = ec.generate_private_key(ec.BrainpoolP256R1()).public_key()
    pem = key.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with pytest.raises(InvalidKey, match="curve"):
        public_key(pem.decode())


def jwk_of(key: PrivateKey) -> str:
    return json.dumps(jwk.ECKey.import_key(pem_of(key)).as_dict(private=True))


def test_private_keys_that_cannot_be_used_are_refused_without_being_shown() -> None:
    good = json.loads(jwk_of(KEY))
    public = json.dumps(KEY.public.jwk)
    secret = good["d"]
    for text in (
        public,
        "{",
        "[]",
        "x",
        jwk_of(KEY).replace('"EC"', '"RSA"'),
        f'{{"d": "{secret}"}}',
    ):
        with case(text[:20]), pytest.raises(InvalidKey) as refused:
            PrivateKey(text)
        assert secret not in str(refused.value)
    for algorithm in ("RS256", "HS256", "none", "ES384"):
        with case(algorithm), pytest.raises(InvalidKey):
            PrivateKey(pem_of(KEY), algorithm)
    for algorithm in ("HS256", "none", ""):
        with case(algorithm), pytest.raises(InvalidKey):
            PrivateKey.generate(algorithm)


def test_a_private_key_does_not_show_itself() -> None:
    secret = json.loads(jwk_of(KEY))["d"]
    for text in (repr(KEY), str(KEY), repr(KEY.public)):
        assert secret not in text
        assert "PRIVATE" not in text


def test_tokens_that_are_not_signed_with_the_key_are_refused() -> None:
    good = KEY.sign(CLAIMS)
    header, claims, signature = good.split(".")
    none = encode_part({"alg": "none"})
    refused = {
        "another key": PrivateKey.generate().sign(CLAIMS),
        "another algorithm": PrivateKey.generate("EdDSA").sign(CLAIMS),
        "other claims": f"{header}.{encode_part({})}.{signature}",
        "no signature": f"{header}.{claims}.",
        "no algorithm": f"{none}.{claims}.",
        "no algorithm, signed": f"{none}.{claims}.{signature}",
        "shared secret": f'{encode_part({"alg": "HS256"})}.{claims}.{signature}',
        "critical": KEY.sign(CLAIMS, crit=["b64"], b64=True),
        "unencoded": f'{encode_part({"alg": "ES256", "b64": False})}.{claims}.{signature}',
        "list for an algorithm": f'{encode_part({"alg": ["ES256"]})}.{claims}.{signature}',
        "no object": f"{encode_part([])}.{claims}.{signature}",
        "deep": f'{encode_part(b"[" * 6000)}.{claims}.{signature}',
        "large header": f'{encode_part({"alg": "ES256", "x": "y" * 9000})}.{claims}.{signature}',
        "encrypted": f"{good}.a.b",
        "one part": header,
        "empty": "",
        "dots": "..",
        "no ASCII": f"é.{claims}.{signature}",
        "line break": f"{good}\n",
        "padding": f"{header}=.{claims}.{signature}",
    }
    assert KEY.public.verify(good, {"ES256"}).claims == CLAIMS
    for name, token in refused.items():
        with case(name), pytest.raises(InvalidJwt) as error:
            KEY.public.verify(token, ALGORITHMS)
        assert not claims or claims not in str(error.value)


def test_claims_that_are_no_json_object_are_refused() -> None:
    key = jwk.ECKey.import_key(pem_of(KEY))
    for payload in (b"[]", b'"a"', b"", b'{"exp": NaN}', b'{"exp": Infinity}', b"[" * 5000):
        token = jws.serialize_compact({"alg": "ES256"}, payload, key)
        with case(payload[:20]), pytest.raises(InvalidJwt):
            KEY.public.verify(token, {"ES256"})


def test_an_algorithm_that_is_not_accepted_is_refused_though_the_signature_is_right() -> None:
    with pytest.raises(InvalidJwt):
        KEY.public.verify(KEY.sign(CLAIMS), {"RS256"})
    with pytest.raises(InvalidJwt):
        KEY.public.verify(KEY.sign(CLAIMS), ())


def test_a_header_is_not_read_of_what_is_too_large_or_has_other_parts() -> None:
    header = encode_part({"alg": "ES256"})
    large = encode_part({"alg": "ES256", "x": "y" * 9000})
    for token in (header, f"{header}.a", f"{header}.a.b.c", f"{header}.a.b.c.d", f"{large}.a.b"):
        with case(token[-20:]), pytest.raises(InvalidJwt):
            read_header(token)


def part_of(size: int, members: Mapping[str, object]) -> str:
    """Return a JSON object whose base64 has this length."""
    text = json.dumps(members)[:-1] + ', "x": "'
    return encode_part((text + "y" * (size * 3 // 4 - len(text) - 2) + '"}').encode())


def test_parts_of_a_token_are_read_up_to_their_limits() -> None:
    largest = part_of(8 * 1024, {"alg": "ES256"})
    assert len(largest) == 8 * 1024
    assert read_header(f"{largest}.a.b")["alg"] == "ES256"
    with pytest.raises(InvalidJwt, match="is not a signed JWT"):
        read_header(f"{part_of(8 * 1024 + 4, {'alg': 'ES256'})}.a.b")
    text = "x" * (64 * 1024 * 3 // 4 - len('{"x":""}'))
    token = KEY.sign({"x": text})
    assert len(token.split(".")[1]) == 64 * 1024
    assert KEY.public.verify(token, {"ES256"}).claims == {"x": text}
    with pytest.raises(InvalidJwt):
        KEY.public.verify(KEY.sign({"x": f"{text}y"}), {"ES256"})
    # A key of 8,192 bits is too slow to make.
    registry: Any = vars(module)["_registry"]()
    assert registry.max_signature_length == len(encode_part(bytes(8192 // 8)))


def test_a_header_is_read_without_a_key() -> None:
    assert read_header(KEY.sign(CLAIMS, kid="k")) == {"alg": "ES256", "kid": "k", "typ": "JWT"}
