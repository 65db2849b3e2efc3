"""An authorization server for tests: a function of requests, with a memory.

It enforces each rule (OAuth 2.1, RFC 7591, 8414, 8707, 9207, 9449) and refuses clients that break
one, so a client that gets a token did everything right. Its `Behaviour` can change that. `World`
plays it to flows, `hosting` puts it on a port.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from joserfc.jwk import ECKey
from support.auth.behaviour import GOOD, Behaviour, Endpoint, Place
from support.auth.clients import Client, Clients
from support.auth.jwts import jwks_of, key_of
from support.auth.messages import (
    NOT_FOUND,
    Fault,
    Request,
    Response,
    json_response,
    origin_of,
    redirect_to,
    replace_members,
)
from support.auth.proofs import ALGORITHMS, ProofChecks
from support.auth.tokens import Grant, TokenEndpoint, TrustedIssuer

_ENDPOINTS: tuple[Endpoint, ...] = ("authorize", "token", "register", "jwks", "introspect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Settings of a server; `trusted` lists issuers whose assertions it exchanges for tokens."""

    issuer: str = "https://login.example.com"
    behaviour: Behaviour = GOOD
    clients: tuple[Client, ...] = ()
    documents: Mapping[str, Mapping[str, Any]] | None = None
    trusted: tuple[TrustedIssuer, ...] = ()
    scopes: tuple[str, ...] = ("read", "write", "offline_access")
    key: ECKey | None = None
    clock: Callable[[], float] = time.time


