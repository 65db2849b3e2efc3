"""Malformed tokens, proofs, keys and answers are refused, and nothing else fails."""

from collections.abc import Mapping
from json import dumps, loads
from typing import Any

import pytest
from mcp_protogen.runtime.core.http_request import Principal
from mcp_protogen.runtime.features.auth.errors import InvalidMetadata
from mcp_protogen.runtime.features.auth.server.cache import TokenCache
from mcp_protogen.runtime.features.auth.server.dpop_proofs import DPoPProofs
from mcp_protogen.runtime.features.auth.server.issuers import Issuers
from mcp_protogen.runtime.features.auth.server.jwt import JwtVerifier
from mcp_protogen.runtime.features.auth.server.keys import StaticKeys, keys_of, read_object
from mcp_protogen.runtime.features.auth.steps import Fetched
from mcp_protogen.runtime.http.server.authentication import ProofRequest, TokenRefused
from support import tables
from support.auth.issuing import ISSUER, KEY, RESOURCE, Clock, Issuer, forge_token, proof
from support.fuzzing import bent, bent_documents
from support.tables import case

CLOCK = Clock()
JWK: dict[str, Any] = {**KEY.public.jwk, "kid": "first"}
CLAIMS = {"iss": ISSUER, "sub": "ada", "aud": RESOURCE, "exp": CLOCK() + 100, "scope": "a b"}
# Parts of a token are also bent before they are encoded.
PIECES = (
    *(".", "..", "=", "-", "_", "+", "/", " ", "\n", "\0", "ü", "eyJ", "e30", "W10", "bnVsbA"),
    *("eyJhbGciOiJub25lIn0", "eyJhbGciOiJFUzI1NiJ9", "IjEi", "A" * 100),
)


def verifier() -> JwtVerifier:
    cache = TokenCache(lifetime=0, refused_lifetime=0)
    keys = StaticKeys(JWK)
    return JwtVerifier(issuer=ISSUER, audience=RESOURCE, keys=keys, cache=cache, clock=CLOCK)


def bound(thumbprint: object = KEY.public.thumbprint) -> Principal:
    return Principal("ada", claims={"cnf": {"jkt": thumbprint}})


def proof_request(shown: str) -> ProofRequest:
    return ProofRequest(
        proofs=(shown,), method="POST", url=RESOURCE, token="t" * 20, principal=bound()
    )


def objects(seed: Mapping[str, Any], amount: int) -> list[dict[str, Any]]:
    """Yield bent JSON objects."""
    found: list[dict[str, Any]] = []
    for body in bent_documents([dict(seed)], amount):
        try:
            value = loads(body)
            # Halves of surrogate pairs, which foreign JSON cannot have either.
            dumps(value, ensure_ascii=False).encode()
        except ValueError:
            continue
        if isinstance(value, dict):
            found.append(value)  # pyright: ignore[reportUnknownArgumentType]
    return found


@pytest.mark.shows("TK-03")
async def test_tokens_that_are_bent_are_refused() -> None:
    good = [Issuer(clock=CLOCK).token(), KEY.sign(CLAIMS, kid="first")]
    seeds = [
        *good,
        forge_token({"alg": "ES256"}, CLAIMS, bytes(64)),
        proof(KEY, "POST", "x", "t", 1),
    ]
    verify = verifier()
    several = Issuers(verify)
    for token in bent(seeds, PIECES, tables.count(3_000, 200_000)):
        for check in (verify, several):
            with case(token):
                try:
                    await check(token)
                except TokenRefused as refusal:
                    assert refusal.error == "invalid_token"
                else:
                    assert token in good


@pytest.mark.shows("TK-03", "TK-04")
async def test_claims_that_are_bent_are_accepted_only_if_they_are_still_right() -> None:
    verify, accepted = verifier(), 0
    for claims in objects(CLAIMS, tables.count(1_500, 50_000)):
        with case(claims):
            try:
                principal = await verify(KEY.sign(claims, kid="first"))
            except TokenRefused:
                continue
            accepted += 1
            audience: Any = claims["aud"]
            assert claims["iss"] == ISSUER and RESOURCE in [audience, *audience]
            assert claims["exp"] + verify.leeway > CLOCK()
            assert principal.id == f"{ISSUER}|{claims['sub']}" and claims["sub"]
    assert accepted


async def test_headers_that_are_bent_are_refused() -> None:
    verify = verifier()
    proofs = DPoPProofs(clock=CLOCK)
    seed: dict[str, Any] = {"alg": "ES256", "kid": "first", "typ": "at+jwt", "jwk": JWK}
    for header in objects(seed, tables.count(3_000, 100_000)):
        with case(header):
            with pytest.raises(TokenRefused):
                await verify(forge_token(header, CLAIMS, bytes(64)))
            with pytest.raises(TokenRefused):
                await proofs.check(
                    proof_request(forge_token({**header, "typ": "dpop+jwt"}, {}, bytes(64)))
                )


@pytest.mark.shows("DP-04")
async def test_proofs_that_are_bent_are_refused() -> None:
    proofs = DPoPProofs(clock=CLOCK)
    good = proof(KEY, "POST", RESOURCE, "t" * 20, CLOCK())
    await proofs.check(proof_request(good))
    seeds = [good, forge_token({"typ": "dpop+jwt", "alg": "ES256", "jwk": JWK}, {}, bytes(64))]
    for shown in bent(seeds, PIECES, tables.count(3_000, 200_000)):
        with case(shown):
            try:
                await proofs.check(proof_request(shown))
            except TokenRefused as refusal:
                assert refusal.error in ("invalid_dpop_proof", "invalid_token")
            else:
                assert shown == good


def test_sets_of_keys_that_are_bent_give_keys_or_none() -> None:
    rsa: dict[str, Any] = {
        "kty": "RSA",
        "kid": "r",
        "e": "AQAB",
        "n": "w" * 342,
        "use": "sig",
        "key_ops": [],
    }
    okp: dict[str, Any] = {
        "kty": "OKP",
        "crv": "Ed25519",
        "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    }
    for seed in (JWK, rsa, okp):
        for jwk in objects(seed, tables.count(1_000, 50_000)):
            with case(jwk):
                assert len(keys_of({"keys": [jwk]})) <= 1


def test_answers_that_are_bent_are_objects_or_refused() -> None:
    for body in bent_documents([{"keys": [JWK]}, CLAIMS], tables.count(2_000, 200_000)):
        with case(body):
            try:
                found: object = read_object(Fetched(status=200, body=body))
            except InvalidMetadata:
                continue
            assert isinstance(found, dict)
