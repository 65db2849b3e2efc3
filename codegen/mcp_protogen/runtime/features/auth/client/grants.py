"""The four grants by which a client gets tokens."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hmac import compare_digest
from secrets import token_urlsafe
from typing import ClassVar, Final, Literal, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from ....core.base64url import text_digest
from ....core.oauth_scopes import OFFLINE_ACCESS, format_scopes
from ..errors import AuthorizationError, OAuthError
from ..steps import (
    AssertionSource,
    AuthorizationRequest,
    AuthorizationResponse,
    Flow,
    ask_user,
    assertion,
)
from ..urls import same_identifier
from .discovery import find_server
from .documents import printable
from .token_endpoint import TokenRequest, post_form, request_tokens, token_in
from .values import ClientInformation, ServerMetadata, Tokens

_S256: Final = "S256"
_LONGEST_RESPONSE: Final = 64 * 1024
"""In characters."""
_MOST_PARAMETERS: Final = 100
_CHARACTERS: Final = re.compile("[!-~]*")
"""The characters of a URL: `urlsplit` would drop line breaks."""

_JWT_BEARER: Final = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_EXCHANGE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
_ID_JAG: Final = "urn:ietf:params:oauth:token-type:id-jag"
_ID_JAG_PROFILE: Final = "urn:ietf:params:oauth:grant-profile:id-jag"

# RFC 6749, section 4.1.1; RFC 7636, section 4.3; RFC 8707, section 2.1; RFC 9449, section 10
_SET_BY_FLOW: Final = frozenset(
    {
        *("client_id", "code_challenge", "code_challenge_method", "dpop_jkt", "redirect_uri"),
        *("resource", "response_type", "scope", "state"),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentRequest:
    """An authorization request, and what it is for."""

    request: AuthorizationRequest
    verifier: str = field(repr=False)
    tokens: TokenRequest


def authorization_request(request: TokenRequest, parameters: Mapping[str, str]) -> SentRequest:
    server, client, redirect_uri = request.server, request.client, request.redirect_uri
    endpoint = require_code_grant(server)
    if client is None or redirect_uri is None:
        raise AuthorizationError("The authorization code grant needs a client and a redirect URI")
    state, verifier = token_urlsafe(32), token_urlsafe(64)
    # Without a prompt the scope is ignored (OpenID Connect Core, section 11).
    prompt = {"prompt": "consent"} if OFFLINE_ACCESS in request.scopes else {}
    query = {
        **prompt,
        **parameters,
        "response_type": "code",
        "client_id": client.client_id,
        "redirect_uri": redirect_uri,
        "state": state,
        "code_challenge": text_digest(verifier),  # RFC 7636, section 4.2
        "code_challenge_method": _S256,
        **_request_parameters(request),
    }
    return SentRequest(
        request=AuthorizationRequest(
            # The endpoint may have a query, which is kept (RFC 6749, section 3.1).
            url=f"{endpoint}{'&' if '?' in endpoint else '?'}{urlencode(query)}",
            redirect_uri=redirect_uri,
            state=state,
        ),
        verifier=verifier,
        tokens=request,
    )


def _request_parameters(request: TokenRequest) -> dict[str, str]:
    asked = _with_scope(request, {})
    if request.resource is not None:
        asked["resource"] = request.resource
    if request.dpop is not None:
        # Makes a stolen code useless (RFC 9449, section 10).
        asked["dpop_jkt"] = request.dpop.thumbprint
    return asked


def require_code_grant(server: ServerMetadata) -> str:
    """Return the authorization endpoint; raise `AuthorizationError` without it, or PKCE."""
    if server.authorization_endpoint is None:
        raise AuthorizationError(f"{server.issuer} has no authorization_endpoint")
    # Default endpoints have no document that could say so (2025-03-26, basic/authorization).
    if server.is_document and _S256 not in (server.code_challenge_methods_supported or ()):
        raise AuthorizationError(f"{server.issuer} must support PKCE with S256 to ask a user")
    return server.authorization_endpoint


def check_response(sent: SentRequest, response: AuthorizationResponse) -> str:
    """Return the code of an authorization response; raise `AuthorizationError`.

    The message quotes nothing from a response to another request or of another server (2026-07-28,
    basic/authorization, "Authorization Response Validation"; RFC 9207, section 2.4).
    """
    params = _params(response.url)
    if not compare_digest(params.get("state", "").encode(), sent.request.state.encode()):
        raise AuthorizationError("The response belongs to another authorization request")
    iss, server, slash = params.get("iss"), sent.tokens.server, sent.tokens.trailing_slash
    # RFC 9207, section 3
    if iss is None and server.authorization_response_iss_parameter_supported:
        raise AuthorizationError("The response does not name its authorization server")
    # Compared as text, never normalised (RFC 3986, section 6.2.1).
    if iss is not None and not same_identifier(iss, server.issuer, trailing_slash=slash):
        raise AuthorizationError("The response comes from another authorization server")
    if "error" in params:
        description = printable(params.get("error_description", ""))
        raise OAuthError(printable(params["error"])[:100], description or None)
    if not params.get("code"):
        raise AuthorizationError("The response to the authorization request has no code")
    return params["code"]


def _params(url: str) -> dict[str, str]:
    try:
        if len(url) > _LONGEST_RESPONSE or not _CHARACTERS.fullmatch(url):
            raise ValueError
        pairs = parse_qsl(
            urlsplit(url).query,
            keep_blank_values=True,
            errors="strict",
            max_num_fields=_MOST_PARAMETERS,
        )
    except ValueError:
        raise AuthorizationError("The response to the authorization request is invalid") from None
    params = dict(pairs)
    if len(params) < len(pairs):
        # RFC 6749, section 3.1: repeated parameters are ambiguous.
        raise AuthorizationError("The response to the authorization request repeats a parameter")
    return params


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationCode:
    """The user allows access in a browser (RFC 6749, section 4.1, with PKCE: RFC 7636).

    `parameters` are added to the authorization request, such as `login_hint`. Raise `ValueError`
    for those that the flow sets.
    """

    parameters: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if taken := sorted(_SET_BY_FLOW & self.parameters.keys()):
            raise ValueError(f"parameters must not contain {', '.join(taken)}")

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        sent = authorization_request(request, self.parameters)
        response = yield from ask_user(sent.request)
        form = {
            "grant_type": "authorization_code",
            "code": check_response(sent, response),
            "redirect_uri": sent.request.redirect_uri,
            "code_verifier": sent.verifier,
        }
        return (yield from request_tokens(request, form))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """A program acts for itself, with a secret or a private key (RFC 6749, section 4.4).

    It needs `OAuthSettings.client`: clients are not registered dynamically here.
    """

    extension: ClassVar = "io.modelcontextprotocol/oauth-client-credentials"
    """The extension to declare (2026-07-28, basic/versioning, "Extension Negotiation")."""

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        return request_tokens(request, _with_scope(request, {"grant_type": "client_credentials"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """A program shows the JWT of its platform (RFC 7523, section 2.1; SEP-1933).

    `assertion` is the JWT, or a function that returns a new one. Its audience is agreed on with the
    authorization server.
    """

    extension: ClassVar = "io.modelcontextprotocol/auth/wif"

    assertion: str | AssertionSource = field(repr=False)

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        shown = yield from assertion(self.assertion, request.server.issuer)
        return (yield from _jwt_bearer(request, shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterpriseManaged:
    """The identity provider of an enterprise allows access, with an ID-JAG.

    `subject_token` is the provider's token of the user's login, or a function that returns it.
    """

    extension: ClassVar = "io.modelcontextprotocol/enterprise-managed-authorization"

    identity_provider: str
    """Its issuer."""
    subject_token: str | AssertionSource = field(repr=False)
    subject_token_type: Literal[
        "urn:ietf:params:oauth:token-type:id_token", "urn:ietf:params:oauth:token-type:saml2"
    ] = "urn:ietf:params:oauth:token-type:id_token"
    client: ClientInformation | None = None
    """The client at the identity provider."""
    token_endpoint: str | None = None
    """The provider's endpoint; None to discover it."""

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        profiles = request.server.authorization_grant_profiles_supported
        if profiles is not None and _ID_JAG_PROFILE not in profiles:
            raise AuthorizationError("The authorization server does not accept an ID-JAG")
        id_jag = yield from self._id_jag(request)
        return (yield from _jwt_bearer(request, id_jag))

    def _id_jag(self, request: TokenRequest) -> Flow[str]:
        """RFC 8693."""
        provider = yield from self._provider(request.trailing_slash)
        form = {
            "grant_type": _TOKEN_EXCHANGE,
            "requested_token_type": _ID_JAG,
            "audience": request.server.issuer,
            "subject_token": (yield from assertion(self.subject_token, provider.issuer)),
            "subject_token_type": self.subject_token_type,
        }
        if request.resource is not None:
            form["resource"] = request.resource
        asked = replace(request, server=provider, client=self.client, dpop=None)
        answer = yield from post_form(asked, _with_scope(request, form))
        if answer.get("issued_token_type") != _ID_JAG:
            raise AuthorizationError("The identity provider did not answer with an ID-JAG")
        return token_in(answer, "access_token")

    def _provider(self, slash: bool) -> Flow[ServerMetadata]:
        if self.token_endpoint is None:
            return (yield from find_server(self.identity_provider, trailing_slash=slash))
        return ServerMetadata(issuer=self.identity_provider, token_endpoint=self.token_endpoint)


def _jwt_bearer(request: TokenRequest, shown: str) -> Flow[Tokens]:
    """RFC 7523, section 2.1."""
    form = {"grant_type": _JWT_BEARER, "assertion": shown}
    return request_tokens(request, _with_scope(request, form))


def _with_scope(request: TokenRequest, form: Mapping[str, str]) -> dict[str, str]:
    scope = format_scopes(request.scopes)
    return {**form, "scope": scope} if scope else {**form}


Grant: TypeAlias = AuthorizationCode | ClientCredentials | WorkloadIdentity | EnterpriseManaged
