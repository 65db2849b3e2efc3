"""The authorization server is asked about opaque tokens."""

import asyncio
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import pytest
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.errors import Unreachable, UnsafeUrl
from mcp_protogen.runtime.features.auth.server.cache import TokenCache
from mcp_protogen.runtime.features.auth.server.introspection import Introspection
from mcp_protogen.runtime.features.auth.steps import Fetched
from mcp_protogen.runtime.http.server.authentication import TokenRefused, VerifierUnavailable
from support.auth.issuing import ISSUER, KEY, RESOURCE, Issuer
from support.auth.pem import pem_of
from support.auth.playing import document
from support.tables import case

TOKEN = "opaque +&=%"
SECRET = "s3cret:ü"
ENDPOINT = f"{ISSUER}/introspect"
CLIENT = ClientInformation(client_id="mcp:server", client_secret=SECRET)
ACTIVE: Mapping[str, Any] = {"active": True, "sub": "ada", "aud": RESOURCE, "scope": "read"}


def introspection(issuer: Issuer, /, **options: Any) -> Introspection:
    given: dict[str, Any] = {
        "issuer": ISSUER,
        "audience": RESOURCE,
        "client": CLIENT,
        "fetch": issuer.fetch,
        "clock": issuer.clock,
        "cache": TokenCache(lifetime=60, clock=issuer.clock),
    }
    return Introspection(**{**given, **options})


def knowing(**changed: Any) -> Issuer:
    """Return an issuer that knows TOKEN; members that are None are left out."""
    said = {**ACTIVE, **changed}
    known = {name: value for name, value in said.items() if value is not None}
    return Issuer(known={TOKEN: known})


async def test_the_server_shows_who_it_is_as_the_authorization_server_wants_it() -> None:
    issuer = knowing()
    said = {"issuer": ISSUER, "introspection_endpoint": ENDPOINT}
    said_too = {"introspection_endpoint_auth_methods_supported": ["client_secret_post"]}
    issuer.answers[f"{ISSUER}/.well-known/oauth-authorization-server"] = document(said | said_too)
    await introspection(issuer)(TOKEN)
    form = parse_qs((issuer.asked[-1].body or b"").decode())
    assert (form["client_id"], form["client_secret"]) == (["mcp:server"], [SECRET])
    assert "authorization" not in issuer.asked[-1].headers
    signing = ClientInformation(client_id="mcp", private_key=pem_of(KEY))
    await introspection(issuer, client=signing)(TOKEN)
    form = parse_qs((issuer.asked[-1].body or b"").decode())
    claims = KEY.public.verify(form["client_assertion"][0], ["ES256"]).claims
    assert (claims["sub"], claims["aud"], form["token"]) == ("mcp", ISSUER, [TOKEN])


async def test_the_endpoint_is_that_of_the_metadata_unless_it_is_given() -> None:
    issuer = knowing()
    verify = introspection(issuer)
    for token in (TOKEN, "other", "another"):
        if token != TOKEN:
            issuer.known[token] = {**ACTIVE}
        await verify(token)
    assert issuer.count_requests_for("oauth-authorization-server") == 1
    issuer.clock.now += 3600
    await verify(TOKEN)
    assert issuer.count_requests_for("oauth-authorization-server") == 2
    issuer.asked.clear()
    await introspection(issuer, endpoint=ENDPOINT)(TOKEN)
    assert [request.url for request in issuer.asked] == [ENDPOINT]


REFUSED: Mapping[str, tuple[Mapping[str, Any], str]] = {
    "one that is not active": ({"active": False}, "The token is not active"),
    "one that may be active": ({"active": "true"}, "The token is not active"),
    "one of which nothing is said": ({"active": None}, "The token is not active"),
    "one of another issuer": ({"iss": f"{ISSUER}/"}, "The token is of another issuer"),
    "one for another": ({"aud": "https://other"}, "The token is for another audience"),
    "one for nobody": ({"aud": None}, "The token is for another audience"),
    "one that has ended": ({"exp": 1}, "The token has expired"),
    "one that begins later": ({"nbf": 10**10}, "The token is not valid yet"),
    "one of nobody": ({"sub": None}, "The token has neither sub nor client_id"),
    "one that ends some time": ({"exp": "soon"}, "A claim of the token is malformed"),
}


@pytest.mark.shows("TK-03", "TK-04")
async def test_other_tokens_are_refused() -> None:
    for name, (changed, why) in REFUSED.items():
        with case(name):
            with pytest.raises(TokenRefused) as caught:
                await introspection(knowing(**changed))(TOKEN)
            assert (caught.value.error, caught.value.description) == ("invalid_token", why)


async def test_the_audience_is_left_to_the_authorization_server_only_if_it_is_said() -> None:
    principal = await introspection(knowing(aud=None), audience=None)(TOKEN)
    assert principal.id == f"{ISSUER}|ada"
    for audience in ("", [], [RESOURCE, ""]):
        with case(audience), pytest.raises(ValueError, match="audience"):
            introspection(Issuer(), audience=audience)


async def test_a_client_without_a_user_is_nobody_else() -> None:
    principal = await introspection(knowing(sub=None, client_id="ada"))(TOKEN)
    assert principal.id == f"{ISSUER}#ada"


