"""Proofs of possession: their content, the storage of nonces, and the secrecy of the key."""

from base64 import urlsafe_b64encode
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.signing import Jwt, PrivateKey, public_key, read_header
from support.auth.pem import pem_of
from support.tables import case

SERVER = "https://mcp.example/mcp"
NOW = 1_800_000_000.9


def signer(**options: Any) -> DPoP:
    ids: Iterator[int] = count(1)
    return DPoP(clock=lambda: NOW, new_id=lambda: f"id-{next(ids)}", **options)


def read(proof: str) -> Jwt:
    """Return the content of a proof if the key in its header has signed it."""
    header = read_header(proof)
    return public_key(header["jwk"]).verify(proof, {header["alg"]})


@pytest.mark.shows("DP-01", "DP-06")
def test_a_proof_is_for_one_method_and_url_and_shows_the_public_key_only() -> None:
    dpop = signer()
    header, claims = read(dpop.proof("POST", f"{SERVER}?a=b#c"))
    assert (header["typ"], header["alg"]) == ("dpop+jwt", "ES256")
    assert sorted(header["jwk"]) == ["crv", "kty", "x", "y"]
    assert claims == {"jti": "id-1", "htm": "POST", "htu": SERVER, "iat": int(NOW)}
    assert public_key(header["jwk"]).thumbprint == dpop.thumbprint


@pytest.mark.shows("DP-02")
def test_a_proof_with_a_token_has_its_digest_and_an_id_of_its_own() -> None:
    dpop = signer()
    first, second = (read(dpop.proof("GET", SERVER, token="abc")).claims for _ in range(2))
    digest = urlsafe_b64encode(sha256(b"abc").digest()).rstrip(b"=").decode()
    assert [first["ath"], second["ath"]] == [digest, digest]
    assert [first["jti"], second["jti"]] == ["id-1", "id-2"]


def test_ids_are_unguessable_by_default() -> None:
    ids = {read(DPoP().proof("GET", SERVER)).claims["jti"] for _ in range(3)}
    assert len(ids) == 3
    assert min(map(len, ids)) >= 40


@pytest.mark.shows("DP-03")
def test_the_last_nonce_of_an_origin_is_in_proofs_for_it_and_for_no_other() -> None:
    dpop = signer()
    assert dpop.take_nonce(f"{SERVER}/token?x", {"dpop-nonce": "n1"})
    assert not dpop.take_nonce(SERVER, {}), "there is none"
    assert dpop.take_nonce("HTTPS://MCP.example/", {"dpop-nonce": "n2"})
    nonces = [
        read(dpop.proof("GET", url)).claims.get("nonce")
        for url in (SERVER, "https://mcp.example", "https://auth.example", "http://mcp.example")
    ]
    assert nonces == ["n2", "n2", None, None]


def test_invalid_nonce_is_ignored() -> None:
    dpop = signer()
    for nonce in ("", "a b", 'a"b', "a\\b", "ä", "a\nb", "x" * 5000):
        with case(nonce[:10]):
            assert not dpop.take_nonce(SERVER, {"dpop-nonce": nonce})
    assert "nonce" not in read(dpop.proof("GET", SERVER)).claims


def test_the_memory_of_nonces_is_bounded_and_forgets_the_oldest() -> None:
    dpop = signer()
    for number in range(150):
        dpop.take_nonce(f"https://a{number}.example", {"dpop-nonce": str(number)})
    kept = [
        "nonce" in read(dpop.proof("GET", f"https://a{number}.example")).claims
        for number in (0, 49, 50, 149)
    ]
    assert kept == [False, False, True, True]


def test_a_signer_shows_neither_key_nor_nonces() -> None:
    pem = pem_of(PrivateKey.generate())
    dpop = DPoP(pem)
    dpop.take_nonce(SERVER, {"dpop-nonce": "secret-nonce"})
    assert repr(dpop) == "DPoP(algorithm='ES256')"
    assert str(dpop) == repr(dpop)
