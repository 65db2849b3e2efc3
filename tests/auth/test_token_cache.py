"""Verified tokens are cached, for a limited time."""

from typing import Any

import pytest
from mcp_protogen.runtime.core.http_request import Principal
from mcp_protogen.runtime.features.auth.server.cache import TokenCache
from mcp_protogen.runtime.features.auth.server.jwt import JwtVerifier
from mcp_protogen.runtime.features.auth.server.keys import StaticKeys
from mcp_protogen.runtime.http.server.authentication import TokenRefused, VerifierUnavailable
from support.auth.issuing import ISSUER, KEY, RESOURCE, Clock, Issuer, with_other_signature
from support.tables import case

ADA = Principal("ada")


class Verify:
    """A verifier of tokens that begin with `good`, with a record of them."""

    def __init__(self, clock: Clock, lifetime: float | None = None) -> None:
        self.asked: list[str] = []
        self.ends = None if lifetime is None else clock() + lifetime
        self.failure: Exception | None = None

    async def __call__(self, token: str) -> Principal | None:
        self.asked.append(token)
        if self.failure is not None:
            raise self.failure
        return Principal("ada", expires_at=self.ends) if token.startswith("good") else None


async def outcome(cache: TokenCache, verify: Verify, token: str) -> str:
    """Return the principal of a token, or why it is refused."""
    try:
        return (await cache.verify(token, verify)).id
    except TokenRefused as refusal:
        return refusal.description


async def test_a_token_is_verified_once_in_its_lifetime() -> None:
    for cached, ends, again in ((300.0, None, 300), (300.0, 100.0, 100), (300.0, 500.0, 300)):
        with case((cached, ends)):
            clock = Clock()
            cache, verify = TokenCache(lifetime=cached, clock=clock), Verify(clock, ends)
            for _ in range(3):
                assert await outcome(cache, verify, "good") == "ada"
            clock.now += again - 1
            assert await outcome(cache, verify, "good") == "ada"
            assert verify.asked == ["good"]
            clock.now += 1
            assert await outcome(cache, verify, "good") == "ada"
            assert verify.asked == ["good", "good"]


async def test_a_token_that_was_refused_is_refused_again_for_a_short_time() -> None:
    clock = Clock()
    cache, verify = TokenCache(clock=clock), Verify(clock)
    for _ in range(3):
        assert await outcome(cache, verify, "bad") == "The token is not valid"
    assert verify.asked == ["bad"]
    clock.now += 10
    assert await outcome(cache, verify, "bad") == "The token is not valid"
    assert verify.asked == ["bad", "bad"]


async def test_that_tokens_could_not_be_verified_is_not_kept() -> None:
    clock = Clock()
    cache, verify = TokenCache(clock=clock), Verify(clock)
    for failure in (VerifierUnavailable("away"), OSError("away")):
        verify.failure = failure
        with pytest.raises(type(failure)):
            await cache.verify("good", verify)
    verify.failure = None
    assert await outcome(cache, verify, "good") == "ada"


async def test_bad_tokens_do_not_make_good_ones_be_verified_anew() -> None:
    clock = Clock()
    cache, verify = TokenCache(max_tokens=2, clock=clock), Verify(clock)
    await outcome(cache, verify, "good")
    for number in range(100):
        await outcome(cache, verify, f"bad {number}")
    verify.asked.clear()
    assert await outcome(cache, verify, "good") == "ada"
    assert not verify.asked


async def test_those_that_were_not_used_for_longest_make_room() -> None:
    clock = Clock()
    cache, verify = TokenCache(max_tokens=2, clock=clock), Verify(clock)
    for token in ("good 1", "good 2", "good 1", "good 3"):
        await outcome(cache, verify, token)
    verify.asked.clear()
    for token in ("good 1", "good 3", "good 2"):
        await outcome(cache, verify, token)
    assert verify.asked == ["good 2"]


