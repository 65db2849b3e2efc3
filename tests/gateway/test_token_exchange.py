"""Tokens of clients exchanged for those of a server: what is sent, kept, renewed and refused."""

import asyncio
import logging
from base64 import b64decode
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, Unreachable, UnsafeUrl
from mcp_protogen.runtime.features.auth.steps import Fetched
from mcp_protogen.runtime.http.client.authorization import Exchange
from mcp_protogen.servers.gateway.access import credentials
from mcp_protogen.servers.gateway.access.credentials import (
    ClientToken,
    TokenExchange,
    UserAuthorization,
)
from support.auth.playing import document, form_sent
from support.gateway.exchanging import ENDPOINT, EXCHANGE, SECRET, TokenEndpoint
from support.tables import case

URL = "https://api.example.com/mcp"
ADA, BEN = ClientToken("ada", "token-of-ada"), ClientToken("ben", "token-of-ben")


def exchange_at(endpoint: TokenEndpoint) -> TokenExchange:
    made = TokenExchange(EXCHANGE, "hub")
    made.fetch, made.clock = endpoint, endpoint.clock
    return made


async def credential_of(user: UserAuthorization, verb: str = "POST") -> str:
    """Return the credential of a request."""
    fields = user.headers(verb, URL)
    if fields is None:
        await user.prepare()
        fields = user.headers(verb, URL)
    return (fields or {}).get("authorization", "")


def response(status: int, sent: str, verb: str = "POST") -> Exchange:
    return Exchange(verb, URL, {"authorization": sent}, status, lambda name: [])


async def test_request_has_the_token_of_the_client_and_the_credentials_of_the_gateway() -> None:
    endpoint = TokenEndpoint()
    assert await credential_of(UserAuthorization(exchange_at(endpoint), ADA)) == "Bearer issued-1"
    (request,) = endpoint.asked
    assert (request.method, request.url) == ("POST", ENDPOINT)
    assert b64decode(request.headers["authorization"][6:]).decode() == f"gateway:{SECRET}"
    kind = "urn:ietf:params:oauth:token-type:access_token"
    assert form_sent(request) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "audience": "https://api.example.com",
        "scope": "api",
        "subject_token": "token-of-ada",
        "subject_token_type": kind,
        "requested_token_type": kind,
        "client_id": "gateway",
    }


async def test_request_without_a_client_and_scopes_has_neither() -> None:
    endpoint = TokenEndpoint()
    made = TokenExchange(replace(EXCHANGE, client=None, scopes=frozenset()), "hub")
    made.fetch, made.clock = endpoint, endpoint.clock
    await made.renew(ADA)
    (request,) = endpoint.asked
    assert "authorization" not in request.headers
    assert form_sent(request).keys().isdisjoint({"scope", "client_id"})


async def test_calls_at_once_share_one_exchange_and_others_have_their_own() -> None:
    endpoint = TokenEndpoint(gate=(gate := asyncio.Event()))
    made = exchange_at(endpoint)
    weaker = ClientToken("ada", "another-token-of-ada")
    users = [UserAuthorization(made, subject) for subject in (ADA, ADA, BEN, weaker, ADA)]
    waiting = [asyncio.create_task(credential_of(user)) for user in users]
    while len(endpoint.asked) < 3:
        await asyncio.sleep(0)
    gate.set()
    sent = await asyncio.gather(*waiting)
    assert [endpoint.owners[credential.removeprefix("Bearer ")] for credential in sent] == [
        subject.token for subject in (ADA, ADA, BEN, weaker, ADA)
    ]
    assert len(endpoint.asked) == 3 and len(set(sent)) == 3


async def test_cancelled_call_does_not_end_the_exchange_of_others() -> None:
    endpoint = TokenEndpoint(gate=(gate := asyncio.Event()))
    made = exchange_at(endpoint)
    first, second = (
        asyncio.create_task(credential_of(UserAuthorization(made, ADA))) for _ in range(2)
    )
    while not endpoint.asked:
        await asyncio.sleep(0)
    first.cancel()
    gate.set()
    assert await second == "Bearer issued-1"
    assert len(endpoint.asked) == 1


