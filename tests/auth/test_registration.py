"""Registration of clients at an authorization server."""

from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.runtime.features.auth.client.registration import (
    application_type,
    client_metadata_document,
    identify,
)
from mcp_protogen.runtime.features.auth.client.settings import OAuthSettings
from mcp_protogen.runtime.features.auth.client.values import (
    ClientInformation,
    ClientMetadata,
    ServerMetadata,
)
from mcp_protogen.runtime.features.auth.errors import (
    AuthorizationError,
    InvalidMetadata,
    OAuthError,
)
from mcp_protogen.runtime.features.auth.steps import Fetched, Step
from support.auth.playing import document, fetches, json_sent, play
from support.tables import case

ISSUER = "https://login.example"
OTHER = "https://other.example"
REGISTER = f"{ISSUER}/register"
HOME = "http://127.0.0.1:4242/callback"
ABOUT = "https://app.example/client.json"
NOW = 1_000_000.0

SERVER = ServerMetadata(
    issuer=ISSUER,
    authorization_endpoint=f"{ISSUER}/authorize",
    token_endpoint=f"{ISSUER}/token",
    registration_endpoint=REGISTER,
    token_endpoint_auth_methods_supported=("none",),
    client_id_metadata_document_supported=True,
)
UNKNOWING = replace(SERVER, client_id_metadata_document_supported=False)
CLOSED = replace(UNKNOWING, registration_endpoint=None)
GIVEN = ClientInformation(client_id="given", client_secret="not to be seen", issuer=ISSUER)
REGISTERED = ClientInformation(
    client_id="registered", issuer=ISSUER, token_endpoint_auth_method="none", redirect_uris=(HOME,)
)


def settings(**options: Any) -> OAuthSettings:
    """Settings with a clock that stands still."""
    return OAuthSettings(clock=lambda: NOW, **options)


def registering(
    answer: Fetched, server: ServerMetadata = UNKNOWING, *uris: str, **metadata: Any
) -> tuple[ClientInformation, dict[str, Any]]:
    """Register a client; return it and the requests."""
    asked: list[Step] = []
    chosen = settings(client_metadata=ClientMetadata(**metadata))
    client = play(identify(chosen, server, uris or (HOME,), None), [answer], asked)
    return client, json_sent(asked[0])


@pytest.mark.shows("RE-05", "RE-09", "RE-12")
def test_a_known_client_comes_before_its_document_and_that_before_registering() -> None:
    both = settings(client=GIVEN, client_metadata_url=ABOUT)
    answer = document({"client_id": "new"}, 201)
    for name, chosen, server, client_id, requests in [
        ("all", both, SERVER, "given", 0),
        ("known only", both, CLOSED, "given", 0),
        ("a document", settings(client_metadata_url=ABOUT), SERVER, ABOUT, 0),
        (
            "a document that is not asked for",
            settings(client_metadata_url=ABOUT),
            UNKNOWING,
            "new",
            1,
        ),
        ("nothing", settings(), SERVER, "new", 1),
    ]:
        asked: list[Step] = []
        with case(name):
            client = play(identify(chosen, server, [HOME], None), [answer] * requests, asked)
            assert client.client_id == client_id
            assert client.issuer == ISSUER
            assert len(asked) == requests


@pytest.mark.shows("RE-05")
def test_a_client_that_cannot_be_known_says_what_its_user_has_to_do() -> None:
    for name, server, uris in [
        ("no registration", CLOSED, [HOME]),
        ("nobody to redirect, as for a program by itself", UNKNOWING, []),
    ]:
        with case(name), pytest.raises(AuthorizationError, match=r"ClientInformation\(client_id"):
            play(identify(settings(client_metadata_url=ABOUT), server, uris, None), [])


