"""The authorization server of the tests enforces the rules."""

import secrets
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import pytest
from joserfc.jwk import KeySet
from support.auth.authorization_server import AuthorizationServer
from support.auth.clients import ASSERTION, Client
from support.auth.jwts import (
    claims_of,
    digest,
    jwks_of,
    key_of,
    public_jwk,
    sign_token,
    unsigned_token,
)
from support.auth.messages import Request, Response
from support.auth.tokens import JWT_BEARER, TrustedIssuer
from support.tables import case

REDIRECT = "http://127.0.0.1:5000/callback"
RESOURCE = "https://mcp.example.com/mcp"
VERIFIER = secrets.token_urlsafe(32)
NATIVE = Client(client_id="app", redirect_uris=(REDIRECT,))

FORM = {"content-type": "application/x-www-form-urlencoded"}


def authorization_params(**changes: str | None) -> dict[str, str]:
    """Return the parameters of a valid authorization request, with changes."""
    parameters = {
        "response_type": "code",
        "client_id": "app",
        "redirect_uri": REDIRECT,
        "code_challenge": digest(VERIFIER),
        "code_challenge_method": "S256",
        "state": secrets.token_urlsafe(16),
        "scope": "read",
        "resource": RESOURCE,
        **changes,
    }
    return {name: value for name, value in parameters.items() if value is not None}


def authorize(server: AuthorizationServer, **changes: str | None) -> dict[str, str]:
    """Authorize, and return the parameters of the redirect."""
    url = f"{server.url('authorize')}?{urlencode(authorization_params(**changes))}"
    response = server.answer(Request(url=url))
    assert response.status == 302, response.body
    return dict(parse_qsl(urlsplit(response.headers["location"]).query))


def token(
    server: AuthorizationServer, headers: Mapping[str, str] | None = None, **form: str | None
) -> Response:
    """The answer to a token request."""
    given = {name: value for name, value in form.items() if value is not None}
    body = urlencode(given).encode()
    fields = {**FORM, **(headers or {})}
    return server.answer(Request(method="POST", url=server.url("token"), headers=fields, body=body))


def by_code(
    server: AuthorizationServer,
    code: str,
    headers: Mapping[str, str] | None = None,
    **changes: str | None,
) -> Response:
    form: dict[str, str | None] = {
        "grant_type": "authorization_code",
        "code": code,
        "client_id": "app",
        "redirect_uri": REDIRECT,
        "code_verifier": VERIFIER,
        "resource": RESOURCE,
        **changes,
    }
    return token(server, headers, **form)


def error_of(response: Response) -> str:
    assert response.status in {400, 401}, response
    return str(response.json()["error"])


@pytest.fixture
def server() -> AuthorizationServer:
    return AuthorizationServer(clients=(NATIVE,), documents={})