async def test_token_is_kept_as_long_as_both_tokens_live() -> None:
    for name, lifetime, subject_lives, kept in (
        ("issued token ends first", 600.0, 5000.0, 570.0),
        ("short lifetime", 100.0, 5000.0, 90.0),
        ("token of the client ends first", 600.0, 200.0, 200.0),
        ("lifetime is unknown", None, 200.0, 200.0),
    ):
        with case(name):
            endpoint = TokenEndpoint(lifetime=lifetime)
            begin = endpoint.clock.now
            user = UserAuthorization(exchange_at(endpoint), replace(ADA, expires_at=begin + 200))
            user.subject = replace(ADA, expires_at=begin + subject_lives)
            assert await credential_of(user) == "Bearer issued-1"
            endpoint.clock.now = begin + kept - 1
            assert await credential_of(user) == "Bearer issued-1"
            endpoint.clock.now = begin + kept
            user.subject = replace(BEN, expires_at=begin + 9999)
            assert user.headers("POST", URL) is None
            user.subject = replace(ADA, expires_at=begin + subject_lives)
            if kept == subject_lives:
                with pytest.raises(AuthorizationError, match="token of the client has expired"):
                    await credential_of(user)
                assert len(endpoint.asked) == 1
            else:
                assert await credential_of(user) == "Bearer issued-2"


async def test_newer_token_of_the_client_is_exchanged_in_place_of_the_old_one() -> None:
    endpoint = TokenEndpoint()
    user = UserAuthorization(exchange_at(endpoint), ADA)
    await credential_of(user)
    user.subject = replace(ADA, token="newer")
    assert await credential_of(user) == "Bearer issued-2"
    assert form_sent(endpoint.asked[-1])["subject_token"] == "newer"


async def test_token_that_comes_during_an_exchange_is_the_one_that_counts() -> None:
    endpoint = TokenEndpoint(gate=(gate := asyncio.Event()))
    user = UserAuthorization(exchange_at(endpoint), ADA)
    sending = asyncio.create_task(credential_of(user))
    while not endpoint.asked:
        await asyncio.sleep(0)
    user.subject = replace(ADA, token="newer")
    gate.set()
    assert endpoint.owners[(await sending).removeprefix("Bearer ")] == "newer"


async def test_refused_token_is_renewed_once() -> None:
    endpoint = TokenEndpoint()
    made = exchange_at(endpoint)
    one, two = UserAuthorization(made, ADA), UserAuthorization(made, ADA)
    old = await credential_of(one)
    first = response(401, old)
    assert one.refuses(first)
    assert all(await asyncio.gather(one.again([first]), two.again([first])))
    new = await credential_of(one)
    assert (old, new, await credential_of(two)) == ("Bearer issued-1", "Bearer issued-2", new)
    # A late refusal of the old token says nothing about the new one.
    assert await two.again([first]) and await credential_of(two) == new
    with pytest.raises(AuthorizationError, match="refuses the token"):
        await one.again([first, response(401, new)])
    assert len(endpoint.asked) == 2


async def test_other_answers_and_the_end_of_a_session_renew_nothing() -> None:
    endpoint = TokenEndpoint()
    user = UserAuthorization(exchange_at(endpoint), ADA)
    assert await credential_of(user, "DELETE") == ""
    assert endpoint.asked == []
    sent = await credential_of(user)
    assert await credential_of(user, "DELETE") == sent
    for refused in (response(403, sent), response(500, sent), response(401, sent, "DELETE")):
        assert not user.refuses(refused)


