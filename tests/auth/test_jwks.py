"""The keys of an issuer are found, cached, and read again when they change."""

import asyncio
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.errors import Unreachable
from mcp_protogen.runtime.features.auth.server.keys import JwksUri, keys_of
from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.features.auth.steps import Fetched
from mcp_protogen.runtime.http.server.authentication import VerifierUnavailable
from support.auth.issuing import ISSUER, KEY, Clock, Issuer
from support.auth.playing import document
from support.tables import case

DAY = 24 * 3600.0
JWKS = f"{ISSUER}/jwks_uri"
WELL_KNOWN = "/.well-known/oauth-authorization-server"


def keys_at(issuer: Issuer, **options: Any) -> JwksUri:
    return JwksUri(JWKS, fetch=issuer.fetch, clock=issuer.clock, **options)


async def kids(keys: JwksUri, kid: str | None = "first") -> list[str | None]:
    return [key.kid for key in await keys.find(kid, "ES256")]


async def wait_for_tasks() -> None:
    """Let background requests end."""
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)


async def test_keys_are_read_once_for_all_who_need_them() -> None:
    issuer = Issuer()
    keys = keys_at(issuer)
    found = await asyncio.gather(*(kids(keys) for _ in range(50)))
    assert found == [["first"]] * 50
    assert issuer.count_requests_for("jwks_uri") == 1


