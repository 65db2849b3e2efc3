"""Attackers of a server with tokens reach no handler, and cause little work."""

import hmac
import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from hashlib import sha256
from time import time
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.signing import PrivateKey, PublicKey
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.auth.issuing import ISSUER, KEY, RESOURCE, Clock, Issuer, forge_token, proof
from support.http.serving import Site, merge_headers, serving
from support.revisions import OLD
from support.sessions.talking import hello, pkg, request, tools
from support.tables import case

OTHER = PrivateKey.generate()


def ours(called: list[str]) -> Any:
    """Return a server that records calls."""

    async def call(session: Session, params: CallToolRequestParams) -> str:
        principal = session.principal
        called.append("" if principal is None else principal.id)
        return "done"

    return tools(OLD, call)


def fetching(issuer: Issuer) -> Any:
    """Return the issuer's `fetch` for requests of the other copy of the runtime."""
    return issuer.fetch


def verifier(issuer: Issuer, **options: Any) -> Any:
    given: dict[str, Any] = {"issuer": issuer.url, "audience": RESOURCE, "fetch": fetching(issuer)}
    return pkg.JwtVerifier(**{**given, **options})


def present(**options: Any) -> Issuer:
    """Return an issuer with the machine's clock, which the server uses too."""
    return Issuer(clock=Clock(time()), **options)


@asynccontextmanager
async def serve_under_attack(
    verify: Any, **options: Any
) -> AsyncGenerator[tuple[Site, list[str]], None]:
    """Serve with token checks; yield the site and the calls that got through."""
    called: list[str] = []
    resource = pkg.ProtectedResource(url=RESOURCE, authorization_servers=[ISSUER])
    guard = pkg.Authentication(verify=verify, resource=resource, **options)
    async with serving(ours(called), pkg.REVISIONS, authentication=guard) as site:
        yield site, called


async def refused_challenge(site: Site, token: str, status: int = 401) -> str:
    """Return the challenge to requests with a token, in sessions and without them."""
    fields = {"authorization": f"Bearer {token}"}
    answers = [
        await site.post(hello(), fields),
        await site.post(request("tools/call", name="x"), {**fields, "mcp-session-id": "a" * 43}),
        await site.modern("tools/call", name="x", headers=fields),
        await site.http.delete(
            site.path, headers=merge_headers({"mcp-session-id": "a" * 43}, fields)
        ),
    ]
    async with site.get({**fields, "mcp-protocol-version": OLD}) as events:
        answers.append(events.response)
    assert {answer.status_code for answer in answers} == {status}
    (challenge,) = {answer.headers["www-authenticate"] for answer in answers}
    return challenge


