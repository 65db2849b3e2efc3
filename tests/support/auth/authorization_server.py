"""An authorization server for tests: a function of requests, with a memory.

It checks what only it can: codes and their verifiers, secrets, redirect URIs, and proofs of keys.
What else requests have to have is said in the tests of each request. `World` plays it to flows,
`hosting` puts it on a port.
"""

import json
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import unquote_plus, urlsplit

from joserfc import jws, jwt
from joserfc.jwk import ECKey
from mcp_protogen.runtime.core.base64url import text_digest
from mcp_protogen.runtime.features.auth.steps import Fetched
from support.auth.messages import Fault, Request, origin_of, redirect_to, replace_members
from support.auth.playing import NOT_FOUND, document
from support.auth.proofs import ProofChecks

Place: TypeAlias = Literal["oauth", "openid-inserted", "openid-appended"]
"""A place of metadata: RFC 8414 section 3, its section 5 for OpenID Connect, and that of OpenID."""

Endpoint: TypeAlias = Literal["metadata", "authorize", "token", "register", "jwks"]

Members: TypeAlias = Mapping[str, Any]
"""What replaces members of a document or of a query; None leaves one out."""

LIFETIME: Final = 300
"""Seconds for which an access token is valid."""

_ENDPOINTS: Final[tuple[Endpoint, ...]] = ("authorize", "token", "register", "jwks")
_KEY: Final = ECKey.generate_key("P-256", {"kid": "key", "alg": "ES256", "use": "sig"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The behaviour of a server; the default keeps every rule."""

    places: tuple[Place, ...] = ("oauth",)
    """Where its metadata is; empty for one of 2025-03-26 that has none."""
    base: str = ""
    """A path before those of its endpoints."""
    metadata: Members = field(default_factory=dict[str, Any])
    instead: Mapping[Endpoint, Fetched] = field(default_factory=dict[Endpoint, Fetched])
    """What endpoints answer whatever they are asked."""
    stalled: frozenset[Endpoint] = frozenset()
    """Endpoints that never answer."""
    auth_method: str | None = None
    """The authentication method that a client is registered with, whatever it asks for."""
    registered: Members = field(default_factory=dict[str, Any])
    """Members of the answer to a registration."""
    redirected: Members = field(default_factory=dict[str, Any])
    """Parameters of the redirect to the client, such as another `iss`, `state` or `error`."""
    issued: Members = field(default_factory=dict[str, Any])
    """Members of the answer with a token."""
    claims: Members = field(default_factory=dict[str, Any])
    """Claims of access tokens."""
    withheld: frozenset[str] = frozenset()
    """Scopes that nobody gets."""
    refreshes: bool = True
    """Whether there are refresh tokens; each is for one use."""


GOOD: Final = Behaviour()


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """A client as the server knows it (RFC 7591, section 2)."""

    client_id: str
    client_secret: str | None = None
    auth_method: str = "none"
    redirect_uris: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """The client and the limits of a token, and what a code needs."""

    client: Client
    scopes: tuple[str, ...] = ()
    resource: str | None = None
    redirect_uri: str | None = None
    challenge: str | None = None
    key: str | None = None
    """The thumbprint of the key that the token is bound to."""


class AuthorizationServer:
    """An authorization server; `requests` has all requests so far."""

    def __init__(
        self,
        *,
        issuer: str = "https://login.example.com",
        behaviour: Behaviour = GOOD,
        clients: Iterable[Client] = (),
        scopes: Iterable[str] = ("read", "write", "offline_access"),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.issuer = issuer
        self.behaviour = behaviour
        self.clients = {client.client_id: client for client in clients}
        self.scopes = list(scopes)
        self.now = clock
        self.requests: list[Request] = []
        self.proofs = ProofChecks()
        self.codes: dict[str, Grant] = {}
        self.refresh_tokens: dict[str, Grant] = {}
        self.tokens: dict[str, dict[str, Any]] = {}
        """The claims of the access tokens that are valid but for their time."""
        self._numbers = count(1)

    def behave(self, **changes: Any) -> None:
        """Change the behaviour from now on."""
        self.behaviour = replace(self.behaviour, **changes)

    def url(self, endpoint: Endpoint) -> str:
        root = self.issuer.rstrip("/") if self.behaviour.places else origin_of(self.issuer)
        return f"{root}{self.behaviour.base}/{endpoint}"

    def requests_to(self, endpoint: Endpoint) -> list[Request]:
        return [request for request in self.requests if self.endpoint_of(request) == endpoint]

    def endpoint_of(self, request: Request) -> Endpoint | None:
        url = request.url.partition("?")[0]
        if url in {metadata_url(self.issuer, place) for place in self.behaviour.places}:
            return "metadata"
        return next((endpoint for endpoint in _ENDPOINTS if url == self.url(endpoint)), None)

    def stalls(self, request: Request) -> bool:
        """Return whether a request never gets an answer."""
        return self.endpoint_of(request) in self.behaviour.stalled

    def answer(self, request: Request) -> Fetched:
        self.requests.append(request)
        endpoint = self.endpoint_of(request)
        if endpoint is None:
            return NOT_FOUND
        if endpoint in self.behaviour.instead:
            return self.behaviour.instead[endpoint]
        answers: Mapping[Endpoint, Callable[[Request], Fetched]] = {
            "metadata": lambda _: document(self.metadata()),
            "jwks": lambda _: document({"keys": [_KEY.as_dict(private=False)]}),
            "authorize": self._authorize,
            "register": self._register,
            "token": self._token,
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
            "registration_endpoint": self.url("register"),
            "jwks_uri": self.url("jwks"),
            "scopes_supported": self.scopes,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": methods,
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "dpop_signing_alg_values_supported": ["ES256"],
        }
        return replace_members(members, self.behaviour.metadata)

    def access_token(self, audience: str, *scopes: str) -> str:
        """Return a token without a request for it."""
        return self._token_for(
            Grant(client=Client(client_id="somebody"), scopes=scopes, resource=audience)
        )

    def _register(self, request: Request) -> Fetched:
        wanted = json.loads(request.body)
        asked = wanted.get("token_endpoint_auth_method", "client_secret_basic")
        method = self.behaviour.auth_method or asked
        name = f"{next(self._numbers)}-of-{urlsplit(self.issuer).hostname}"
        client = Client(
            client_id=f"client-{name}",
            client_secret=f"secret-{name}" if method.startswith("client_secret") else None,
            auth_method=method,
            redirect_uris=tuple(wanted["redirect_uris"]),
        )
        self.clients[client.client_id] = client
        members = {
            **wanted,
            "client_id": client.client_id,
            "client_secret": client.client_secret,
            "client_secret_expires_at": 0 if client.client_secret else None,
            "token_endpoint_auth_method": client.auth_method,
        }
        return document(replace_members(members, self.behaviour.registered), 201)

    def _authorize(self, request: Request) -> Fetched:
        """Ask a user, who agrees at once (RFC 6749, section 4.1)."""
        asked = request.query
        client = self._find_client(asked["client_id"])
        uri = asked["redirect_uri"]
        if _without_port(uri) not in map(_without_port, client.redirect_uris):
            raise Fault("invalid_request", "the redirect URI is not registered")
        code = f"code-{next(self._numbers)}"
        self.codes[code] = Grant(
            client=client,
            scopes=tuple(asked.get("scope", "").split()),
            resource=asked.get("resource"),
            redirect_uri=uri,
            challenge=asked["code_challenge"],
            key=asked.get("dpop_jkt"),
        )
        members = {"code": code, "state": asked.get("state"), "iss": self.issuer}
        return redirect_to(uri, replace_members(members, self.behaviour.redirected))

    def _token(self, request: Request) -> Fetched:
        """Answer a token request (RFC 6749, section 3.2)."""
        form = request.form
        client = self._client_of(request)
        key = self.proofs.key(request, self.now()) if "dpop" in request.headers else None
        if form["grant_type"] == "authorization_code":
            grant = self.codes.pop(form["code"], None)
            shown = (client, form["redirect_uri"], text_digest(form["code_verifier"]))
            if grant is None or shown != (grant.client, grant.redirect_uri, grant.challenge):
                raise Fault("invalid_grant", "the code is not valid, or not for this client")
        elif form["grant_type"] == "refresh_token":
            grant = self.refresh_tokens.pop(form["refresh_token"], None)
            if grant is None or grant.client != client:
                raise Fault("invalid_grant", "the refresh token is not valid")
        else:
            scopes = tuple(form.get("scope", "").split())
            return self._issue(
                Grant(client=client, scopes=scopes, key=key, resource=form.get("resource"))
            )
        if grant.key not in (None, key) or form.get("resource") != grant.resource:
            raise Fault("invalid_grant", "the key or the resource is another one")
        return self._issue(replace(grant, key=key), lasting=self.behaviour.refreshes)

    def _issue(self, grant: Grant, lasting: bool = False) -> Fetched:
        kept = tuple(scope for scope in grant.scopes if scope not in self.behaviour.withheld)
        grant = replace(grant, scopes=kept)
        refresh_token = f"refresh-{next(self._numbers)}" if lasting else None
        if refresh_token is not None:
            self.refresh_tokens[refresh_token] = grant
        members = {
            "access_token": self._token_for(grant),
            "token_type": "DPoP" if grant.key else "Bearer",
            "expires_in": LIFETIME,
            "scope": " ".join(kept) or None,
            "refresh_token": refresh_token,
        }
        return document(replace_members(members, self.behaviour.issued))

    def _token_for(self, grant: Grant) -> str:
        """Return a JWT as an access token (RFC 9068)."""
        members = {
            "iss": self.issuer,
            "aud": grant.resource,
            "sub": "ada",
            "client_id": grant.client.client_id,
            "scope": " ".join(grant.scopes),
            "exp": int(self.now()) + LIFETIME,
            "jti": f"token-{next(self._numbers)}",
            "cnf": {"jkt": grant.key} if grant.key else None,
        }
        claims = replace_members(members, self.behaviour.claims)
        token = jwt.encode({"alg": "ES256", "kid": _KEY.kid, "typ": "at+jwt"}, claims, _KEY)
        self.tokens[token] = claims
        return token

    def _client_of(self, request: Request) -> Client:
        """Return the client that a token request is from; raise `Fault`."""
        form, secret = request.form, request.form.get("client_secret")
        scheme, _, basic = request.headers.get("authorization", "").partition(" ")
        method = "none" if secret is None else "client_secret_post"
        client_id = form.get("client_id")
        if scheme == "Basic":
            method = "client_secret_basic"
            client_id, secret = map(unquote_plus, b64decode(basic).decode().split(":"))
        elif "client_assertion" in form:
            method = "private_key_jwt"
            claims = json.loads(jws.extract_compact(form["client_assertion"].encode()).payload)
            client_id = claims["sub"]
        elif "assertion" in form:
            # A workload needs no registered client (SEP-1933).
            return Client(client_id="workload")
        client = self._find_client(client_id)
        if (method, secret) != (client.auth_method, client.client_secret):
            raise Fault("invalid_client", "the client does not show who it is", status=401)
        return client

    def _find_client(self, client_id: str | None) -> Client:
        if client_id not in self.clients:
            raise Fault("invalid_client", "there is no such client", status=401)
        return self.clients[client_id]


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


def _without_port(uri: str) -> str:
    """Return a redirect URI without its port, which may be any one (RFC 8252, section 7.3)."""
    parts = urlsplit(uri)
    return parts._replace(netloc=parts.hostname or "").geturl()