class AuthorizationServer:
    """An authorization server; `requests` has all requests so far."""

    def __init__(self, setup: Setup | None = None, **chosen: Any) -> None:
        self.setup = replace(setup or Setup(), **chosen)
        self.issuer = self.setup.issuer
        self.requests: list[Request] = []
        self.clients = Clients(self.setup.clients, self.setup.documents or {})
        self.proofs = ProofChecks()
        self.keys: list[ECKey] = [self.setup.key or key_of(f"key of {self.issuer}")]
        self.tokens = TokenEndpoint(self)

    @property
    def behaviour(self) -> Behaviour:
        return self.setup.behaviour

    def behave(self, **changes: Any) -> None:
        """Change the behaviour from now on."""
        self.setup = replace(self.setup, behaviour=replace(self.behaviour, **changes))

    def now(self) -> float:
        return self.setup.clock()

    def rotate_keys(self) -> None:
        """Sign with another key from now on."""
        self.keys = [key_of(f"another key of {self.issuer}")]

    def url(self, endpoint: Endpoint) -> str:
        root = self.issuer.rstrip("/") if self.behaviour.places else origin_of(self.issuer)
        return f"{root}{self.behaviour.base}/{endpoint}"

    @property
    def metadata_urls(self) -> frozenset[str]:
        return frozenset(metadata_url(self.issuer, place) for place in self.behaviour.places)

    def requests_to(self, endpoint: Endpoint) -> list[Request]:
        return [request for request in self.requests if self.endpoint_of(request) == endpoint]

    def access_token(self, audience: str, *scopes: str, **claims: Any) -> str:
        """Return a token without a request for it; None leaves a claim out."""
        grant = Grant(client=Client(client_id="somebody"), scopes=scopes, resource=audience)
        return self.tokens.access_token(grant, claims)

    def endpoint_of(self, request: Request) -> Endpoint | None:
        url = request.url.partition("?")[0]
        if url in self.metadata_urls:
            return "metadata"
        return next((endpoint for endpoint in _ENDPOINTS if url == self.url(endpoint)), None)

    def stalls(self, request: Request) -> bool:
        """Return whether a request never gets an answer."""
        return self.endpoint_of(request) in self.behaviour.stalled

    def answer(self, request: Request) -> Response:
        self.requests.append(request)
        endpoint = self.endpoint_of(request)
        if endpoint is None:
            return NOT_FOUND
        if endpoint in self.behaviour.instead:
            return self.behaviour.instead[endpoint]
        answers: Mapping[Endpoint, Callable[[Request], Response]] = {
            "metadata": lambda _: json_response(self.metadata()),
            "jwks": lambda _: json_response(jwks_of(*self.keys)),
            "authorize": self._authorize,
            "register": self._register,
            "token": self.tokens.answer,
            "introspect": self.tokens.introspect,
        }
        try:
            return answers[endpoint](request)
        except Fault as fault:
            return fault.response()

    def metadata(self) -> dict[str, Any]:
        """Return the metadata document (RFC 8414, section 2)."""
        methods = ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"]
        members = {
            "issuer": self.issuer,
            "authorization_endpoint": self.url("authorize"),
            "token_endpoint": self.url("token"),
            "registration_endpoint": self.url("register") if self.behaviour.registration else None,
            "jwks_uri": self.url("jwks"),
            "introspection_endpoint": self.url("introspect"),
            "scopes_supported": list(self.setup.scopes),
            "response_types_supported": ["code"],
            "grant_types_supported": self.tokens.grant_types,
            "token_endpoint_auth_methods_supported": methods,
            "token_endpoint_auth_signing_alg_values_supported": ["ES256", "RS256"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "client_id_metadata_document_supported": bool(self.setup.documents) or None,
            "dpop_signing_alg_values_supported": list(ALGORITHMS),
            "authorization_grant_profiles_supported": self.tokens.grant_profiles,
        }
        return replace_members(members, self.behaviour.metadata)

    def _register(self, request: Request) -> Response:
        if not self.behaviour.registration or request.method != "POST":
            return NOT_FOUND
        behaviour = self.behaviour
        wanted = json.loads(request.body)
        client = self.clients.register(wanted, behaviour.auth_method, behaviour.odd)
        members = {
            **client.metadata,
            "client_id": client.client_id,
            "client_secret": client.client_secret,
            "client_secret_expires_at": 0 if client.client_secret else None,
            "token_endpoint_auth_method": client.auth_method,
        }
        return json_response(replace_members(members, self.behaviour.registered), 201)

    def _authorize(self, request: Request) -> Response:
        """Ask a user, who agrees at once (RFC 6749, section 4.1)."""
        asked = request.query
        client = self.clients.get(asked.get("client_id"))
        uri = asked.get("redirect_uri", "")
        if not client.may_redirect_to(uri):
            # Redirect only to registered URIs (RFC 6749, section 4.1.2.1).
            raise Fault("invalid_request", "the redirect URI is not registered")
        try:
            given = {"code": self.tokens.code(self._grant(client, asked))}
        except Fault as fault:
            given = {"error": fault.error, "error_description": fault.description}
        members = {**given, "state": asked.get("state"), "iss": self.issuer}
        return redirect_to(uri, replace_members(members, self.behaviour.redirected))

    def _grant(self, client: Client, asked: Mapping[str, str]) -> Grant:
        wrong = {
            "response_type": asked.get("response_type") != "code",
            "code_challenge_method": asked.get("code_challenge_method") != "S256",
            "code_challenge": len(asked.get("code_challenge", "")) != 43,
            "state": len(asked.get("state", "")) < 16,
            "grant_types": "authorization_code" not in client.grant_types,
        }
        for name, is_wrong in wrong.items():
            if is_wrong:
                raise Fault("invalid_request", f"{name} is missing or wrong")
        scopes = tuple(asked.get("scope", "").split())
        if not set(scopes) <= set(self.setup.scopes):
            raise Fault("invalid_scope", "there is no such scope")
        return Grant(
            client=client,
            scopes=scopes,
            resource=self.tokens.resource_in(asked),
            subject="ada",
            redirect_uri=asked["redirect_uri"],
            challenge=asked["code_challenge"],
            key=asked.get("dpop_jkt"),
        )


def metadata_url(issuer: str, place: Place) -> str:
    """Return a place of the metadata of an issuer (RFC 8414, sections 3.1 and 5)."""
    parts = urlsplit(issuer)
    path = parts.path.rstrip("/")
    paths: Mapping[Place, str] = {
        "oauth": f"/.well-known/oauth-authorization-server{path}",
        "openid-inserted": f"/.well-known/openid-configuration{path}",
        "openid-appended": f"{path}/.well-known/openid-configuration",
    }
    return f"{origin_of(issuer)}{paths[place]}"
