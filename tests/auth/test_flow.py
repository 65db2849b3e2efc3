"""The whole way to a token, against correct and misbehaving servers."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.flow import authorize, refresh
from mcp_protogen.runtime.features.auth.client.grants import (
    AuthorizationCode,
    ClientCredentials,
    EnterpriseManaged,
    WorkloadIdentity,
)
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.values import ClientInformation, Refusal, Tokens
from mcp_protogen.runtime.features.auth.dpop import DPoP
from mcp_protogen.runtime.features.auth.errors import (
    AuthorizationError,
    InvalidMetadata,
    OAuthError,
    Unreachable,
)
from mcp_protogen.runtime.features.auth.signing import PrivateKey
from mcp_protogen.runtime.features.auth.steps import AuthorizationRequest, Fetched, Step
from support import tables
from support.auth.authorization_server import AuthorizationServer, Behaviour, Client
from support.auth.pem import pem_of
from support.auth.playing import Given, document, play, urls
from support.auth.resource import Resource
from support.auth.token_requests import REDIRECT_URI, redirect_back
from support.auth.visiting import Visit
from support.fuzzing import bent_documents
from support.tables import case

ISSUER = "https://login.example.com"
OTHER = "https://other.example.com"
URL = "https://mcp.example.com/mcp"
ABOUT = "https://app.example.com/client.json"
NEVER = Behaviour(refreshes=False)


def server(**setup: Any) -> AuthorizationServer:
    return AuthorizationServer(**setup)


def visit(
    one: AuthorizationServer, resource: Mapping[str, Any] | None = None, **settings: Any
) -> Visit:
    """Return a client of a resource with one authorization server."""
    return Visit(one, Resource([one], **(resource or {})), **settings)


UNSAID: dict[str, Any] = {"authorization_response_iss_parameter_supported": None}
TENANT = f"{ISSUER}/tenant1"

# Set-ups of the official suite for clients that must succeed, and more: the issuer, the behaviour
# of the authorization server, and the resource.
GOOD_WORLDS: tuple[tuple[str, str, dict[str, Any], dict[str, Any]], ...] = (
    ("metadata named in the challenge", ISSUER, {}, {}),
    ("metadata at the path", ISSUER, {}, {"where": frozenset({"path", "root"})}),
    (
        *("metadata at the root, of the whole host", TENANT, {}),
        {"where": frozenset({"root"}), "document": {"resource": "https://mcp.example.com"}},
    ),
    ("OpenID Connect", ISSUER, {"places": ("openid-inserted",)}, {}),
    ("OpenID Connect after the path", TENANT, {"places": ("openid-appended",)}, {}),
    ("issuer that ends with a slash", f"{ISSUER}/", {}, {}),
    ("issuer not sent or announced", ISSUER, {"metadata": UNSAID, "redirected": {"iss": None}}, {}),
    ("Basic", ISSUER, {"auth_method": "client_secret_basic"}, {}),
    ("secret posted", ISSUER, {"auth_method": "client_secret_post"}, {}),
    ("no refresh tokens", ISSUER, {"refreshes": False}, {}),
    ("scopes in challenge and metadata", ISSUER, {}, {"scopes": ("read", "write")}),
    ("scopes in the metadata", ISSUER, {}, {"scopes": ("read",), "challenge": {"scope": None}}),
)


@pytest.mark.shows("GE-02", "PR-05", "PR-06", "PR-07", "AM-08", "AM-10", "AM-11", "AM-12", "TK-01")
def test_a_client_gets_a_token_that_the_resource_takes() -> None:
    for name, issuer, behaviour, resource in GOOD_WORLDS:
        with case(name):
            guest = visit(server(issuer=issuer, behaviour=Behaviour(**behaviour)), resource)
            known = guest.authorize()
            assert guest.call().status == 200
            assert known.server
            assert known.client
            assert known.server.issuer == issuer == known.client.issuer
            assert known.resource == guest.resource.document()["resource"]
            assert len(guest.resource.servers[0].requests_to("token")) == 1


@pytest.mark.shows("AM-01", "AM-03", "AM-04", "AM-05")
def test_a_server_of_2025_03_26_issues_its_tokens_itself() -> None:
    origin = "https://mcp.example.com"
    options = Behaviour(claims={"aud": URL})
    for name, behaviour in (
        ("its document", replace(options, base="/oauth")),
        ("default endpoints", replace(options, places=())),
    ):
        one = server(issuer=origin, behaviour=behaviour)
        guest = visit(one, {"where": frozenset()})
        with case(name):
            known = guest.authorize()
            assert guest.call().status == 200
            assert (known.resource, known.resource_metadata) == (None, None)
            for step in guest.asked:
                assert "resource=" not in urls([step])[0]
            assert [request.url for request in one.requests_to("token")] == [one.url("token")]


DESCRIBED = Client(client_id=ABOUT, redirect_uris=(REDIRECT_URI,))
DOCUMENTS = {"client_id_metadata_document_supported": True}


def client_information(**members: Any) -> ClientInformation:
    usual: dict[str, Any] = {"client_id": "given", "client_secret": "s/1"}
    return ClientInformation(**{**usual, **members})


KNOWN = Client(
    client_id="given",
    client_secret="s/1",
    auth_method="client_secret_basic",
    redirect_uris=(REDIRECT_URI,),
)


FOUND = ("metadata",)
REACHED = ("metadata", "register", "authorize")
NO_PKCE: dict[str, Any] = {"code_challenge_methods_supported": None}
ELSEWHERE = {"document": {"resource": "https://evil.example.com/mcp"}}


# Set-ups of the official suite for clients that must stop, and more: the behaviour of the
# authorization server, the resource, the error, and the reached endpoints.
BAD_WORLDS: tuple[
    tuple[str, dict[str, Any], dict[str, Any], type[Exception], tuple[str, ...]], ...
] = (
    ("of another issuer", {"metadata": {"issuer": OTHER}}, {}, InvalidMetadata, FOUND),
    ("of an issuer /", {"metadata": {"issuer": f"{ISSUER}/"}}, {}, InvalidMetadata, FOUND),
    ("of another resource", {}, ELSEWHERE, InvalidMetadata, ()),
    ("no PKCE", {"metadata": NO_PKCE}, {}, AuthorizationError, FOUND),
    ("no page", {"metadata": {"authorization_endpoint": None}}, {}, AuthorizationError, FOUND),
    *(
        (name, {"redirected": {"iss": iss}, "metadata": said}, {}, AuthorizationError, REACHED)
        for said in ({}, UNSAID)
        for name, iss in (("wrong issuer", OTHER), ("normalised issuer", f"{ISSUER}/"))
    ),
    ("issuer missing", {"redirected": {"iss": None}}, {}, AuthorizationError, REACHED),
    ("another state", {"redirected": {"state": "x"}}, {}, AuthorizationError, REACHED),
    ("refused", {"redirected": {"error": "access_denied"}}, {}, OAuthError, REACHED),
)


@pytest.mark.shows("GE-06", "PR-09", "AM-13", "PK-04", "IS-02", "IS-03", "IS-04", "IS-06")
def test_a_client_stops_where_something_is_wrong() -> None:
    for name, behaviour, resource, error, reached in BAD_WORLDS:
        one = server(behaviour=Behaviour(**behaviour))
        with case(name):
            with pytest.raises(AuthorizationError) as stopped:
                visit(one, resource).authorize()
            assert type(stopped.value) is error
            assert tuple(dict.fromkeys(map(one.endpoint_of, one.requests))) == reached


@pytest.mark.shows("SC-08", "SC-09", "SC-12")
def test_a_step_up_asks_for_what_was_granted_before_and_what_is_needed_now() -> None:
    one = server(scopes=("read", "write"))
    guest = visit(one, {"scopes": ("read",)})
    guest.authorize()
    guest.resource.needed = frozenset({"write"})
    known = guest.authorize(operation="tools/call write_file")
    assert [request.query["scope"] for request in one.requests_to("authorize")] == [
        "read",
        "read write",
    ]
    assert guest.call().status == 200
    assert known.requested_scopes == frozenset({"read", "write"})
    assert len(one.requests_to("register")) == 1
    assert len(one.requests_to("metadata")) == 1, "what a step-up needs is known"


def test_a_step_up_without_earlier_knowledge_finds_everything_first() -> None:
    one = server(scopes=("read", "write"))
    guest = visit(one, {"scopes": ("read", "write")})
    token = one.access_token(URL, "read")
    refusal = guest.world.refusal(guest.resource, {"Authorization": f"Bearer {token}"})
    assert refusal.status == 403
    guest.authorize(refusal)
    assert guest.call().status == 200


def test_a_request_that_is_forbidden_for_other_reasons_asks_nobody() -> None:
    guest = visit(server())
    for header in ((), ('Bearer error="invalid_token"',), ("Basic",)):
        with case(header), pytest.raises(AuthorizationError):
            guest.authorize(Refusal(status=403, www_authenticate=header))
        assert guest.asked == []


def test_a_token_endpoint_that_is_away_does_not_send_the_user_to_a_page() -> None:
    one = server()
    guest = visit(one)
    guest.authorize()
    one.tokens.clear()
    for behaviour in ({"stalled": frozenset({"token"})}, {"instead": {"token": UNAVAILABLE}}):
        one.behave(**behaviour)
        with case(behaviour), pytest.raises(Unreachable):
            guest.authorize()
    assert len(one.requests_to("authorize")) == 1


UNAVAILABLE = Fetched(status=503)


def test_a_registration_that_is_gone_is_made_anew() -> None:
    one = server(behaviour=NEVER)
    guest = visit(one)
    guest.authorize()
    one.tokens.clear()
    refusal = guest.world.refusal(guest.resource)

    def forgetful(step: Step) -> Given:
        given = guest.world(step)
        if len(one.requests_to("authorize")) == 2 and len(one.requests_to("register")) == 1:
            one.clients.clear()
        return given

    flow = authorize(guest.settings, guest.known, refusal, redirect_uri=REDIRECT_URI)
    guest.known = play(flow, forgetful)
    assert guest.call().status == 200
    assert len(one.requests_to("register")) == 2


def test_the_user_is_asked_once_where_a_refresh_is_of_no_use() -> None:
    one = server()
    guest = visit(one)
    guest.authorize()
    one.tokens.clear()
    one.clients.clear()
    guest.authorize()
    assert (len(one.requests_to("register")), len(one.requests_to("authorize"))) == (2, 2)
    guest.authorize(Refusal(status=401, www_authenticate=('Bearer scope="more"',)))
    assert one.requests_to("token")[-1].form["grant_type"] == "authorization_code"


def test_a_client_that_was_never_registered_is_not_tried_twice() -> None:
    rows: tuple[dict[str, Any], ...] = (
        {"client": client_information()},
        {"client_metadata_url": ABOUT},
    )
    for settings in rows:
        one = server(clients=(KNOWN, DESCRIBED), behaviour=replace(NEVER, metadata=DOCUMENTS))
        guest = visit(one, **settings)
        guest.authorize()
        one.tokens.clear()
        one.behave(instead={"token": UNKNOWN})
        with case(settings), pytest.raises(OAuthError):
            guest.authorize()
        assert (len(one.requests_to("register")), len(one.requests_to("authorize"))) == (0, 2)


UNKNOWN = document({"error": "invalid_client"}, 401)


@pytest.mark.shows("RE-15", "RE-17", "TK-06", "PR-08")
def test_another_authorization_server_gets_nothing_that_belongs_to_the_one_before() -> None:
    scopes = ("read", "write")
    first = server(scopes=scopes)
    second = server(issuer=OTHER, scopes=scopes)
    resource = Resource([first], scopes=("read",))
    guest = Visit(first, second, resource)
    before = guest.authorize()
    resource.servers[:] = [second]
    resource.needed = frozenset({"write"})
    after = guest.authorize()
    assert guest.call().status == 200
    assert after.server
    assert after.server.issuer == OTHER
    assert after.client
    assert before.client
    assert after.client != before.client
    assert before.tokens
    assert len(first.requests_to("token")) == 1, "its refresh token is of no use any more"
    shown = [f"{request.url} {request.body!r} {request.headers}" for request in second.requests]
    assert "of-login.example.com" in before.client.client_id
    for secret in (before.tokens.refresh_token, before.tokens.access_token, "of-login"):
        assert secret
        assert not any(secret in text for text in shown)
    assert second.requests_to("authorize")[0].query["scope"] == "write"


@pytest.mark.shows("PR-08", "RE-16")
def test_of_several_authorization_servers_the_one_that_is_known_is_asked() -> None:
    first, second = server(), server(issuer=OTHER, clients=(KNOWN,))
    for settings, listed, asked in (
        ({}, [first, second], first),
        ({"client": client_information(issuer=OTHER)}, [first, second], second),
    ):
        guest = Visit(first, second, Resource(listed), **settings)
        guest.authorize()
        with case(settings):
            assert guest.known.server
            assert guest.known.server.issuer == asked.issuer
    resource = Resource([first])
    guest = Visit(first, second, resource)
    guest.authorize()
    first.tokens.clear()
    resource.servers[:] = [second, first]
    known = guest.authorize()
    assert known.server
    assert known.server.issuer == ISSUER, "it is still listed"


def test_client_logs_in_and_stays_registered_where_issuers_differ_by_a_slash_at_the_end() -> None:
    one = server()
    resource = Resource([one], document={"authorization_servers": [f"{ISSUER}/"]})
    with pytest.raises(InvalidMetadata, match="belongs to another"):
        Visit(one, resource).authorize()
    guest = Visit(one, resource, trailing_slash=True)
    known = guest.authorize()
    assert guest.call().status == 200
    assert known.server and known.client
    # As stored when the metadata still had another issuer.
    guest.known = replace(
        known,
        tokens=None,
        server=replace(known.server, issuer=f"{ISSUER}/"),
        client=replace(known.client, issuer=f"{ISSUER}/"),
    )
    one.requests.clear()
    again = guest.authorize().client
    assert again and again.client_id == known.client.client_id
    assert not one.requests_to("register")


IDP = "https://idp.example.com"


@pytest.mark.shows("CC-01", "CC-02", "CC-04")
def test_a_program_gets_tokens_for_itself() -> None:
    signing = replace(KNOWN, client_secret=None, auth_method="private_key_jwt")
    key = pem_of(PrivateKey.generate())
    for client, known in (
        (client_information(), KNOWN),
        (client_information(client_secret=None, private_key=key), signing),
    ):
        one = server(clients=(known,))
        guest = visit(one, {"scopes": ("read",)}, grant=ClientCredentials(), client=client)
        with case(client):
            guest.authorize()
            assert guest.call().status == 200
            assert not one.requests_to("register")
            assert one.requests_to("token")[0].form["scope"] == "read"
            guest.refresh()
            assert urls(guest.asked) == [f"{ISSUER}/token"]
            assert (
                one.requests_to("token")[1].form == one.requests_to("token")[0].form
                or client.private_key
            )


@pytest.mark.shows("RE-16", "TK-06")
def test_only_the_authorization_server_of_the_settings_is_shown_anything() -> None:
    for grant, client in (
        (AuthorizationCode(), client_information()),
        (ClientCredentials(), client_information()),
        (WorkloadIdentity(assertion="of the platform"), None),
    ):
        one = server(clients=(KNOWN,))
        with case(grant):
            with pytest.raises(AuthorizationError, match=f"not by {OTHER}"):
                visit(one, grant=grant, client=client, issuer=OTHER).authorize()
            assert [one.endpoint_of(request) for request in one.requests] == ["metadata"]
    first, second = server(), server(issuer=OTHER)
    Visit(first, second, Resource([first, second]), issuer=OTHER).authorize()
    assert not first.requests
    assert second.requests_to("token")


def test_tokens_of_another_server_than_the_settings_name_are_not_refreshed() -> None:
    known = visit(server()).authorize()
    for issuer in (OTHER, f"{ISSUER}/"):
        with case(issuer), pytest.raises(AuthorizationError, match="not by"):
            next(refresh(OAuthSettings(issuer=issuer), known))
    next(refresh(OAuthSettings(issuer=f"{ISSUER}/", trailing_slash=True), known))


def test_an_audience_of_assertions_is_for_a_server_that_is_named() -> None:
    with pytest.raises(ValueError, match="issuer"):
        OAuthSettings(
            client=client_information(issuer=None, assertion_audience="https://x.example")
        )


def test_a_program_without_a_client_is_not_registered() -> None:
    one = server()
    with pytest.raises(AuthorizationError):
        visit(one, grant=ClientCredentials()).authorize()
    assert [one.endpoint_of(request) for request in one.requests] == ["metadata"]


@pytest.mark.shows("WI-01", "WI-02", "WI-04")
def test_a_workload_gets_tokens_once_and_does_not_insist() -> None:
    one = server()
    for client in (None, ClientInformation(client_id="w")):
        grant = WorkloadIdentity(assertion=lambda audience: f"for {audience}")
        guest = visit(one, grant=grant, client=client)
        guest.authorize()
        with case(client):
            assert guest.call().status == 200
            assert one.requests_to("token")[-1].form["assertion"] == f"for {ISSUER}"
    refused = server()
    grant = WorkloadIdentity(assertion="of the platform")
    for error in ("invalid_grant", "invalid_client", "unauthorized_client"):
        answer = document({"error": error}, 400)
        refused.behave(instead={"token": answer})
        before = len(refused.requests_to("token"))
        with case(error), pytest.raises(OAuthError):
            visit(refused, grant=grant).authorize()
        assert len(refused.requests_to("token")) - before == 1
    for asked in (one, refused):
        assert not asked.requests_to("authorize") + asked.requests_to("register")


@pytest.mark.shows("EM-01", "EM-02", "EM-03")
def test_an_enterprise_decides_with_its_identity_provider() -> None:
    jag = {"issued_token_type": "urn:ietf:params:oauth:token-type:id-jag", "token_type": "N_A"}
    login = ClientInformation(client_id="login")
    provider = server(
        issuer=IDP, clients=(Client(client_id="login"),), behaviour=Behaviour(issued=jag)
    )
    one = server(clients=(KNOWN,))
    grant = EnterpriseManaged(identity_provider=IDP, subject_token="id token", client=login)
    resource = Resource([one], scopes=("read",))
    guest = Visit(provider, one, resource, grant=grant, client=client_information())
    guest.authorize()
    assert guest.call().status == 200
    [exchange] = provider.requests_to("token")
    assert (exchange.form["audience"], exchange.form["resource"]) == (ISSUER, URL)
    assert [one.requests_to("token")[0].form["assertion"]] == [*provider.tokens]
    assert not one.requests_to("register")


@pytest.mark.shows("DP-01", "DP-02", "DP-03")
def test_tokens_are_bound_to_the_key_of_the_client() -> None:
    for nonce in (None, "a-nonce"):
        for scheme in ("Bearer", "DPoP"):
            one = server()
            one.proofs.nonce = nonce
            guest = visit(one, {"scheme": scheme}, dpop=DPoP())
            known = guest.authorize()
            with case((nonce, scheme)):
                assert known.tokens
                assert known.tokens.token_type == "DPoP"
                assert guest.call().status == 200
                assert "dpop_jkt" in one.requests_to("authorize")[0].query
                guest.refresh()
                assert guest.call().status == 200


def test_tokens_are_not_bound_where_the_authorization_server_cannot_unless_they_have_to() -> None:
    cannot = Behaviour(metadata={"dpop_signing_alg_values_supported": None})
    others = Behaviour(metadata={"dpop_signing_alg_values_supported": ["EdDSA"]})
    for behaviour in (cannot, others):
        guest = visit(server(behaviour=behaviour), dpop=DPoP())
        known = guest.authorize()
        with case(behaviour):
            assert known.tokens
            assert known.tokens.token_type == "Bearer"
            assert guest.call().status == 200
    ignoring = Behaviour(issued={"token_type": "Bearer"})
    one = server(behaviour=ignoring)
    with pytest.raises(AuthorizationError):
        visit(one, dpop=DPoP(), dpop_required=True).authorize()


def test_a_resource_that_takes_bound_tokens_only_needs_a_key() -> None:
    one = server()
    with pytest.raises(AuthorizationError, match="DPoP"):
        visit(one, {"scheme": "DPoP"}).authorize()
    assert not one.requests_to("token")
    unsaid = Behaviour(metadata={"dpop_signing_alg_values_supported": None})
    guest = visit(server(behaviour=unsaid), {"scheme": "DPoP"}, dpop=DPoP())
    for get_tokens in (guest.authorize, guest.refresh):
        tokens = get_tokens().tokens
        assert tokens and tokens.token_type == "DPoP"
        assert guest.call().status == 200


def test_dpop_cannot_be_required_without_a_key() -> None:
    with pytest.raises(ValueError, match="dpop"):
        OAuthSettings(dpop_required=True)


def test_there_is_nothing_to_refresh_before_there_are_tokens() -> None:
    guest = visit(server(behaviour=NEVER))
    blank = guest.known
    lone = replace(blank, tokens=Tokens(access_token="a", refresh_token="r"))
    without_refresh_token = guest.authorize()
    for known, why in (
        (blank, "no tokens to refresh"),
        (lone, "server is not known"),
        (without_refresh_token, "no refresh token"),
        (replace(without_refresh_token, tokens=None), "no tokens to refresh"),
    ):
        guest.known = known
        with case(why), pytest.raises(AuthorizationError, match=why):
            guest.refresh()


@pytest.mark.shows("EM-05", "TK-02", "RF-01")
def test_no_secret_is_in_a_url_or_in_what_an_authorization_shows_of_itself() -> None:
    one = server(clients=(KNOWN,))
    guest = visit(one, client=client_information(), dpop=DPoP())
    known = guest.authorize()
    assert known.tokens
    assert known.tokens.refresh_token
    hidden = (known.tokens.access_token, known.tokens.refresh_token, "s/1", "s%2F1")
    shown = [repr(known), repr(guest.settings), *urls(guest.asked), *map(repr, guest.asked)]
    for text in shown:
        assert not any(secret in text for secret in hidden), text


def test_a_redirect_uri_is_needed_only_where_a_user_is_asked() -> None:
    one = server(clients=(KNOWN,))
    guest = visit(one, grant=ClientCredentials(), client=client_information())
    refusal = guest.world.refusal(guest.resource)
    assert play(authorize(guest.settings, guest.known, refusal), guest.world).tokens
    asking = visit(one, client=client_information())
    with pytest.raises(AuthorizationError):
        play(authorize(asking.settings, asking.known, refusal), asking.world)


def answer_from_step(guest: Visit, instead: Fetched, at: int) -> Callable[[Step], Given]:
    """Answer like the servers up to a step, and then always the same."""
    steps = iter(range(20))

    def answer(step: Step) -> Given:
        number = next(steps, None)
        assert number is not None, "the flow goes round in circles"
        if isinstance(step, AuthorizationRequest):
            return redirect_back(step, code="c", iss=ISSUER)
        return guest.world(step) if number < at else instead

    return answer


def test_whatever_servers_answer_a_flow_ends_soon_with_tokens_or_an_error() -> None:
    one = server(behaviour=NEVER)
    guest = visit(one, {"scopes": ("read",)}, dpop=DPoP())
    refusal = guest.world.refusal(guest.resource)
    seeds = [guest.resource.document(), one.metadata(), {"client_id": "c", "client_secret": "s"}]
    seeds.append({"access_token": "a", "token_type": "Bearer", "error": "use_dpop_nonce"})
    random, ends = Random("flows"), set[type[Exception] | None]()
    for body in bent_documents(seeds, tables.count(1_000, 100_000)):
        at, status = random.randrange(5), random.choice((200, 200, 201, 302, 400, 401, 404, 500))
        instead = Fetched(status=status, headers={"dpop-nonce": "n"}, body=body)
        flow = authorize(guest.settings, guest.known, refusal, redirect_uri=REDIRECT_URI)
        with case((at, status, body)):
            try:
                assert play(flow, answer_from_step(guest, instead, at)).tokens
                ends.add(None)
            except AuthorizationError as error:
                ends.add(type(error))
    assert ends == {None, AuthorizationError, InvalidMetadata, OAuthError, Unreachable}