async def test_a_token_can_be_revoked_until_it_ends() -> None:
    clock = Clock()
    cache, verify = TokenCache(clock=clock), Verify(clock)
    await outcome(cache, verify, "good")
    cache.revoke("good", until=clock() + 100)
    cache.revoke("good too")
    for token in ("good", "good too"):
        assert await outcome(cache, verify, token) == "The token was revoked"
    cache.clear()
    assert await outcome(cache, verify, "good") == "The token was revoked"
    assert verify.asked == ["good"]
    # It may be valid for a while after its expiry, as clocks differ.
    clock.now += 100
    assert await outcome(cache, verify, "good") == "The token was revoked"
    clock.now += 300
    assert await outcome(cache, verify, "good") == "ada"
    assert await outcome(cache, verify, "good too") == "The token was revoked"


async def test_a_revoked_token_is_not_good_again_with_another_signature() -> None:
    clock, issuer = Clock(), Issuer()
    cache = TokenCache(clock=clock)
    keys = StaticKeys({**KEY.public.jwk, "kid": "first"})
    verify = JwtVerifier(issuer=ISSUER, audience=RESOURCE, keys=keys, cache=cache, clock=clock)
    token = issuer.token()
    other = with_other_signature(token)
    assert (await verify(other)).id == f"{ISSUER}|ada"
    cache.revoke(token)
    for revoked in (token, other):
        with pytest.raises(TokenRefused, match="revoked"):
            await verify(revoked)
    assert (await verify(issuer.token(sub="ben"))).id == f"{ISSUER}|ben"


async def test_verifiers_with_one_cache_judge_for_themselves() -> None:
    clock, issuer = Clock(), Issuer()
    cache = TokenCache(clock=clock)
    keys = StaticKeys({**KEY.public.jwk, "kid": "first"})
    ours, theirs = (
        JwtVerifier(issuer=ISSUER, audience=audience, keys=keys, cache=cache, clock=clock)
        for audience in (RESOURCE, "https://other.example/mcp")
    )
    token, elsewhere = issuer.token(), issuer.token(aud="https://other.example/mcp")
    for _ in range(2):
        assert (await ours(token)).id == (await theirs(elsewhere)).id
        for verify, wrong in ((theirs, token), (ours, elsewhere)):
            with pytest.raises(TokenRefused, match="another audience"):
                await verify(wrong)


async def test_a_token_that_is_revoked_while_it_is_verified_is_refused() -> None:
    cache = TokenCache()

    async def verify(token: str) -> Principal:
        cache.revoke(token)
        return ADA

    with pytest.raises(TokenRefused, match="revoked"):
        await cache.verify("good", verify)


async def test_without_a_lifetime_nothing_is_kept() -> None:
    clock = Clock()
    cache, verify = TokenCache(lifetime=0, refused_lifetime=0, clock=clock), Verify(clock)
    for token in ("good", "good", "bad", "bad"):
        await outcome(cache, verify, token)
    assert verify.asked == ["good", "good", "bad", "bad"]


async def test_tokens_are_verified_again_after_it_was_cleared() -> None:
    clock = Clock()
    cache, verify = TokenCache(clock=clock), Verify(clock)
    for token in ("good", "bad"):
        await outcome(cache, verify, token)
    cache.clear()
    for token in ("good", "bad"):
        await outcome(cache, verify, token)
    assert verify.asked == ["good", "bad"] * 2


@pytest.mark.shows("TK-07")
async def test_no_token_is_kept() -> None:
    clock = Clock()
    cache, verify = TokenCache(clock=clock), Verify(clock)
    for token in ("good secret", "bad secret"):
        await outcome(cache, verify, token)
    cache.revoke("revoked secret")
    kept: list[Any] = [getattr(cache, name) for name in ("_verified", "_refused", "_revoked")]
    assert all(len(principals) == 1 for principals in kept)
    shown: list[dict[str, Any]] = [vars(principals) for principals in kept]
    assert "secret" not in repr(shown)


def test_a_cache_has_room_and_no_negative_lifetime() -> None:
    wrongs: list[dict[str, Any]] = [{"max_tokens": 0}, {"lifetime": -1}, {"refused_lifetime": -1}]
    for options in wrongs:
        with case(options), pytest.raises(ValueError, match=r"max_entries|negative"):
            TokenCache(**options)