def test_wrong_authorization_requests_are_refused(server: AuthorizationServer) -> None:
    wrong: tuple[tuple[dict[str, str | None], str], ...] = (
        ({"response_type": "token"}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": None}, "invalid_request"),
        ({"state": None}, "invalid_request"),
        ({"scope": "everything"}, "invalid_scope"),
        ({"resource": None}, "invalid_target"),
        ({"resource": f"{RESOURCE}#part"}, "invalid_target"),
    )
    for changes, error in wrong:
        with case(changes):
            back = authorize(server, **changes)
            assert back["error"] == error
            assert "code" not in back


def test_unregistered_redirect_uri_is_refused(server: AuthorizationServer) -> None:
    for uri in ("https://evil.example.com/", f"{REDIRECT}/more", "http://127.0.0.2:5000/callback"):
        url = f"{server.url('authorize')}?{urlencode(authorization_params(redirect_uri=uri))}"
        assert server.answer(Request(url=url)).status == 400
    assert "code" in authorize(server, redirect_uri="http://127.0.0.1:5001/callback")


def test_wrong_token_requests_are_refused(server: AuthorizationServer) -> None:
    wrong: tuple[tuple[dict[str, str | None], str], ...] = (
        ({"code": "guessed"}, "invalid_grant"),
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:5001/callback"}, "invalid_grant"),
        ({"resource": "https://other.example.com"}, "invalid_grant"),
        ({"resource": None}, "invalid_target"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_secret": "guessed"}, "invalid_client"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    )
    for changes, error in wrong:
        with case(changes):
            code = changes.pop("code", None) or authorize(server)["code"]
            assert error_of(by_code(server, code, None, **changes)) == error


def test_a_code_is_valid_once(server: AuthorizationServer) -> None:
    code = authorize(server)["code"]
    assert by_code(server, code).status == 200
    assert error_of(by_code(server, code)) == "invalid_grant"


def test_refresh_tokens_rotate(server: AuthorizationServer) -> None:
    first = by_code(server, authorize(server)["code"]).json()["refresh_token"]

    def refresh(refresh_token: str) -> Response:
        return token(
            server, grant_type="refresh_token", client_id="app", refresh_token=refresh_token,
            resource=RESOURCE,
        )  # fmt: skip

    second = refresh(first).json()["refresh_token"]
    assert error_of(refresh(first)) == "invalid_grant"
    assert refresh(second).status == 200


def test_clients_show_who_they_are_as_they_are_registered() -> None:
    key = key_of("client")
    secret = "s:/+ é"
    clients = (
        Client(client_id="basic:1", client_secret=secret, auth_method="client_secret_basic"),
        Client(client_id="post", client_secret=secret, auth_method="client_secret_post"),
        Client(client_id="key", jwks=jwks_of(key), auth_method="private_key_jwt"),
    )
    grant = ("client_credentials",)
    server = AuthorizationServer(
        clients=tuple(replace(client, grant_types=grant) for client in clients)
    )
    now = int(server.now())
    claims = {"iss": "key", "sub": "key", "aud": server.issuer, "exp": now + 60, "jti": "1"}

    def credentials(headers: Mapping[str, str] | None = None, **form: str | None) -> Response:
        return token(server, headers, grant_type=grant[0], resource=RESOURCE, **form)

    def basic(client_id: str, secret: str) -> dict[str, str]:
        pair = f"{quote_plus(client_id)}:{quote_plus(secret)}".encode()
        return {"authorization": f"Basic {b64encode(pair).decode()}"}

    def assertion(**changes: Any) -> dict[str, str]:
        text = sign_token({**claims, **changes}, changes.pop("key", key))
        return {"client_assertion_type": ASSERTION, "client_assertion": text}

    assert credentials(basic("basic:1", secret)).status == 200
    assert credentials(client_id="post", client_secret=secret).status == 200
    assert credentials(None, **assertion()).status == 200
    refused = (
        credentials(basic("basic:1", "guessed")),
        credentials(basic("post", secret)),
        credentials(client_id="basic:1", client_secret=secret),
        credentials(client_id="basic:1"),
        credentials(None, **assertion()),
        credentials(None, **assertion(jti="2", aud="https://other.example.com")),
        credentials(None, **assertion(jti="3", exp=now - 1)),
        credentials(None, client_assertion_type=ASSERTION, client_assertion=unsigned_token(claims)),
    )
    for number, response in enumerate(refused):
        with case(number):
            assert response.status in {400, 401}


def proof(server: AuthorizationServer, **changes: Any) -> dict[str, str]:
    """A header field with a proof for a token request."""
    key = key_of("proof")
    claims = {
        "jti": secrets.token_hex(8),
        "htm": "POST",
        "htu": server.url("token"),
        "iat": int(server.now()),
        **changes,
    }
    return {
        "dpop": sign_token(claims, key, {"typ": "dpop+jwt", "jwk": public_jwk(key), "kid": None})
    }


def test_wrong_proofs_are_refused(server: AuthorizationServer) -> None:
    for changes in ({"htm": "GET"}, {"htu": RESOURCE}, {"iat": 0}, {"ath": "x"}):
        with case(changes):
            answer = by_code(server, authorize(server)["code"], proof(server, **changes))
            assert error_of(answer) == "invalid_dpop_proof"


def test_a_workload_shows_the_token_of_its_platform() -> None:
    key = key_of("platform")
    trusted = TrustedIssuer(issuer="https://platform.example.com", keys=KeySet([key]))
    server = AuthorizationServer(trusted=(trusted,))
    now = int(server.now())
    claims = {"iss": trusted.issuer, "sub": "job", "aud": server.issuer, "exp": now + 60}

    def request_grant(key: Any = key, **changes: Any) -> Response:
        assertion = sign_token({**claims, **changes}, key)
        return token(server, grant_type=JWT_BEARER, assertion=assertion, resource=RESOURCE)

    assert claims_of(request_grant().json()["access_token"])["sub"] == "job"
    for changes in ({"aud": RESOURCE}, {"exp": now}, {"iss": "https://x"}, {"key": key_of("x")}):
        with case(changes):
            assert error_of(request_grant(**changes)) == "invalid_grant"


def test_tokens_are_introspected_for_clients_with_a_secret() -> None:
    method = "client_secret_post"
    client = Client(client_id="resource", client_secret="secret", auth_method=method)
    server = AuthorizationServer(clients=(client, NATIVE))
    known = server.access_token(RESOURCE, "read")

    def introspect(token: str, **form: str) -> Any:
        body = urlencode({"token": token, "client_id": "resource", **form}).encode()
        url = server.url("introspect")
        request = Request(method="POST", url=url, headers=FORM, body=body)
        return server.answer(request).json()

    secret = "secret"
    assert introspect(known, client_secret=secret)["scope"] == "read"
    assert introspect("unknown", client_secret=secret) == {"active": False}
    assert introspect(known, client_id="app") == {"active": False}
    assert introspect(known)["error"] == "invalid_client"
    server.tokens.revoked.add(known)
    assert introspect(known, client_secret=secret) == {"active": False}
