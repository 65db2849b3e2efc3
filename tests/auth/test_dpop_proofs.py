"""A client must prove the key of its token (RFC 9449, section 4.3)."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.core.http_request import Principal
from mcp_protogen.runtime.features.auth.server.dpop_proofs import DPoPProofs, comparable_url
from mcp_protogen.runtime.features.auth.server.replays import MemoryReplays
from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.http.server.authentication import ProofRequest, TokenRefused
from support.auth.issuing import KEY, RESOURCE, Clock, forge_token, proof
from support.tables import case

TOKEN = "a" * 40
OTHER = PrivateKey.generate()
BOUND = Principal("ada", claims={"cnf": {"jkt": KEY.public.thumbprint}})


def request(*proofs: str, **changed: Any) -> ProofRequest:
    """Return a POST with proofs, and a token bound to KEY."""
    given: dict[str, Any] = {"method": "POST", "url": RESOURCE, "token": TOKEN, "principal": BOUND}
    return ProofRequest(proofs=proofs, **{**given, **changed})


def make_proof(clock: Clock, key: PrivateKey = KEY, **changed: Any) -> str:
    """A proof for that request; see `support.auth.issuing.proof`."""
    given: dict[str, Any] = {"method": "POST", "url": RESOURCE, "token": TOKEN, "now": clock()}
    return proof(key, **{**given, **changed})


async def refusal(proofs: DPoPProofs, asked: ProofRequest) -> tuple[str, str]:
    with pytest.raises(TokenRefused) as caught:
        await proofs.check(asked)
    assert caught.value.description.isascii() and not {'"', "\\"} & set(caught.value.description)
    return caught.value.error, caught.value.description


NOT_ONE, NOT_DPOP = "A request needs one header field DPoP", "The proof is not a DPoP proof"
UNSIGNED = "The proof is malformed, or not signed with its key"
NO_ID, NO_TIME = "The proof has no valid jti", "The proof has no valid iat"
METHOD, URL, HASH = (f"The proof is for another {what}" for what in ("method", "URL", "token"))
TIME = "The time of the proof is too far from the server's"
ALGORITHM = "The algorithm of the proof is not accepted"
JWK = KEY.public.jwk


@pytest.mark.shows("DP-04")
async def test_other_proofs_are_refused() -> None:
    clock = Clock()
    proofs = DPoPProofs(algorithms=["ES256"], clock=clock)
    now, good = clock(), make_proof(clock)
    head, body, signature = good.split(".")
    claims = {"jti": "1", "htm": "POST", "htu": RESOURCE, "iat": now}
    table: list[tuple[list[str], str]] = [
        ([], NOT_ONE),
        ([good, make_proof(clock)], NOT_ONE),
        ([f"{good}, {good}"], UNSIGNED),
        ([""], UNSIGNED),
        (["proof"], UNSIGNED),
        ([f"{head}.{body}."], UNSIGNED),
        ([f"{head}.{body}A.{signature}"], UNSIGNED),
        (["A" * 10_000], "The proof is too long"),
        ([make_proof(clock, head_typ="JWT")], NOT_DPOP),
        ([make_proof(clock, head_typ="DPOP+JWT")], NOT_DPOP),
        ([make_proof(clock, head_jwk=None)], NOT_DPOP),
        ([forge_token({"typ": "dpop+jwt", "alg": "none", "jwk": JWK}, claims)], ALGORITHM),
        ([forge_token({"typ": "dpop+jwt", "alg": "HS256", "jwk": JWK}, claims)], ALGORITHM),
        ([forge_token({"typ": "dpop+jwt", "alg": "ES256", "jwk": "key"}, claims)], NOT_DPOP),
        ([forge_token({"typ": "dpop+jwt", "alg": "ES256", "jwk": {}}, claims)], UNSIGNED),
        (
            [forge_token({"typ": "dpop+jwt", "alg": "ES256", "jwk": JWK}, claims, b"a" * 64)],
            UNSIGNED,
        ),
        ([make_proof(clock, PrivateKey.generate("ES384"))], ALGORITHM),
        ([make_proof(clock, OTHER, head_jwk=JWK)], UNSIGNED),
        ([make_proof(clock, head_jwk={**JWK, "d": "AAAA"})], UNSIGNED),
        ([make_proof(clock, head_jwk={"kty": "oct", "k": "c2VjcmV0"})], UNSIGNED),
        ([make_proof(clock, jti=None)], NO_ID),
        ([make_proof(clock, jti="")], NO_ID),
        ([make_proof(clock, jti=1)], NO_ID),
        ([make_proof(clock, jti="i" * 257)], NO_ID),
        ([make_proof(clock, iat=None)], NO_TIME),
        ([make_proof(clock, iat=str(now))], NO_TIME),
        ([make_proof(clock, iat=True)], NO_TIME),
        ([make_proof(clock, iat=10**400)], NO_TIME),
        ([make_proof(clock, iat=now - 301)], TIME),
        ([make_proof(clock, iat=now + 301)], TIME),
        ([make_proof(clock, htm=None)], METHOD),
        ([make_proof(clock, htm="GET")], METHOD),
        ([make_proof(clock, htm="post")], METHOD),
        ([make_proof(clock, htu=None)], URL),
        ([make_proof(clock, htu=[RESOURCE])], URL),
        ([make_proof(clock, htu="https://other.example/mcp")], URL),
        ([make_proof(clock, ath=None)], HASH),
        ([make_proof(clock, ath=1)], HASH),
        ([make_proof(clock, token="b" * 40)], HASH),
        ([make_proof(clock, ath=f"{'A' * 42}=")], HASH),
    ]
    for given, why in table:
        with case((why, [proof[:200] for proof in given])):
            assert await refusal(proofs, request(*given)) == ("invalid_dpop_proof", why)


@pytest.mark.shows("DP-04")
async def test_the_time_of_a_proof_may_differ_by_five_minutes_either_way() -> None:
    clock = Clock()
    proofs = DPoPProofs(clock=clock)
    for seconds in (-300, -1, 0, 1, 300):
        with case(seconds):
            await proofs.check(request(make_proof(clock, iat=clock() + seconds)))


@pytest.mark.shows("DP-04")
async def test_a_proof_of_another_key_than_that_of_the_token_is_refused() -> None:
    clock = Clock()
    proofs = DPoPProofs(clock=clock)
    asked = request(make_proof(clock, OTHER))
    assert await refusal(proofs, asked) == ("invalid_token", "The token is bound to another key")
    claims: list[dict[str, Any]] = [
        {},
        {"cnf": None},
        {"cnf": "jkt"},
        {"cnf": {}},
        {"cnf": {"jkt": 1}},
        {"cnf": {"x5t#S256": KEY.public.thumbprint}},
    ]
    for unbound in claims:
        with case(unbound):
            asked = request(make_proof(clock), principal=Principal("ada", claims=unbound))
            found = await refusal(proofs, asked)
            assert found == ("invalid_token", "The token is not bound to a key")


@pytest.mark.shows("DP-04")
def test_urls_are_compared_without_query_and_as_they_are_meant() -> None:
    for left, right, same in (
        ("https://a.example/mcp", "https://a.example/mcp", True),
        ("https://a.example/mcp", "https://a.example/mcp?a=b#c", True),
        ("https://a.example/mcp", "HTTPS://A.Example:443/mcp", True),
        ("http://a.example", "http://a.example:80/", True),
        ("https://a.example/%6Dcp", "https://a.example/mcp", True),
        ("https://a.example/%c3%bc", "https://a.example/%C3%BC", True),
        ("https://a.example/a%2Fb", "https://a.example/a/b", False),
        ("https://a.example/mcp", "https://a.example/mcp/", False),
        ("https://a.example/mcp", "https://a.example/MCP", False),
        ("https://a.example/mcp", "http://a.example/mcp", False),
        ("https://a.example/mcp", "https://a.example:8443/mcp", False),
        ("https://a.example/mcp", "https://b.example/mcp", False),
        ("https://[::1]/mcp", "https://[::1]:443/mcp", True),
    ):
        with case((left, right)):
            assert (comparable_url(left) == comparable_url(right)) is same
            assert comparable_url(left) is not None
    for wrong in (
        *("", "mcp", "//a.example/mcp", "ftp://a.example", "https://", "https://a:b/", 1),
        *("https://a.example:0/mcp", "https://a.example@b.example/mcp", "https://a.example/ "),
    ):
        with case(wrong):
            assert comparable_url(wrong) is None


async def test_a_server_that_does_not_know_its_url_accepts_no_proof() -> None:
    clock = Clock()
    asked = request(make_proof(clock, htu="mcp"), url="mcp")
    assert await refusal(DPoPProofs(clock=clock), asked) == ("invalid_dpop_proof", URL)


@pytest.mark.shows("DP-04")
async def test_a_proof_can_be_asked_to_have_a_nonce_of_the_server() -> None:
    clock = Clock()
    keys = [b"k" * 16]
    proofs = DPoPProofs(nonce_lifetime=60, nonce_keys=keys, clock=clock)
    other_worker = DPoPProofs(nonce_lifetime=60, nonce_keys=[b"n" * 16, *keys], clock=clock)
    stranger = DPoPProofs(nonce_lifetime=60, clock=clock)
    nonce = proofs.nonce()
    assert (
        nonce is not None and nonce.isascii() and nonce.replace("-", "").replace("_", "").isalnum()
    )
    asked = request(make_proof(clock, nonce=nonce))
    await proofs.check(asked)
    await other_worker.check(asked)
    wanted = ("use_dpop_nonce", "The proof needs a nonce of this server")
    assert await refusal(stranger, asked) == wanted
    for wrong in (None, "", "nonce", 1, [nonce], f"{nonce}A", nonce[:-1], stranger.nonce()):
        with case(wrong):
            assert await refusal(proofs, request(make_proof(clock, nonce=wrong))) == wanted
    clock.now += 61
    assert await refusal(proofs, request(make_proof(clock, nonce=nonce))) == wanted
    assert DPoPProofs().nonce() is None


async def test_a_proof_is_accepted_once_where_that_is_remembered() -> None:
    clock = Clock()
    proofs = DPoPProofs(replays=MemoryReplays(clock=clock), clock=clock)
    asked = request(make_proof(clock, jti="1", iat=clock() + 300))
    await proofs.check(asked)
    again = ("invalid_dpop_proof", "The proof was used before")
    for seconds in (0, 300, 299):
        clock.now += seconds
        assert await refusal(proofs, asked) == again
    await proofs.check(request(make_proof(clock, jti="2")))
    bound = replace(BOUND, claims={"cnf": {"jkt": OTHER.public.thumbprint}})
    await proofs.check(request(make_proof(clock, OTHER, jti="1"), principal=bound))


async def test_a_proof_that_is_refused_is_not_remembered() -> None:
    clock = Clock()
    proofs = DPoPProofs(replays=MemoryReplays(clock=clock), clock=clock)
    good = make_proof(clock, jti="1")
    for wrong in (request(good, method="GET"), request(good, token="b" * 40)):
        await refusal(proofs, wrong)
    await proofs.check(request(good))


def test_options_that_are_not_safe_are_refused() -> None:
    table: list[tuple[dict[str, Any], str]] = [
        ({"algorithms": ["none"]}, "algorithms"),
        ({"algorithms": ["HS256"]}, "algorithms"),
        ({"algorithms": []}, "algorithms"),
        ({"algorithms": "ES256"}, "algorithms"),
        ({"max_age": 0}, "max_age"),
        ({"nonce_lifetime": 0}, "nonce_lifetime"),
        ({"nonce_keys": [b"k" * 16]}, "nonce_keys"),
        ({"nonce_lifetime": 60, "nonce_keys": [b"short"]}, "16 bytes"),
    ]
    for wrong, why in table:
        with case(wrong), pytest.raises(ValueError, match=why):
            DPoPProofs(**wrong)
