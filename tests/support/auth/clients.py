"""The clients of an authorization server in a test, and their authentication."""

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final
from urllib.parse import unquote_plus, urlsplit

from joserfc.jwk import KeySet
from support.auth.jwts import claims_of, verify_token
from support.auth.messages import Fault, Request

ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client as the server knows it (RFC 7591, section 2)."""

    client_id: str
    client_secret: str | None = None
    auth_method: str = "none"
    redirect_uris: tuple[str, ...] = ()
    jwks: Mapping[str, Any] | None = None
    grant_types: tuple[str, ...] = ("authorization_code", "refresh_token")
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def may_redirect_to(self, uri: str) -> bool:
        """Return whether a redirect URI is registered; loopback has any port (RFC 8252, 7.3)."""
        return any(
            _without_loopback_port(uri) == _without_loopback_port(redirect_uri)
            for redirect_uri in self.redirect_uris
        )


class Clients:
    """All clients of a server.

    `documents` are the client id metadata documents on the web, by URL.
    """

    def __init__(
        self, given: tuple[Client, ...], documents: Mapping[str, Mapping[str, Any]]
    ) -> None:
        self.known = {client.client_id: client for client in given}
        self.documents = documents
        self._numbers = count(1)
        self._assertions: set[str] = set()

    def register(self, wanted: Mapping[str, Any], auth_method: str | None, odd: str = "") -> Client:
        """Register a client dynamically; raise `Fault` (RFC 7591, section 3.2.2).

        `odd` is a part of its id and its secret.
        """
        uris = wanted.get("redirect_uris", ())
        if not uris or not all(isinstance(uri, str) and _is_safe(uri) for uri in uris):
            raise Fault("invalid_redirect_uri", "localhost, or https")
        number = next(self._numbers)
        method = auth_method or wanted.get("token_endpoint_auth_method", "client_secret_basic")
        secret = f"secret-{number}{odd}" if method.startswith("client_secret") else None
        client = Client(
            client_id=f"registered-{number}{odd}",
            client_secret=secret,
            auth_method=method,
            redirect_uris=tuple(uris),
            jwks=wanted.get("jwks"),
            grant_types=tuple(wanted.get("grant_types", ("authorization_code",))),
            metadata=dict(wanted),
        )
        self.known[client.client_id] = client
        return client

    def get(self, client_id: str | None) -> Client:
        """Return a client by id, or by the URL of its metadata document; raise `Fault`."""
        if client_id in self.known:
            return self.known[client_id]
        document = self.documents.get(client_id or "")
        if document is None or document.get("client_id") != client_id:
            raise Fault("invalid_client", "there is no such client", status=401)
        return Client(
            client_id=document["client_id"],
            auth_method=document.get("token_endpoint_auth_method", "none"),
            redirect_uris=tuple(document["redirect_uris"]),
            jwks=document.get("jwks"),
            grant_types=tuple(document.get("grant_types", ("authorization_code",))),
            metadata=document,
        )

    def authenticate(
        self, request: Request, form: Mapping[str, str], audiences: frozenset[str], now: float
    ) -> Client:
        """Return the client that a token request is from; raise `Fault`."""
        method, client_id, secret = _credentials(request, form)
        client = self.get(client_id)
        if method != client.auth_method:
            raise Fault("invalid_client", f"{client.auth_method}, and not {method}", status=401)
        if method == "private_key_jwt":
            self._check_assertion(client, form["client_assertion"], audiences, now)
        elif secret != client.client_secret:
            raise Fault("invalid_client", "the secret is wrong", status=401)
        return client

    def _check_assertion(
        self, client: Client, assertion: str, audiences: frozenset[str], now: float
    ) -> None:
        """Check an assertion about a client itself (RFC 7523, section 3)."""
        keys = KeySet.import_key_set(json.loads(json.dumps(client.jwks or {"keys": []})))
        claims = verify_token(assertion, keys)
        audience = claims.get("aud")
        checks = {
            "iss": claims.get("iss") == client.client_id,
            "sub": claims.get("sub") == client.client_id,
            "aud": isinstance(audience, str) and audience in audiences,
            "exp": claims.get("exp", 0) > now,
            "jti": bool(claims.get("jti")) and claims["jti"] not in self._assertions,
        }
        wrong = [name for name, passed in checks.items() if not passed]
        if wrong:
            raise Fault("invalid_client", f"of the assertion: {', '.join(wrong)}", status=401)
        self._assertions.add(claims["jti"])


def _credentials(request: Request, form: Mapping[str, str]) -> tuple[str, str | None, str | None]:
    """Return the method, the client id and the secret of a request; only one method is allowed."""
    scheme, _, basic = request.headers.get("authorization", "").partition(" ")
    ways = [scheme.lower() == "basic", "client_secret" in form, "client_assertion" in form]
    if sum(ways) > 1:
        raise Fault("invalid_request", "more than one way of authentication")
    if ways[0]:
        client_id, _, secret = base64.b64decode(basic).decode().partition(":")
        return "client_secret_basic", unquote_plus(client_id), unquote_plus(secret)
    if ways[1]:
        return "client_secret_post", form.get("client_id"), form["client_secret"]
    if ways[2]:
        if form.get("client_assertion_type") != ASSERTION:
            raise Fault("invalid_request", "the type of the assertion is wrong")
        return "private_key_jwt", str(claims_of(form["client_assertion"]).get("sub")), None
    return "none", form.get("client_id"), None


def _is_safe(uri: str) -> bool:
    parts = urlsplit(uri)
    at_home = parts.hostname in {"localhost", "127.0.0.1", "::1"}
    return parts.scheme == "https" or (parts.scheme == "http" and at_home)


def _without_loopback_port(uri: str) -> str:
    parts = urlsplit(uri)
    if parts.scheme == "http" and parts.hostname in {"127.0.0.1", "::1"}:
        return parts._replace(netloc=parts.hostname).geturl()
    return uri
