"""The authorization code grant: the opened page, and the accepted responses."""

from urllib.parse import quote

import pytest
from mcp_protogen.runtime.core.base64url import text_digest
from mcp_protogen.runtime.features.auth.client.grants import (
    AuthorizationCode,
    SentRequest,
    authorization_request,
    check_response,
)
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, OAuthError
from mcp_protogen.runtime.features.auth.steps import (
    Answer,
    AuthorizationRequest,
    AuthorizationResponse,
    Step,
)
from support.auth.playing import form_sent, pages, play
from support.auth.token_requests import (
    ISSUER,
    REDIRECT_URI,
    RESOURCE,
    metadata,
    query_of,
    redirect_back,
    token_answer,
    token_request,
)
from support.tables import case

ADVERTISED = metadata(authorization_response_iss_parameter_supported=True)


def send_request(**members: object) -> SentRequest:
    return authorization_request(token_request(**members), {})


def answer(step: Step) -> Answer:
    """Agree as the user, and then answer as a server that issues tokens."""
    return (
        redirect_back(step, code="c") if isinstance(step, AuthorizationRequest) else token_answer()
    )


@pytest.mark.shows("PK-01", "PK-02", "PK-03", "RI-01", "RI-02", "IS-06")
def test_the_user_opens_a_page_with_pkce_resource_scopes_and_state() -> None:
    request = send_request(scopes=frozenset({"b", "a"}))
    endpoint, _, _ = request.request.url.partition("?")
    assert endpoint == f"{ISSUER}/authorize"
    assert query_of(request.request.url) == {
        "response_type": "code",
        "client_id": "the client",
        "redirect_uri": REDIRECT_URI,
        "state": request.request.state,
        "scope": "a b",
        "resource": RESOURCE,
        "code_challenge": text_digest(request.verifier),
        "code_challenge_method": "S256",
    }