async def test_a_request_that_is_given_up_does_not_keep_others_from_the_keys() -> None:
    issuer = Issuer(gate=asyncio.Event())
    keys = keys_at(issuer)
    first, second = (asyncio.create_task(kids(keys)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    assert issuer.gate is not None
    issuer.gate.set()
    assert await second == ["first"]
    assert first.cancelled() and issuer.count_requests_for("jwks_uri") == 1


@pytest.mark.skips_time
async def test_a_request_that_never_ends_is_given_up() -> None:
    issuer = Issuer(gate=asyncio.Event())
    keys = keys_at(issuer)
    begun = asyncio.get_running_loop().time()
    with pytest.raises(VerifierUnavailable):
        await kids(keys)
    assert asyncio.get_running_loop().time() - begun == pytest.approx(20, abs=0.1)
    issuer.gate = None
    issuer.clock.now += 5
    assert await kids(keys) == ["first"]


async def test_metadata_of_another_issuer_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    for stated in (f"{ISSUER}/", "https://evil.example", None):
        with case(stated):
            issuer = Issuer()
            said = {"issuer": stated, "jwks_uri": JWKS}
            issuer.answers[f"{ISSUER}{WELL_KNOWN}"] = document(said)
            keys = JwksUri.of_issuer(ISSUER, fetch=issuer.fetch, clock=issuer.clock)
            with pytest.raises(VerifierUnavailable):
                await kids(keys)
            assert not issuer.count_requests_for("jwks_uri")
    assert "belongs to another issuer" in caplog.text


async def test_a_new_key_is_found_when_a_token_has_its_id() -> None:
    issuer = Issuer()
    keys = keys_at(issuer)
    assert await kids(keys) == ["first"]
    issuer.keys["second"] = PrivateKey.generate()
    issuer.clock.now += 30
    found = await asyncio.gather(*(kids(keys, "second") for _ in range(50)))
    assert found == [["second"]] * 50
    assert issuer.count_requests_for("jwks_uri") == 2


async def test_ids_that_are_made_up_cause_few_requests() -> None:
    issuer = Issuer()
    keys = keys_at(issuer, min_interval=30)
    for seconds in range(60):
        for number in range(100):
            assert not await kids(keys, f"{seconds} {number}")
        issuer.clock.now += 1
    assert issuer.count_requests_for("jwks_uri") == 2


async def test_keys_are_used_for_a_day_while_the_issuer_is_away() -> None:
    issuer = Issuer()
    keys = keys_at(issuer, max_stale=DAY)
    assert await kids(keys) == ["first"]
    issuer.failure = Unreachable("away")
    for _ in range(23):
        issuer.clock.now += 3600
        assert await kids(keys) == ["first"]
        await wait_for_tasks()
    issuer.clock.now += 3600
    with pytest.raises(VerifierUnavailable):
        await kids(keys)
    issuer.failure = None
    issuer.clock.now += 5
    assert await kids(keys) == ["first"]


async def test_an_issuer_that_is_away_is_asked_now_and_then() -> None:
    for failure in (Unreachable("away"), OSError("away"), RuntimeError("a mistake")):
        with case(failure):
            issuer = Issuer(failure=failure)
            keys = keys_at(issuer)
            for _ in range(10):
                for _ in range(100):
                    with pytest.raises(VerifierUnavailable):
                        await kids(keys)
                issuer.clock.now += 1
            assert issuer.count_requests_for("jwks_uri") == 2


async def test_invalid_key_set_keeps_known_keys(caplog: pytest.LogCaptureFixture) -> None:
    issuer = Issuer()
    keys = keys_at(issuer, lifetime=600, min_interval=30)
    assert await kids(keys) == ["first"]
    for answer in (
        document({}),
        document([]),
        document({"keys": {}}),
        document({"keys": []}, status=500),
        Fetched(status=200, body=b"<html>"),
        Fetched(status=200, body=b'{"keys":' + b"[" * 100_000),
        Fetched(status=302, headers={"location": "https://evil.example"}),
    ):
        with case(answer):
            issuer.answers[JWKS] = answer
            issuer.clock.now += 600
            assert await kids(keys) == ["first"]
            await wait_for_tasks()
            assert await kids(keys) == ["first"]
    assert "cannot be read" in caplog.text


async def test_an_issuer_can_withdraw_all_keys() -> None:
    issuer = Issuer()
    keys = keys_at(issuer)
    assert await kids(keys) == ["first"]
    issuer.keys = {}
    issuer.clock.now += 600
    await kids(keys)
    await wait_for_tasks()
    assert not await kids(keys)


def test_keys_that_do_not_verify_are_left_out() -> None:
    jwk: dict[str, Any] = {**KEY.public.jwk, "kid": "a"}
    listed: list[Any] = [
        *({**jwk, "use": "enc"}, {**jwk, "key_ops": ["encrypt"]}, {**jwk, "key_ops": "verify"}),
        *({**jwk, "crv": "P-999"}, {**jwk, "x": "AA"}, {**jwk, "kty": "oct"}, {"kty": "oct"}),
        *({"kty": "oct", "k": "c2VjcmV0"}, {"kty": ["EC"]}, {}, [], None, "key", {**jwk, "d": "A"}),
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "kid": "small"},
        {**jwk, "kid": "good", "use": "sig", "key_ops": ["verify"], "alg": "ES256"},
    ]
    assert [key.kid for key in keys_of({"keys": listed})] == ["good"]


async def test_of_a_huge_set_only_some_keys_are_read_and_few_are_tried() -> None:
    jwk: dict[str, Any] = KEY.public.jwk
    many = [{**jwk, "kid": str(number)} for number in range(1000)]
    assert len(keys_of({"keys": many})) == 100
    issuer = Issuer(keys={}, more_keys=[jwk] * 50)
    assert len(await kids(keys_at(issuer), None)) == 4


async def test_a_key_that_names_its_algorithm_is_used_with_no_other() -> None:
    rsa = PrivateKey.generate("RS256")
    issuer = Issuer(keys={}, more_keys=[{**rsa.public.jwk, "kid": "a", "alg": "RS256"}])
    keys = keys_at(issuer)
    found = {name: len(await keys.find("a", name)) for name in ("RS256", "PS256", "ES256")}
    assert found == {"RS256": 1, "PS256": 0, "ES256": 0}


def test_the_intervals_of_a_set_have_an_order() -> None:
    wrongs: list[dict[str, Any]] = [{"min_interval": 0}, {"lifetime": 1}, {"max_stale": 1}]
    for wrong in wrongs:
        with case(wrong), pytest.raises(ValueError, match="min_interval"):
            JwksUri(JWKS, **wrong)
    JwksUri(JWKS, min_interval=1, lifetime=1, max_stale=1)


def test_keys_can_be_read_in_one_loop_after_another() -> None:
    issuer = Issuer(clock=Clock())
    keys = keys_at(issuer)

    async def several() -> None:
        issuer.gate = asyncio.Event()
        asyncio.get_running_loop().call_soon(issuer.gate.set)
        for found in await asyncio.gather(*(kids(keys) for _ in range(3))):
            assert found == ["first"]

    for _ in range(2):
        asyncio.run(several())
        issuer.clock.now += 2 * DAY
    assert issuer.count_requests_for("jwks_uri") == 2