async def test_a_token_is_asked_about_once_for_all_who_have_it() -> None:
    issuer = knowing()
    issuer.gate = asyncio.Event()
    verify = introspection(issuer, endpoint=ENDPOINT)
    asking = [asyncio.create_task(verify(TOKEN)) for _ in range(50)]
    await asyncio.sleep(0)
    issuer.gate.set()
    assert {principal.id for principal in await asyncio.gather(*asking)} == {f"{ISSUER}|ada"}
    for _ in range(10):
        await verify(TOKEN)
    assert issuer.count_requests_for("introspect") == 1
    issuer.known[TOKEN] = {"active": False}
    issuer.clock.now += 60
    with pytest.raises(TokenRefused):
        await verify(TOKEN)


async def test_only_so_many_tokens_are_asked_about_at_a_time() -> None:
    issuer = Issuer(gate=asyncio.Event())
    verify = introspection(issuer, endpoint=ENDPOINT, max_requests=4)
    asking = [asyncio.create_task(verify(f"token {number}")) for number in range(200)]
    for _ in range(3):
        await asyncio.sleep(0)
    assert issuer.count_requests_for("introspect") == 4
    refused = [task for task in asking if task.done()]
    assert len(refused) == 200 - 4 - 4 * 20
    assert all(isinstance(task.exception(), VerifierUnavailable) for task in refused)
    assert issuer.gate is not None
    issuer.gate.set()
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert sum(isinstance(outcome, TokenRefused) for outcome in outcomes) == 84
    assert issuer.most_at_once == 4


async def test_an_authorization_server_that_fails_makes_no_token_wrong() -> None:
    failures: list[Fetched | Exception] = [
        Unreachable("away"),
        UnsafeUrl("not public"),
        *(document({"active": True}, status=status) for status in (401, 403, 429, 500, 302)),
        *(Fetched(status=200, body=body) for body in (b"", b"[]", b"<html>", b"true")),
    ]
    for failure in failures:
        with case(failure):
            issuer = knowing()
            verify = introspection(issuer, endpoint=ENDPOINT)
            if isinstance(failure, Exception):
                issuer.failure = failure
            else:
                issuer.answers[ENDPOINT] = failure
            with pytest.raises(VerifierUnavailable) as caught:
                await verify(TOKEN)
            assert SECRET not in repr(caught.value) and TOKEN not in repr(caught.value)
            issuer.failure = None
            issuer.answers.clear()
            assert (await verify(TOKEN)).id == f"{ISSUER}|ada"


async def test_an_authorization_server_without_introspection_is_no_reason_to_accept() -> None:
    issuer = knowing()
    url = f"{ISSUER}/.well-known/oauth-authorization-server"
    for metadata in ({"issuer": ISSUER}, {"issuer": "https://evil.example"}):
        issuer.answers[url] = document(metadata)
        with case(metadata), pytest.raises(VerifierUnavailable):
            await introspection(issuer)(TOKEN)


@pytest.mark.skips_time
async def test_a_slow_authorization_server_is_not_waited_for_without_end() -> None:
    issuer = Issuer(gate=asyncio.Event())
    verify = introspection(issuer)
    with pytest.raises(VerifierUnavailable):
        await verify(TOKEN)
    assert issuer.gate is not None
    issuer.gate.set()
    while len(asyncio.all_tasks()) > 1:
        await asyncio.sleep(0)


async def test_a_token_that_is_too_long_is_not_asked_about() -> None:
    issuer = Issuer()
    with pytest.raises(TokenRefused, match="too long"):
        await introspection(issuer)("t" * 100_000)
    assert not issuer.asked


def test_options_are_shown_without_the_secret_and_what_follows_from_them() -> None:
    assert SECRET not in repr(CLIENT)
    assert repr(introspection(Issuer())) == (
        f"Introspection(issuer={ISSUER!r}, scope_claims=('scope', 'scp'), leeway=60.0,"
        f" audience={RESOURCE!r}, client={CLIENT!r}, endpoint=None, max_requests=32, timeout=10.0)"
    )


@pytest.mark.skips_time
async def test_tokens_for_which_nobody_waits_any_more_are_in_nobodys_way() -> None:
    issuer = knowing()
    issuer.gate = asyncio.Event()
    verify = introspection(issuer, endpoint=ENDPOINT, max_requests=1)
    asking = [verify(f"token {number}") for number in range(21)]
    outcomes = await asyncio.gather(*asking, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} == {VerifierUnavailable}
    issuer.gate.set()
    assert (await verify(TOKEN)).id == f"{ISSUER}|ada"
    assert len(asyncio.all_tasks()) == 1


def test_tokens_can_be_asked_about_in_one_loop_after_another() -> None:
    issuer = Issuer()
    verify = introspection(issuer, endpoint=ENDPOINT, max_requests=1, cache=TokenCache(lifetime=0))
    known = ["one", "two", "three"]
    issuer.known = {token: {**ACTIVE} for token in known}

    async def several() -> None:
        issuer.gate = asyncio.Event()
        asyncio.get_running_loop().call_soon(issuer.gate.set)
        assert len(await asyncio.gather(*map(verify, known))) == 3

    for _ in range(2):
        asyncio.run(several())


def test_the_server_has_to_show_who_it_is() -> None:
    with pytest.raises(ValueError, match="metadata"):
        introspection(Issuer(), issuer="login")
    with pytest.raises(ValueError, match="secret"):
        introspection(Issuer(), client=ClientInformation(client_id="mcp"))


def test_limits_are_more_than_nothing() -> None:
    for wrong in ({"max_requests": 0}, {"timeout": 0}):
        with case(wrong), pytest.raises(ValueError, match="more than 0"):
            introspection(Issuer(), **wrong)


def test_a_single_text_is_not_a_list_of_claims() -> None:
    with pytest.raises(TypeError, match="scope_claims must be a collection"):
        introspection(Issuer(), scope_claims="scope")