@pytest.mark.shows("RE-04", "RE-18")
def test_a_document_about_a_client_is_its_id_at_every_server() -> None:
    for issuer in (ISSUER, OTHER):
        server = replace(SERVER, issuer=issuer)
        known = ClientInformation(client_id=ABOUT, issuer=ISSUER)
        client = play(identify(settings(client_metadata_url=ABOUT), server, [HOME], known), [])
        assert client == ClientInformation(
            client_id=ABOUT, issuer=issuer, token_endpoint_auth_method="none", redirect_uris=(HOME,)
        )


@pytest.mark.shows("RE-06")
def test_only_an_https_url_with_a_path_can_be_the_id_of_a_client() -> None:
    for url in [
        "http://app.example/client.json",
        "https://app.example",
        "https://app.example/",
        "https://app.example/client.json#part",
        "https://user@app.example/client.json",
        "https://app.example/a/../client.json",
        "https://app.example/%2e/client.json",
        "client.json",
    ]:
        with case(url):
            with pytest.raises(ValueError, match=r"https.* with a path"):
                settings(client_metadata_url=url)
            with pytest.raises(ValueError, match=r"https.* with a path"):
                client_metadata_document(url, [HOME])


@pytest.mark.shows("RE-06", "RE-07", "RE-08", "RF-02")
def test_the_document_about_a_client_has_what_servers_check() -> None:
    assert client_metadata_document(ABOUT, [HOME], ClientMetadata(client_name="App")) == {
        "client_id": ABOUT,
        "client_name": "App",
        "application_type": "native",
        "redirect_uris": [HOME],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    more = ClientMetadata(extra={"jwks_uri": f"{OTHER}/keys", "client_id": "not this one"})
    signed = client_metadata_document(
        ABOUT, [HOME], more, token_endpoint_auth_method="private_key_jwt"
    )
    assert signed["client_id"] == ABOUT
    assert signed["jwks_uri"] == f"{OTHER}/keys"
    assert signed["token_endpoint_auth_method"] == "private_key_jwt"
    with pytest.raises(ValueError, match="redirect_uris"):
        client_metadata_document(ABOUT, [])


@pytest.mark.shows("RE-01", "RE-02", "RE-03", "RE-13", "RF-02", "RD-03")
def test_a_client_registers_with_all_that_a_server_has_to_know() -> None:
    asked: list[Step] = []
    chosen = settings(
        client_metadata=ClientMetadata(
            client_name="App",
            client_uri="https://app.example",
            contacts=("me@app.example",),
            software_id="app",
            extra={"scope": "a"},
        )
    )
    answer = document({"client_id": "new", "client_id_issued_at": 1, "unknown": {}}, 201)
    client = play(identify(chosen, UNKNOWING, [HOME], None), [answer], asked)
    assert client == ClientInformation(
        client_id="new", issuer=ISSUER, token_endpoint_auth_method="none", redirect_uris=(HOME,)
    )
    [request] = fetches(asked)
    assert (request.method, request.url) == ("POST", REGISTER)
    assert request.headers["content-type"] == "application/json"
    assert json_sent(request) == {
        "client_name": "App",
        "application_type": "native",
        "redirect_uris": [HOME],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
        "client_uri": "https://app.example",
        "contacts": ["me@app.example"],
        "software_id": "app",
        "scope": "a",
    }


@pytest.mark.shows("RE-13")
def test_the_type_of_an_application_follows_from_where_its_users_are_redirected() -> None:
    for uris, type in [
        ([HOME], "native"),
        (["http://localhost/callback", "http://[::1]:9/callback"], "native"),
        (["app.example:/callback"], "native"),
        (["https://app.example/callback"], "web"),
        ([HOME, "https://app.example/callback"], "web"),
        (["http://localhost.app.example/callback"], "web"),
        ([], "native"),
    ]:
        with case(uris):
            assert application_type(ClientMetadata(), uris) == type
            assert application_type(ClientMetadata(application_type="web"), uris) == "web"
            assert application_type(ClientMetadata(application_type="native"), uris) == "native"
    _, request = registering(
        document({"client_id": "new"}), UNKNOWING, "https://app.example/callback"
    )
    assert request["application_type"] == "web"


def test_a_client_registers_to_authenticate_as_suits_it_and_the_server() -> None:
    basic, post = "client_secret_basic", "client_secret_post"
    for supported, native, web in [
        (("none",), "none", "none"),
        ((post, basic, "none"), "none", basic),
        ((post, "none"), "none", post),
        ((basic,), basic, basic),
        ((post,), post, post),
        # The default of RFC 8414, section 2, for a document without the list.
        (None, basic, basic),
    ]:
        server = replace(UNKNOWING, token_endpoint_auth_methods_supported=supported)
        for type, method in (("native", native), ("web", web)):
            with case((supported, type)):
                answer = document({"client_id": "new"})
                _, request = registering(answer, server, application_type=type)
                assert request["token_endpoint_auth_method"] == method
    without = replace(UNKNOWING, token_endpoint_auth_methods_supported=None, is_document=False)
    _, request = registering(document({"client_id": "new"}), without)
    assert request["token_endpoint_auth_method"] == "none"
    signed = replace(UNKNOWING, token_endpoint_auth_methods_supported=("private_key_jwt",))
    with pytest.raises(AuthorizationError, match="no method for registered clients"):
        play(identify(settings(), signed, [HOME], None), [])


def test_the_answer_to_a_registration_says_how_the_client_authenticates() -> None:
    basic, post = "client_secret_basic", "client_secret_post"
    for members, supported, method in [
        ({}, None, "none"),
        ({"token_endpoint_auth_method": basic}, None, "none"),
        ({"client_secret": "s"}, None, basic),
        ({"client_secret": "s"}, (post, "none"), post),
        ({"client_secret": "s"}, ("none",), "none"),
        ({"client_secret": "s"}, (post, basic), basic),
        ({"client_secret": "s", "token_endpoint_auth_method": post}, (basic, post), post),
        ({"client_secret": "s", "token_endpoint_auth_method": "none"}, (basic,), "none"),
        ({"client_secret": "s", "token_endpoint_auth_method": "private_key_jwt"}, None, basic),
        ({"client_secret": "s", "token_endpoint_auth_method": "new"}, (post,), post),
    ]:
        server = replace(UNKNOWING, token_endpoint_auth_methods_supported=supported)
        with case((members, supported)):
            client, _ = registering(document({"client_id": "new", **members}), server)
            assert client.token_endpoint_auth_method == method


@pytest.mark.shows("RE-14")
def test_a_refused_registration_says_what_was_asked_for() -> None:
    for error in ("invalid_redirect_uri", "invalid_client_metadata"):
        answer = document({"error": error, "error_description": "Not\nwith\x1b[31m us"}, 400)
        with case(error), pytest.raises(OAuthError) as refusal:
            registering(answer)
        assert refusal.value.error == error
        assert str(refusal.value) == (
            f"{error}: Not with [31m us; the request had the redirect URIs {HOME}"
            " and the application type native"
        )
    with pytest.raises(OAuthError, match="no reason given"):
        registering(document({"error": "invalid_redirect_uri"}, 400))
    for answer in (
        Fetched(status=403),
        Fetched(status=500, body=b"<h1>"),
        document({"error": "a\nb"}, 400),
        document({"error": 1}, 400),
        document(["error"], 400),
        document({"client_id": "new"}, 202),
    ):
        with case(answer), pytest.raises(AuthorizationError, match="answered") as failure:
            registering(answer)
        assert str(answer.status) in str(failure.value)


def test_a_malformed_answer_to_a_registration_is_refused() -> None:
    for members, why in [
        ({}, "client_id is missing"),
        ({"client_id": ""}, "client_id must be a non-empty string"),
        ({"client_id": 7}, "client_id must be a non-empty string"),
        (
            {"client_id": "new", "client_secret": ["s3cret"]},
            "client_secret must be a non-empty string",
        ),
        ({"client_id": "new", "client_secret_expires_at": "never"}, "expires_at must be a number"),
        ({"client_id": "new", "client_secret_expires_at": True}, "expires_at must be a number"),
    ]:
        with case(members), pytest.raises(InvalidMetadata, match=why) as refusal:
            registering(document(members, 201))
        assert "s3cret" not in str(refusal.value)


@pytest.mark.shows("RE-15", "RE-17")
def test_a_registration_counts_with_its_own_server_only() -> None:
    moved = replace(UNKNOWING, issuer=OTHER, registration_endpoint=f"{OTHER}/register")
    asked: list[Step] = []
    answer = document({"client_id": "new"}, 201)
    client = play(identify(settings(), moved, [HOME], REGISTERED), [answer], asked)
    assert (client.client_id, client.issuer) == ("new", OTHER)
    [request] = fetches(asked)
    assert request.url == f"{OTHER}/register"
    assert b"registered" not in (request.body or b"")


def test_a_registration_counts_until_its_secret_ends_or_its_redirect_uris_change() -> None:
    secret = replace(
        REGISTERED, client_secret="s", token_endpoint_auth_method="client_secret_basic"
    )
    document_of_another_time = replace(REGISTERED, client_id=ABOUT)
    for name, known, uris, is_kept in [
        ("the same", REGISTERED, [HOME], True),
        ("for a refresh", REGISTERED, [], True),
        ("another port", REGISTERED, ["http://127.0.0.1:4243/callback"], False),
        ("a secret for ever", secret, [HOME], True),
        ("a secret", replace(secret, client_secret_expires_at=NOW + 1), [HOME], True),
        ("an old secret", replace(secret, client_secret_expires_at=NOW), [HOME], False),
        ("of no server", replace(REGISTERED, issuer=None), [HOME], False),
        ("a document", document_of_another_time, [HOME], False),
    ]:
        with case(name):
            flow = identify(settings(), UNKNOWING, uris or [], known)
            answers = [] if is_kept else [document({"client_id": "new"}, 201)]
            assert play(flow, answers) == known if is_kept else play(flow, answers) != known
    client, _ = registering(
        document({"client_id": "n", "client_secret": "s", "client_secret_expires_at": NOW})
    )
    assert client.client_secret_expires_at == NOW
    client, _ = registering(
        document({"client_id": "n", "client_secret": "s", "client_secret_expires_at": 0})
    )
    assert client.client_secret_expires_at is None


@pytest.mark.shows("RE-15", "RE-16")
def test_a_given_client_is_not_shown_to_another_server() -> None:
    unbound = replace(GIVEN, issuer=None)
    shown = replace(GIVEN, issuer=OTHER)
    described = ClientInformation(client_id=ABOUT, private_key="not to be seen")
    for name, given, known, is_shown in [
        ("of this server", GIVEN, None, True),
        ("of another server", shown, None, False),
        ("with a slash", replace(GIVEN, issuer=f"{ISSUER}/"), None, False),
        ("of any server", unbound, None, True),
        ("shown here before", unbound, GIVEN, True),
        ("shown elsewhere before", unbound, shown, False),
        ("another one was shown elsewhere", unbound, replace(shown, client_id="x"), True),
        ("a document, shown elsewhere", described, replace(described, issuer=OTHER), True),
    ]:
        with case(name):
            flow = identify(settings(client=given), SERVER, [HOME], known)
            if is_shown:
                assert play(flow, []).issuer == ISSUER
            else:
                with pytest.raises(AuthorizationError, match="registered with") as refusal:
                    play(flow, [])
                assert "not to be seen" not in str(refusal.value)
    slash = settings(client=replace(GIVEN, issuer=f"{ISSUER}/"), trailing_slash=True)
    assert play(identify(slash, SERVER, [], None), []).client_id == "given"


def test_no_secret_of_a_client_is_in_what_it_looks_like() -> None:
    client = ClientInformation(client_id="c", client_secret="hidden", private_key="hidden")
    assert "hidden" not in repr(client)
    assert "hidden" not in repr(settings(client=client))
