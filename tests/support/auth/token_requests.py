"""Requests for tokens, for tests of requests and of their answers."""

from base64 import b64decode
from typing import Any, Final
from urllib.parse import urlsplit

from mcp_protogen.runtime.features.auth.client.token_endpoint import TokenRequest
from mcp_protogen.runtime.features.auth.client.values import ClientInformation, ServerMetadata
from mcp_protogen.runtime.features.auth.steps import (
    AuthorizationRequest,
    AuthorizationResponse,
    Fetch,
    Fetched,
    Step,
)

from .playing import document, parameters_in

ISSUER: Final = "https://auth.example"
TOKEN_ENDPOINT: Final = f"{ISSUER}/token"
RESOURCE: Final = "https://mcp.example/mcp"
REDIRECT_URI: Final = "http://127.0.0.1:5000/callback"
NOW: Final = 1_800_000_000.0

PUBLIC: Final = ClientInformation(client_id="the client", issuer=ISSUER)
ANSWER: Final = {"access_token": "a-token", "token_type": "Bearer"}


def metadata(**members: Any) -> ServerMetadata:
    """Return the metadata of an authorization server that can do what most tests need."""
    usual: dict[str, Any] = {
        "issuer": ISSUER,
        "authorization_endpoint": f"{ISSUER}/authorize",
        "token_endpoint": TOKEN_ENDPOINT,
        "code_challenge_methods_supported": ("S256",),
    }
    return ServerMetadata(**{**usual, **members})


def token_request(**members: Any) -> TokenRequest:
    """Return a token request of a public client for a resource."""
    usual: dict[str, Any] = {
        "server": metadata(),
        "client": PUBLIC,
        "resource": RESOURCE,
        "redirect_uri": REDIRECT_URI,
        "clock": lambda: NOW,
    }
    return TokenRequest(**{**usual, **members})


def token_answer(**members: Any) -> Fetched:
    """Return an answer with tokens; a member that is None is left out."""
    answer = {name: value for name, value in {**ANSWER, **members}.items() if value is not None}
    return document(answer)


def redirect_back(step: Step, **params: str) -> AuthorizationResponse:
    """Return the redirect from a page back to the client, with the state of the request."""
    assert isinstance(step, AuthorizationRequest)
    query = "&".join(f"{name}={value}" for name, value in {"state": step.state, **params}.items())
    return AuthorizationResponse(url=f"{step.redirect_uri}?{query}")


def query_of(url: str) -> dict[str, str]:
    return parameters_in(urlsplit(url).query)


def basic_of(step: Step) -> str | None:
    """Return the Basic credentials of a request, only decoded from Base64; None without any."""
    assert isinstance(step, Fetch)
    scheme, _, shown = step.headers.get("authorization", "").partition(" ")
    assert scheme in ("", "Basic")
    return b64decode(shown).decode() if scheme else None