@pytest.fixture
def checked_keys(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the ids of the keys with which signatures are checked."""
    ids: list[str] = []
    verify: Callable[..., Any] = PublicKey.verify

    def count_verify(self: Any, *given: Any) -> Any:
        ids.append(self.kid)
        return verify(self, *given)

    monkeypatch.setattr(PublicKey, "verify", count_verify)
    return ids


def encode_part(part: object) -> str:
    data = part if isinstance(part, bytes) else json.dumps(part).encode()
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def with_secret(secret: bytes, header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    """A JWT that is signed with a secret, HS256."""
    signed = f"{encode_part({**header, 'alg': 'HS256'})}.{encode_part(claims)}"
    return f"{signed}.{encode_part(hmac.digest(secret, signed.encode(), sha256))}"


@pytest.mark.shows("TK-03", "TK-04", "GE-06")
async def test_tokens_for_others_and_of_other_times_reach_no_handler() -> None:
    issuer = present()
    now = issuer.clock()
    async with serve_under_attack(verifier(issuer)) as (site, called):
        table: list[tuple[dict[str, Any], str]] = [
            ({"aud": "https://other.example/mcp"}, "The token is for another audience"),
            ({"exp": now - 100}, "The token has expired"),
        ]
        for claims, why in table:
            with case(claims):
                challenge = await refused_challenge(site, issuer.token(**claims))
                assert challenge.startswith('Bearer error="invalid_token"')
                assert f'error_description="{why}"' in challenge
        fields = {"authorization": f"Bearer {issuer.token()}"}
        assert (await (await site.initialize(headers=fields)).call("x")).status_code == 200
        assert called == [f"{ISSUER}|ada"]


@pytest.mark.shows("TK-03")
async def test_a_token_does_not_choose_how_it_is_verified(checked_keys: list[str]) -> None:
    issuer = present()
    now, jwk = issuer.clock(), KEY.public.jwk
    claims = {"iss": ISSUER, "sub": "eve", "aud": RESOURCE, "iat": now, "exp": now + 100}
    header = {"typ": "at+jwt", "kid": "first"}
    secrets = [json.dumps(jwk).encode(), json.dumps(jwk, separators=(",", ":")).encode()]
    secrets += [jwk["x"].encode(), b"", b"first"]
    async with serve_under_attack(verifier(issuer)) as (site, called):
        for token in (
            *(
                forge_token({**header, "alg": alg}, claims)
                for alg in ("none", "None", "NONE", "", None)
            ),
            *(forge_token({**header, "alg": alg}, claims) for alg in ("ES256", "RS256", "ES256K")),
            *(forge_token({**header, "alg": "ES256"}, claims, bytes(64)),),
            *(with_secret(secret, header, claims) for secret in secrets),
        ):
            with case(token):
                await refused_challenge(site, token)
        assert not called
    assert checked_keys == ["first"] * 2, "only what has the right algorithm is looked at"


@pytest.mark.shows("TK-02", "TK-11")
async def test_a_token_counts_in_its_header_field_alone() -> None:
    issuer = present()
    token = issuer.token()
    async with serve_under_attack(verifier(issuer)) as (site, called):
        for query in (f"access_token={token}", f"authorization=Bearer%20{token}"):
            path = f"{site.path}?{query}"
            answer = await site.http.post(path, json=hello(), headers={"accept": "*/*"})
            assert answer.status_code == 401 and "error=" not in answer.headers["www-authenticate"]
        form = {"content-type": "application/x-www-form-urlencoded"}
        answer = await site.post(f"access_token={token}".encode(), form)
        assert answer.status_code == 401
        for fields in ({"cookie": f"access_token={token}"}, {"x-authorization": f"Bearer {token}"}):
            assert (await site.post(hello(), fields)).status_code == 401
        assert not (issuer.asked or called)


async def test_ten_thousand_wrong_tokens_cost_little(checked_keys: list[str]) -> None:
    issuer = Issuer()
    cache = pkg.TokenCache(max_tokens=100, clock=issuer.clock)
    keys = pkg.JwksUri(f"{ISSUER}/jwks_uri", fetch=fetching(issuer), clock=issuer.clock)
    verify = verifier(issuer, fetch=None, keys=keys, cache=cache, clock=issuer.clock)
    good = issuer.token()
    assert (await verify(good)).id == f"{ISSUER}|ada"
    checked_keys.clear()

    async def flood(tokens: Iterable[str]) -> None:
        for token in tokens:
            with pytest.raises(Exception, match="token"):
                await verify(token)

    head = {"alg": "ES256", "typ": "at+jwt"}
    await flood(["x" * 100] * 2500)
    await flood(f"{number}.a.b" for number in range(2500))
    await flood(forge_token({**head, "kid": f"k{number}"}, {}) for number in range(2500))
    await flood(
        forge_token({**head, "alg": "HS256", "kid": "first"}, {"n": n}) for n in range(1250)
    )
    assert not checked_keys
    forgery = forge_token({**head, "kid": "first"}, {"sub": "eve"}, bytes(64))
    await flood([forgery] * 1250)
    assert checked_keys == ["first"], "the same one is looked at once"
    assert issuer.count_requests_for("jwks_uri") == 1
    assert (await verify(good)).id == f"{ISSUER}|ada"
    assert len(checked_keys) == 1, "and the good one is still known"


async def test_session_is_bound_to_issuer() -> None:
    one = present()
    two = Issuer("https://other.example", keys={"first": OTHER}, clock=one.clock)
    async with serve_under_attack(pkg.Issuers(verifier(one), verifier(two))) as (site, called):
        session = await site.initialize(headers={"authorization": f"Bearer {one.token()}"})
        other = {"authorization": f"Bearer {two.token()}"}
        call = request("tools/call", name="x")
        assert (await session.post(call, other)).status_code == 404
        assert (await session.delete(other)).status_code == 404
        assert (await session.post(call)).status_code == 200
        assert called == [f"{ISSUER}|ada"]


@pytest.mark.shows("DP-04")
async def test_a_token_that_is_bound_to_a_key_is_of_no_use_without_it() -> None:
    issuer = present()
    token = issuer.token(cnf={"jkt": KEY.public.thumbprint})
    plain = issuer.token()
    proofs = pkg.DPoPProofs(replays=pkg.MemoryReplays())

    def make_proof(key: PrivateKey = KEY, **changed: Any) -> str:
        given: dict[str, Any] = {"method": "POST", "url": RESOURCE, "token": token, "now": time()}
        return proof(key, **{**given, **changed})

    async def status(scheme: str, credentials: str, *given: str) -> tuple[int, str]:
        fields: list[Any] = [("dpop", proof) for proof in given]
        headers = merge_headers({"accept": "*/*"}, {"authorization": f"{scheme} {credentials}"})
        answer = await site.http.post(
            site.path,
            content=json.dumps(hello()).encode(),
            headers=[*headers.items(), (b"content-type", b"application/json"), *fields],
        )
        return answer.status_code, answer.headers.get("www-authenticate", "")

    async with serve_under_attack(verifier(issuer), proofs=proofs) as (site, _):
        used = make_proof()
        assert (await status("DPoP", token, used))[0] == 200
        for name, given, error in (
            ("as a bearer token", ("Bearer", token), "invalid_token"),
            ("as a bearer token, with a proof", ("Bearer", token, make_proof()), "invalid_token"),
            ("without a proof", ("DPoP", token), "invalid_dpop_proof"),
            ("with a proof that was used", ("DPoP", token, used), "invalid_dpop_proof"),
            ("with two proofs", ("DPoP", token, make_proof(), make_proof()), "invalid_dpop_proof"),
            ("of another method", ("DPoP", token, make_proof(method="GET")), "invalid_dpop_proof"),
            ("of another URL", ("DPoP", token, make_proof(url=ISSUER)), "invalid_dpop_proof"),
            ("of an old time", ("DPoP", token, make_proof(now=time() - 400)), "invalid_dpop_proof"),
            ("of another token", ("DPoP", token, make_proof(token=plain)), "invalid_dpop_proof"),
            ("of another key", ("DPoP", token, make_proof(OTHER)), "invalid_token"),
            ("a plain token", ("DPoP", plain, make_proof(token=plain)), "invalid_token"),
        ):
            with case(name):
                code, challenge = await status(*given)
                assert code == 401
                assert f'error="{error}"' in challenge and "DPoP " in challenge
        assert (await status("Bearer", plain))[0] == 200
