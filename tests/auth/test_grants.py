"""The four grants: their requests and receivers."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.grants import (
    AuthorizationCode,
    ClientCredentials,
    EnterpriseManaged,
    Grant,
    WorkloadIdentity,
)
from mcp_protogen.runtime.features.auth.client.token_endpoint import TokenRequest
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.errors import AuthorizationError, OAuthError
from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.features.auth.steps import Assertion, Step
from support.auth.pem import pem_of
from support.auth.playing import document, fetches, form_sent, play, urls
from support.auth.token_requests import (
    ISSUER,
    RESOURCE,
    TOKEN_ENDPOINT,
    basic_of,
    metadata,
    token_answer,
    token_request,
)
from support.tables import case

SCOPED = frozenset({"b", "a"})
CONFIDENTIAL = ClientInformation(client_id="c", client_secret="s")

JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
IDP = "https://idp.example"
LOGIN = ClientInformation(client_id="at the provider")
ID_JAG = {
    "access_token": "the.id.jag",
    "issued_token_type": "urn:ietf:params:oauth:token-type:id-jag",
    "token_type": "N_A",
}
MANAGED = EnterpriseManaged(
    identity_provider=IDP, token_endpoint=f"{IDP}/token", subject_token="the.id.token", client=LOGIN
)


def steps_of(grant: Grant, answers: Any, **members: Any) -> list[Step]:
    """Return the steps of a grant up to its tokens."""
    asked: list[Step] = []
    request: TokenRequest = token_request(**{"client": CONFIDENTIAL, **members})
    assert play(grant.tokens(request), answers, asked).access_token == "a-token"
    return asked


def test_parameters_that_the_flow_sets_are_refused_by_name() -> None:
    for name in ("state", "resource", "scope", "redirect_uri", "code_challenge"):
        with case(name), pytest.raises(ValueError, match=name):
            AuthorizationCode(parameters={"login_hint": "me", name: "x"})


@pytest.mark.shows("CC-01", "CC-02", "RI-01")
def test_client_credentials_are_shown_with_resource_and_scopes() -> None:
    [request] = steps_of(ClientCredentials(), [token_answer()], scopes=SCOPED)
    assert basic_of(request) == "c:s"
    assert form_sent(request) == {
        "grant_type": "client_credentials",
        "resource": RESOURCE,
        "scope": "a b",
        "client_id": "c",
    }
    signing = ClientInformation(client_id="c", private_key=pem_of(PrivateKey.generate()))
    [request] = steps_of(ClientCredentials(), [token_answer()], client=signing)
    assert form_sent(request).keys() == {
        "grant_type",
        "resource",
        "client_assertion",
        "client_assertion_type",
    }


@pytest.mark.shows("WI-01")
def test_a_workload_shows_its_assertion_and_neither_secret_nor_registration() -> None:
    for client in (None, ClientInformation(client_id="w")):
        grant = WorkloadIdentity(assertion="a.b.c")
        [request] = steps_of(grant, [token_answer()], client=client, scopes=SCOPED)
        form = {
            "grant_type": JWT_BEARER,
            "assertion": "a.b.c",
            "resource": RESOURCE,
            "scope": "a b",
        }
        with case(client):
            assert form_sent(request) == form | ({"client_id": "w"} if client else {})
            assert basic_of(request) is None


@pytest.mark.shows("WI-02")
def test_a_workload_that_is_refused_does_not_try_again() -> None:
    for error in ("invalid_grant", "invalid_scope", "unauthorized_client"):
        flow = WorkloadIdentity(assertion="a").tokens(token_request(client=None))
        with case(error), pytest.raises(OAuthError) as refused:
            play(flow, [document({"error": error}, 400)])
        assert refused.value.error == error


@pytest.mark.shows("EM-01", "EM-02")
def test_the_login_at_an_identity_provider_is_exchanged_for_a_grant_and_that_for_tokens() -> None:
    exchange, request = steps_of(MANAGED, [document(ID_JAG), token_answer()], scopes=SCOPED)
    assert urls([exchange, request]) == [f"{IDP}/token", TOKEN_ENDPOINT]
    assert form_sent(exchange) == {
        "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
        "requested_token_type": "urn:ietf:params:oauth:token-type:id-jag",
        "subject_token": "the.id.token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:id_token",
        "audience": ISSUER,
        "resource": RESOURCE,
        "scope": "a b",
        "client_id": "at the provider",
    }
    assert basic_of(exchange) is None
    assert basic_of(request) == "c:s"
    assert form_sent(request) == {
        "grant_type": JWT_BEARER,
        "assertion": "the.id.jag",
        "resource": RESOURCE,
        "scope": "a b",
        "client_id": "c",
    }


def test_each_of_the_two_servers_sees_its_own_credentials_only() -> None:
    login = ClientInformation(client_id="i", client_secret="other")
    grant = replace(
        MANAGED, client=login, subject_token_type="urn:ietf:params:oauth:token-type:saml2"
    )
    dpop = DPoP()
    bound = token_answer(token_type="DPoP")
    exchange, request = fetches(steps_of(grant, [document(ID_JAG), bound], dpop=dpop))
    assert (basic_of(exchange), basic_of(request)) == ("i:other", "c:s")
    assert ("dpop" in exchange.headers, "dpop" in request.headers) == (False, True)
    assert form_sent(exchange)["subject_token_type"] == grant.subject_token_type
    assert "subject_token" not in form_sent(request)


def test_an_identity_provider_is_found_by_its_issuer() -> None:
    provider = {"issuer": IDP, "token_endpoint": f"{IDP}/oauth2/token"}
    answers = {
        f"{IDP}/.well-known/openid-configuration": document(provider),
        f"{IDP}/oauth2/token": document(ID_JAG),
        TOKEN_ENDPOINT: token_answer(),
    }
    asked = steps_of(replace(MANAGED, token_endpoint=None), answers)
    assert urls(asked) == [f"{IDP}/.well-known/oauth-authorization-server", *answers]


@pytest.mark.shows("EM-03")
def test_a_server_that_says_it_takes_other_profiles_only_is_not_asked() -> None:
    name = "authorization_grant_profiles_supported"
    for profiles in ((), ("urn:other",)):
        request = token_request(server=metadata(**{name: profiles}))
        with case(profiles), pytest.raises(AuthorizationError):
            play(MANAGED.tokens(request), [])
    known = ("urn:ietf:params:oauth:grant-profile:id-jag",)
    steps_of(MANAGED, [document(ID_JAG), token_answer()], server=metadata(**{name: known}))


def test_an_exchange_that_gives_something_else_ends_the_flow() -> None:
    access_token = "urn:ietf:params:oauth:token-type:access_token"
    for answer in (
        document({**ID_JAG, "issued_token_type": access_token}),
        document({**ID_JAG, "issued_token_type": None}),
        document({**ID_JAG, "access_token": "a b"}),
        document({"error": "invalid_target"}, 400),
    ):
        with case(answer.body), pytest.raises(AuthorizationError):
            play(MANAGED.tokens(token_request()), [answer])


@pytest.mark.shows("EM-05")
def test_no_assertion_shows_itself() -> None:
    for shown in (MANAGED, WorkloadIdentity(assertion="the.assertion"), Assertion(value="the.as")):
        assert "the." not in repr(shown)
    said = {"error": "invalid_grant", "error_description": "bad subject_token the.id.token"}
    with pytest.raises(OAuthError) as refused:
        play(MANAGED.tokens(token_request()), [document(said, 400)])
    assert "the.id" not in str(refused.value)
