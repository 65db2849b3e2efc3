"""Requests to a token endpoint: their credentials, content and answers."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.client_authentication import credentials
from mcp_protogen.runtime.features.auth.client.token_endpoint import refresh_tokens, request_tokens
from mcp_protogen.runtime.features.auth.client.values import ClientInformation, Tokens
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, OAuthError, Unreachable
from mcp_protogen.runtime.features.auth.signing import PrivateKey, public_key, read_header
from mcp_protogen.runtime.features.auth.steps import Fetch, Fetched, Step
from support.auth.pem import pem_of
from support.auth.playing import document, fetches, form_sent, play
from support.auth.token_requests import (
    ISSUER,
    NOW,
    PUBLIC,
    RESOURCE,
    TOKEN_ENDPOINT,
    basic_of,
    metadata,
    token_answer,
    token_request,
)
from support.tables import case

GRANT = {"grant_type": "example", "code": "a-long-and-secret-code"}
SECRET = ClientInformation(client_id="the client", client_secret="the secret: 1/2")
KEY = PrivateKey.generate()
SIGNING = ClientInformation(client_id="the client", private_key=pem_of(KEY))


def send_request(answer: Fetched | None = None, **members: Any) -> Fetch:
    """Return the request for tokens that a client makes."""
    asked: list[Step] = []
    play(request_tokens(token_request(**members), GRANT), [answer or token_answer()], asked)
    [request] = fetches(asked)
    return request


def tokens(answer: Fetched, **members: Any) -> Tokens:
    return play(request_tokens(token_request(**members), GRANT), [answer])


@pytest.mark.shows("RI-01", "RI-02", "RI-03")
def test_a_form_is_posted_with_the_grant_and_the_resource_as_it_is_written() -> None:
    for resource in (RESOURCE, "https://MCP.example", "https://mcp.example/a%2Fb/?x=y"):
        with case(resource):
            request = send_request(resource=resource)
            assert (request.method, request.url) == ("POST", TOKEN_ENDPOINT)
            assert request.headers["content-type"] == "application/x-www-form-urlencoded"
            form = {**GRANT, "resource": resource, "client_id": "the client"}
            assert form_sent(request) == form


def test_without_a_resource_the_parameter_is_left_out() -> None:
    assert "resource" not in form_sent(send_request(resource=None))


def test_a_public_client_shows_its_id_only() -> None:
    request = send_request(client=PUBLIC)
    assert basic_of(request) is None
    assert form_sent(request)["client_id"] == "the client"
    assert "client_id" not in form_sent(send_request(client=None))


def test_basic_encodes_both_parts_as_a_form_and_leaves_the_secret_out_of_the_body() -> None:
    colon = ClientInformation(client_id="https://a.example/c?d", client_secret="ü+ %&=")
    shown = {"the+client:the+secret%3A+1%2F2": SECRET}
    shown["https%3A%2F%2Fa.example%2Fc%3Fd:%C3%BC%2B+%25%26%3D"] = colon
    for text, client in shown.items():
        with case(text):
            request = send_request(client=client)
            assert basic_of(request) == text
            form = form_sent(request)
            assert form.keys() == {*GRANT, "resource", "client_id"}
            assert form["client_id"] == client.client_id


def test_a_secret_is_posted_where_the_client_says_so() -> None:
    request = send_request(client=replace(SECRET, token_endpoint_auth_method="client_secret_post"))
    assert basic_of(request) is None
    form = form_sent(request)
    assert (form["client_id"], form["client_secret"]) == ("the client", "the secret: 1/2")


@pytest.mark.shows("CC-02", "CC-04", "RE-08")
def test_an_assertion_is_signed_for_the_issuer_and_says_who_the_client_is() -> None:
    forms = [form_sent(send_request(client=SIGNING)) for _ in range(2)]
    assert "client_id" not in forms[0]
    kind = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    assert forms[0]["client_assertion_type"] == kind
    said = [KEY.public.verify(form["client_assertion"], {"ES256"}) for form in forms]
    ids = {jwt.claims["jti"] for jwt in said}
    assert len(ids) == 2
    assert said[0].header == {"typ": "JWT", "alg": "ES256"}
    assert {name: value for name, value in said[0].claims.items() if name != "jti"} == {
        "iss": "the client",
        "sub": "the client",
        "aud": ISSUER,
        "iat": int(NOW),
        "exp": int(NOW) + 60,
    }


def test_an_assertion_is_for_another_audience_where_the_client_says_so() -> None:
    client = replace(SIGNING, assertion_audience=TOKEN_ENDPOINT)
    shown = form_sent(send_request(client=client))["client_assertion"]
    assert KEY.public.verify(shown, {"ES256"}).claims["aud"] == TOKEN_ENDPOINT


def test_an_assertion_is_signed_by_an_algorithm_that_the_server_accepts() -> None:
    key = PrivateKey.generate("RS256")
    client = ClientInformation(client_id="a", private_key=pem_of(key))
    name = "token_endpoint_auth_signing_alg_values_supported"
    for chosen, supported, used in (
        (None, ("HS256", "PS256"), "PS256"),
        (None, None, "RS256"),
        ("RS512", ("PS256",), "RS512"),
    ):
        with case((chosen, supported)):
            signing = replace(client, signing_algorithm=chosen)
            _, form = credentials(signing, metadata(**{name: supported}), NOW)
            assert read_header(form["client_assertion"])["alg"] == used
    with pytest.raises(AuthorizationError):
        credentials(client, metadata(**{name: ("ES256", "none")}), NOW)


def test_a_client_without_what_it_takes_is_an_error_before_anything_is_sent() -> None:
    for client in (
        replace(PUBLIC, token_endpoint_auth_method="client_secret_basic"),
        replace(PUBLIC, token_endpoint_auth_method="client_secret_post"),
        replace(PUBLIC, token_endpoint_auth_method="private_key_jwt"),
        replace(PUBLIC, private_key="no key"),
        replace(SIGNING, signing_algorithm="HS256"),
    ):
        with case(client), pytest.raises(AuthorizationError):
            play(request_tokens(token_request(client=client), GRANT), [])


def test_scopes_are_those_asked_for_unless_the_answer_says_otherwise() -> None:
    asked = frozenset({"a", "b"})
    assert tokens(token_answer(), scopes=asked).scopes == asked
    assert tokens(token_answer(scope="a"), scopes=asked).scopes == frozenset({"a"})
    assert tokens(token_answer()).scopes is None


def test_a_lifetime_that_makes_no_sense_is_not_known() -> None:
    rows: tuple[tuple[object, float | None], ...] = (
        ("60", NOW + 60),
        (0, NOW),
        (-5, NOW),
        (1.5, NOW + 1.5),
        (10**400, NOW + 10**9),
        (True, None),
        ("soon", None),
        ("9" * 5000, None),
        ([], None),
        (None, None),
    )
    for expires_in, expires_at in rows:
        with case(str(expires_in)[:20]):
            assert tokens(token_answer(expires_in=expires_in)).expires_at == expires_at


def test_answers_that_are_none_are_refused() -> None:
    malformed = {
        "no JSON": Fetched(status=200, body=b"access_token=a&token_type=bearer"),
        "no object": document(["a"]),
        "nothing": Fetched(status=200),
        "no token": token_answer(access_token=None),
        "empty token": token_answer(access_token=""),
        "number": token_answer(access_token=5),
        "line break in a token": token_answer(access_token="a\r\nX-Evil: b"),
        "space in a token": token_answer(access_token="a b"),
        "no ASCII": token_answer(access_token="ä"),
        "line break in a refresh token": token_answer(refresh_token="a\n"),
        "no type": token_answer(token_type=None),
        "type of another kind": token_answer(token_type="mac"),
        "type that is not text": token_answer(token_type=["Bearer"]),
        "bound to a key that is not ours": token_answer(token_type="DPoP"),
        "too large": token_answer(access_token="a" * 1024 * 1024),
        "created": replace(token_answer(), status=201),
        "redirect": Fetched(status=302, headers={"location": TOKEN_ENDPOINT}),
        "no content": Fetched(status=204),
        "error without a code": document({"error_description": "x"}, 400),
    }
    for name, answer in malformed.items():
        with case(name), pytest.raises(AuthorizationError) as refused:
            tokens(answer)
        assert type(refused.value) is AuthorizationError, name


def test_answer_of_a_mebibyte_is_read_and_a_larger_one_refused() -> None:
    small = token_answer(access_token="a")
    largest = replace(small, body=small.body.ljust(1024 * 1024))
    assert tokens(largest).access_token == "a"
    with pytest.raises(AuthorizationError, match="JSON object"):
        tokens(replace(small, body=largest.body + b" "))


def test_an_error_has_its_code_and_what_the_server_says() -> None:
    for status in (400, 401, 403, 200):
        answer = document({"error": "invalid_grant", "error_description": "Too\nlate"}, status)
        with case(status), pytest.raises(OAuthError) as refused:
            tokens(answer)
        assert (refused.value.error, refused.value.description) == ("invalid_grant", "Too late")


def test_error_description_does_not_hide_error() -> None:
    for said in ("", 5, None, ["x"], " \n"):
        answer = document({"error": "invalid_grant", "error_description": said}, 400)
        with case(said), pytest.raises(OAuthError) as refused:
            tokens(answer)
        assert (refused.value.error, refused.value.description) == ("invalid_grant", None)


def test_an_error_does_not_repeat_a_secret() -> None:
    for client, said in (
        (SECRET, f"no client the client with {SECRET.client_secret}"),
        (PUBLIC, f"unknown: {GRANT['code']}"),
    ):
        answer = document({"error": "invalid_request", "error_description": said}, 400)
        with case(said), pytest.raises(OAuthError) as refused:
            tokens(answer, client=client)
        assert refused.value.description is None
        assert str(refused.value) == "invalid_request"


def test_a_server_that_is_busy_or_broken_has_not_judged_the_grant() -> None:
    for status in (429, 500, 503):
        with case(status), pytest.raises(Unreachable):
            tokens(document({"error": "invalid_grant"}, status))


def test_a_refresh_keeps_the_old_token_and_scopes_unless_there_are_new_ones() -> None:
    asked: list[Step] = []
    old = Tokens(access_token="a", refresh_token="r1", scopes=frozenset({"s"}))
    new = play(refresh_tokens(token_request(), old), [token_answer()], asked)
    assert form_sent(asked[0]) == {
        "grant_type": "refresh_token",
        "refresh_token": "r1",
        "resource": RESOURCE,
        "client_id": "the client",
    }
    assert (new.access_token, new.refresh_token, new.scopes) == ("a-token", "r1", old.scopes)
    other = token_answer(refresh_token="r2", scope="t")
    new = play(refresh_tokens(token_request(), old), [other])
    assert (new.refresh_token, new.scopes) == ("r2", frozenset({"t"}))


@pytest.mark.shows("RF-04")
def test_without_a_refresh_token_nothing_is_sent() -> None:
    with pytest.raises(AuthorizationError):
        play(refresh_tokens(token_request(), Tokens(access_token="a")), [])


def proof_claims(request: Fetch) -> dict[str, Any]:
    proof = request.headers["dpop"]
    header = read_header(proof)
    return {**public_key(header["jwk"]).verify(proof, {"ES256"}).claims}


@pytest.mark.shows("DP-01")
def test_a_token_request_has_a_proof_for_the_endpoint() -> None:
    dpop = DPoP(clock=lambda: NOW)
    server = metadata(token_endpoint=f"{TOKEN_ENDPOINT}?tenant=a")
    request = send_request(token_answer(token_type="dpop"), dpop=dpop, server=server)
    claims = proof_claims(request)
    assert (claims["htm"], claims["htu"]) == ("POST", TOKEN_ENDPOINT)
    assert claims.keys() == {"jti", "htm", "htu", "iat"}
    assert tokens(token_answer(token_type="DPoP"), dpop=dpop).token_type == "DPoP"
    assert tokens(token_answer(), dpop=dpop).token_type == "Bearer", "as the server says"


USE_NONCE = {"error": "use_dpop_nonce"}


@pytest.mark.shows("DP-03")
def test_a_request_is_repeated_once_with_the_nonce_that_is_asked_for() -> None:
    for status in (400, 401):
        asked: list[Step] = []
        request = token_request(dpop=DPoP(), client=SIGNING)
        answers = [document(USE_NONCE, status, dpop_nonce="n1"), token_answer(token_type="DPoP")]
        play(request_tokens(request, GRANT), answers, asked)
        first, second = fetches(asked)
        with case(status):
            assert "nonce" not in proof_claims(first)
            assert proof_claims(second)["nonce"] == "n1"
            assert proof_claims(first)["jti"] != proof_claims(second)["jti"]
            assertions = {form_sent(fetch)["client_assertion"] for fetch in (first, second)}
            assert len(assertions) == 2, "an assertion is shown once only"


def test_a_nonce_that_comes_with_tokens_is_used_next_time() -> None:
    dpop = DPoP()
    given = replace(token_answer(token_type="DPoP"), headers={"dpop-nonce": "n2"})
    send_request(given, dpop=dpop)
    assert proof_claims(send_request(token_answer(token_type="DPoP"), dpop=dpop))["nonce"] == "n2"


def test_a_nonce_that_another_request_has_brought_meanwhile_is_used() -> None:
    dpop = DPoP()
    flow = request_tokens(token_request(dpop=dpop), GRANT)
    first = next(flow)
    dpop.take_nonce(TOKEN_ENDPOINT, {"dpop-nonce": "n1"})
    second = flow.send(document(USE_NONCE, 400, dpop_nonce="n1"))
    [before, after] = [proof_claims(fetch) for fetch in fetches([first, second])]
    assert ("nonce" in before, after["nonce"]) == (False, "n1")


def test_a_server_that_asks_for_nonces_for_ever_is_given_up() -> None:
    flow = request_tokens(token_request(dpop=DPoP()), GRANT)
    answers = [document(USE_NONCE, 400, dpop_nonce=f"n{number}") for number in range(2)]
    with pytest.raises(OAuthError) as refused:
        play(flow, answers)
    assert refused.value.error == "use_dpop_nonce"


def test_a_nonce_is_not_asked_for_by_other_errors_or_without_one() -> None:
    other = document({"error": "invalid_grant"}, 400, dpop_nonce="n")
    for answer in (other, document(USE_NONCE, 400)):
        with case(answer), pytest.raises(OAuthError):
            play(request_tokens(token_request(dpop=DPoP()), GRANT), [answer])
    with pytest.raises(OAuthError):
        tokens(document(USE_NONCE, 400, dpop_nonce="n"), dpop=None)


def test_no_secret_is_in_what_a_request_shows_of_itself() -> None:
    posting = replace(
        SECRET, private_key="secret key", token_endpoint_auth_method="client_secret_post"
    )
    for client in (SECRET, posting):
        request = send_request(client=client, dpop=DPoP())
        for text in (repr(request), repr(token_request(client=client))):
            with case(text):
                assert "secret" not in text.replace("client_secret", "")