FAILURES: dict[str, tuple[Fetched | Exception, str]] = {
    "refused": (
        document({"error": "invalid_grant", "error_description": "no token-of-ada here"}, 400),
        "invalid_grant",
    ),
    "error with a text": (
        document({"error": "access_denied", "error_description": "the text for the log"}, 400),
        "access_denied",
    ),
    "failing": (Fetched(status=503), "cannot be reached"),
    "silent": (Unreachable(f"{ENDPOINT} did not answer within 10 s"), "cannot be reached"),
    "unsafe": (UnsafeUrl(f"{ENDPOINT} must be an https URL"), "cannot be reached"),
    "no token": (document({"access_token": "", "token_type": "Bearer"}), "valid access_token"),
    "another kind": (document({"access_token": "x", "token_type": "N_A"}), "must be Bearer"),
    "token of the client": (
        document({"access_token": ADA.token, "token_type": "Bearer"}),
        "with the token of the client",
    ),
    "expired": (
        document({"access_token": "x", "token_type": "Bearer", "expires_in": 0}),
        "that has expired",
    ),
    "no object": (document([1]), "JSON object"),
}


@contextmanager
def entries(caplog: pytest.LogCaptureFixture) -> Generator[None]:
    """Require one entry in the log, without secrets."""
    caplog.clear()
    yield
    (record,) = caplog.records
    assert record.getMessage().startswith("hub: a token of ada could not be exchanged: ")
    assert not {ADA.token, SECRET}.intersection(record.getMessage().split())


async def test_failed_exchange_says_why_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    for name, (failing, why) in FAILURES.items():
        with case(name), entries(caplog):
            endpoint = TokenEndpoint()
            if isinstance(failing, Fetched):
                endpoint.answer = failing
            else:
                endpoint.failure = failing
            user = UserAuthorization(exchange_at(endpoint), ADA)
            with pytest.raises(AuthorizationError) as raised:
                await credential_of(user)
            assert user.problem is raised.value
            context: Any = None
            told = user.failure(raised.value, context)
            assert told.message.startswith("No token for the server of hub could be obtained: ")
            assert why in told.message
            assert "for the log" not in told.message and ENDPOINT not in told.message
            assert told.data == {"server": "hub", "reason": "unauthorized"}
            for text in (str(raised.value), told.message):
                assert ADA.token not in text and SECRET not in text
            # It is tried again for the next request, and then there is nothing to explain.
            endpoint.answer = endpoint.failure = None
            assert await credential_of(user) == "Bearer issued-2"
            assert user.problem is None


async def test_request_without_a_token_exchanges_nothing() -> None:
    endpoint = TokenEndpoint()
    with pytest.raises(AuthorizationError, match="no token to exchange"):
        await credential_of(UserAuthorization(exchange_at(endpoint)))
    assert endpoint.asked == []


async def test_number_of_kept_tokens_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_MOST_TOKENS", 2)
    endpoint = TokenEndpoint()
    made = exchange_at(endpoint)
    subjects = [ClientToken(name, f"token-of-{name}") for name in ("ada", "ben", "cy")]
    for subject in subjects:
        await made.renew(subject)
    assert [made.token_for(subject) is not None for subject in subjects] == [False, True, True]


async def test_too_many_exchanges_at_once_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credentials, "_MOST_REQUESTS", 1)
    monkeypatch.setattr(credentials, "_MOST_WAITING", 0)
    endpoint = TokenEndpoint(gate=(gate := asyncio.Event()))
    made = exchange_at(endpoint)
    first = asyncio.create_task(made.renew(ADA))
    await asyncio.sleep(0)
    with pytest.raises(AuthorizationError, match="too many"):
        await made.renew(BEN)
    gate.set()
    await first


def test_representations_have_no_token() -> None:
    user = UserAuthorization(exchange_at(TokenEndpoint()), ADA)
    assert ADA.token not in f"{ADA!r} {user!r}" and SECRET not in repr(EXCHANGE)


def test_tokens_are_sent_over_https_or_to_this_machine() -> None:
    user = UserAuthorization(exchange_at(TokenEndpoint()), ADA)
    for url in (URL, "http://127.0.0.1:1/mcp"):
        assert user.authorizer(url) is user
    with pytest.raises(ValueError, match="HTTPS"):
        user.authorizer("http://api.example.com/mcp")