def test_the_challenge_is_that_of_the_standard() -> None:
    # RFC 7636, appendix B
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert text_digest(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_each_request_has_a_state_and_a_verifier_of_its_own_that_nobody_guesses() -> None:
    requests = [send_request() for _ in range(3)]
    assert len({request.request.state for request in requests}) == 3
    assert len({request.verifier for request in requests}) == 3
    for request in requests:
        assert len(request.request.state) >= 40
        assert 43 <= len(request.verifier) <= 128, "RFC 7636, section 4.1"


def test_query_omits_absent_options() -> None:
    query = query_of(send_request(resource=None).request.url)
    assert not query.keys() & {"resource", "scope", "prompt", "dpop_jkt"}


@pytest.mark.shows("RF-03")
def test_the_user_is_asked_anew_where_a_refresh_token_is_wanted() -> None:
    query = query_of(send_request(scopes=frozenset({"a", "offline_access"})).request.url)
    assert (query["scope"], query["prompt"]) == ("a offline_access", "consent")


def test_a_code_is_bound_to_the_key_of_its_tokens() -> None:
    dpop = DPoP()
    assert query_of(send_request(dpop=dpop).request.url)["dpop_jkt"] == dpop.thumbprint


def test_parameters_are_added_and_change_nothing_that_the_flow_depends_on() -> None:
    parameters = {"login_hint": "a@b.example", "prompt": "none", "state": "x", "resource": "y"}
    request = token_request(scopes=frozenset({"offline_access"}))
    opened = authorization_request(request, parameters).request
    query = query_of(opened.url)
    assert (query["login_hint"], query["prompt"]) == ("a@b.example", "none")
    assert (query["state"], query["resource"]) == (opened.state, RESOURCE)


def test_the_query_of_the_endpoint_is_kept() -> None:
    server = metadata(authorization_endpoint=f"{ISSUER}/authorize?tenant=a%20b")
    url = send_request(server=server).request.url
    assert url.startswith(f"{ISSUER}/authorize?tenant=a%20b&")
    assert query_of(url)["client_id"] == "the client"


@pytest.mark.shows("PK-04")
def test_a_server_that_does_not_say_it_has_s256_is_not_used() -> None:
    for methods in (None, (), ("plain",), ("s256",)):
        with case(methods), pytest.raises(AuthorizationError):
            send_request(server=metadata(code_challenge_methods_supported=methods))
    assert send_request(server=metadata(code_challenge_methods_supported=("plain", "S256")))


def test_endpoints_that_no_document_names_are_used_with_pkce() -> None:
    server = metadata(code_challenge_methods_supported=None, is_document=False)
    assert query_of(send_request(server=server).request.url)["code_challenge_method"] == "S256"


def test_missing_requirements_of_login_are_errors() -> None:
    for missing in (
        {"server": metadata(authorization_endpoint=None)},
        {"client": None},
        {"redirect_uri": None},
    ):
        with case(missing), pytest.raises(AuthorizationError):
            send_request(**missing)


@pytest.mark.shows("PK-02", "RI-01")
def test_the_code_becomes_tokens_with_the_verifier_of_its_challenge() -> None:
    asked: list[Step] = []
    tokens = play(AuthorizationCode().tokens(token_request()), answer, asked)
    assert tokens.access_token == "a-token"
    [page] = pages(asked)
    form = form_sent(asked[1])
    assert text_digest(form.pop("code_verifier")) == query_of(page.url)["code_challenge"]
    assert form == {
        "grant_type": "authorization_code",
        "code": "c",
        "redirect_uri": REDIRECT_URI,
        "resource": RESOURCE,
        "client_id": "the client",
    }


def response(request: SentRequest, **params: str) -> AuthorizationResponse:
    return redirect_back(request.request, **{name: quote(text) for name, text in params.items()})


# 2026-07-28, basic/authorization, "Authorization Response Validation": whether the metadata
# announces `iss`, the sent `iss`, and whether the response is accepted.
NORMALISED = (f"{ISSUER}/", ISSUER.upper(), f"{ISSUER}:443", "https://auth%2Eexample", f" {ISSUER}")
ISS = (
    (True, ISSUER, True),
    (True, None, False),
    (True, "https://evil.example", False),
    (True, "", False),
    (False, ISSUER, True),
    (False, None, True),
    (False, "https://evil.example", False),
    (False, "", False),
    *((advertised, iss, False) for advertised in (True, False) for iss in NORMALISED),
)


@pytest.mark.shows("IS-01", "IS-02", "IS-03", "IS-04")
def test_the_issuer_of_a_response_is_compared_as_text() -> None:
    for advertised, iss, believed in ISS:
        request = send_request(server=ADVERTISED if advertised else metadata())
        told = {} if iss is None else {"iss": iss}
        with case((advertised, iss)):
            if believed:
                assert check_response(request, response(request, code="c", **told)) == "c"
                continue
            for params in ({"code": "c"}, {"error": "access_denied", "error_description": "Hi"}):
                with pytest.raises(AuthorizationError) as refused:
                    check_response(request, response(request, **params, **told))
                assert type(refused.value) is AuthorizationError
                assert "Hi" not in str(refused.value)
                assert "evil" not in str(refused.value)


@pytest.mark.shows("IS-03", "IS-04")
def test_only_a_slash_at_the_end_of_the_issuer_of_a_response_is_accepted_on_request() -> None:
    tenant = f"{ISSUER}/tenant"
    for issuer, stated, believed in (
        (ISSUER, f"{ISSUER}/", True),
        (f"{tenant}/", tenant, True),
        (ISSUER, f"{ISSUER}//", False),
        (tenant, f"{ISSUER}/", False),
        *((ISSUER, iss, False) for iss in ("https://evil.example/", "", *NORMALISED[1:])),
    ):
        request = send_request(server=metadata(issuer=issuer), trailing_slash=True)
        with case((issuer, stated)):
            answered = response(request, code="c", iss=stated)
            if believed:
                assert check_response(request, answered) == "c"
            else:
                with pytest.raises(AuthorizationError, match="another authorization server"):
                    check_response(request, answered)
    with pytest.raises(AuthorizationError, match="does not name"):
        request = send_request(server=ADVERTISED, trailing_slash=True)
        check_response(request, response(request, code="c"))


@pytest.mark.shows("IS-01")
def test_issuer_support_is_stored_with_request() -> None:
    for server in (ADVERTISED, metadata()):
        assert send_request(server=server).tokens.server == server


@pytest.mark.shows("IS-06")
def test_a_response_without_the_state_of_the_request_is_dropped() -> None:
    request = send_request()
    state = request.request.state
    for query in ("", "state=", f"state={state}x", f"state={state[:-1]}", "state=%C3%A9"):
        for rest in ("&code=c", "&error=access_denied&error_description=Hi"):
            url = f"{REDIRECT_URI}?{query}{rest}"
            with case(url), pytest.raises(AuthorizationError) as refused:
                check_response(request, AuthorizationResponse(url=url))
            assert type(refused.value) is AuthorizationError
            assert "Hi" not in str(refused.value)
    other = redirect_back(send_request().request, code="c")
    with pytest.raises(AuthorizationError):
        check_response(request, other)


def test_the_code_does_not_go_anywhere_before_the_response_was_checked() -> None:
    def mixed_up(step: Step) -> Answer:
        assert isinstance(step, AuthorizationRequest), "a token was asked for"
        return redirect_back(step, code="c", iss="https://evil.example")

    with pytest.raises(AuthorizationError):
        play(AuthorizationCode().tokens(token_request()), mixed_up)


def test_an_error_is_told_with_what_the_server_says() -> None:
    request = send_request(server=ADVERTISED)
    for params, error, description in (
        ({"error": "access_denied"}, "access_denied", None),
        ({"error": "x", "error_description": "No\r\n\x1b[31mway"}, "x", "No [31mway"),
        ({"error": "y" * 200, "code": "c"}, "y" * 100, None),
        ({"error": "", "code": "c"}, "", None),
    ):
        with case(params), pytest.raises(OAuthError) as refused:
            check_response(request, response(request, iss=ISSUER, **params))
        assert (refused.value.error, refused.value.description) == (error, description)


def test_responses_that_are_none_are_refused() -> None:
    request = send_request()
    state = request.request.state
    for url in (
        f"{REDIRECT_URI}?state={state}",
        f"{REDIRECT_URI}?state={state}&code=",
        f"{REDIRECT_URI}?state={state}&code=a&code=b",
        f"{REDIRECT_URI}?state={state}&state={state}&code=a",
        f"{REDIRECT_URI}?state={state}&code=a&iss={ISSUER}&iss={ISSUER}",
        f"{REDIRECT_URI}#state={state}&code=a",
        f"{REDIRECT_URI}?state={state}&code=%FF",
        f"{REDIRECT_URI}?state={state}&code=a{'&b' * 200}",
        f"{REDIRECT_URI}?state={state}&code={'a' * 70_000}",
        f"http://[?state={state}&code=a",
        "\ud800?state=\ud800",
        "",
    ):
        with case(url[:80]), pytest.raises(AuthorizationError):
            check_response(request, AuthorizationResponse(url=url))


def test_response_is_read_up_to_its_limits() -> None:
    request = send_request(server=ADVERTISED)
    state = request.request.state
    url = f"{REDIRECT_URI}?state={state}&iss={ISSUER}&code=c"
    longest, most = 64 * 1024, 100
    # Three parameters belong to the protocol.
    others = "".join(f"&x{number}=" for number in range(most - 3))
    for right, wrong in (
        (url + "a" * (longest - len(url)), url + "a" * (longest - len(url) + 1)),
        (url + others, f"{url}{others}&y="),
    ):
        with case(wrong[-20:]):
            code = check_response(request, AuthorizationResponse(url=right))
            assert code.startswith("c")
            with pytest.raises(AuthorizationError, match="is invalid"):
                check_response(request, AuthorizationResponse(url=wrong))


def test_a_redirect_uri_may_have_a_query_of_its_own() -> None:
    request = send_request(redirect_uri="https://app.example/back?account=1")
    url = f"{request.request.redirect_uri}&state={request.request.state}&code=a%2Fb"
    assert check_response(request, AuthorizationResponse(url=url)) == "a/b"


def test_repr_of_request_hides_secrets() -> None:
    request = send_request()
    for text in (repr(request), str(request)):
        assert request.verifier not in text
    assert request.request.state not in repr(response(request, code="a-code"))
    assert "a-code" not in repr(response(request, code="a-code"))
