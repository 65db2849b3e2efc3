"""How a client gets tokens: the four grants."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import ClassVar, Final, Literal, TypeAlias

from ..errors import AuthorizationError
from ..steps import AssertionSource, Flow, assertion
from .authorization_code import code_tokens
from .discovery import find_server
from .token_endpoint import TokenRequest, post_form, request_tokens, token_in
from .values import ClientInformation, ServerMetadata, Tokens

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

ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
SAML2: Final = "urn:ietf:params:oauth:token-type:saml2"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationCode:
    """The user allows it, in a browser (RFC 6749, section 4.1, with PKCE: RFC 7636).

    `parameters` are further ones of the authorization request, such as `login_hint`. Raise
    `ValueError` for those that the flow sets.
    """

    parameters: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        if taken := sorted(_SET_BY_FLOW & self.parameters.keys()):
            raise ValueError(f"the flow sets {', '.join(taken)}")

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        """Return tokens; raise `AuthorizationError`."""
        return code_tokens(request, self.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """A program acts for itself, with its secret or its private key (RFC 6749, section 4.4).

    `OAuthSettings.client` is needed: nothing is registered dynamically.
    """

    extension: ClassVar = "io.modelcontextprotocol/oauth-client-credentials"
    """What clients may declare (2026-07-28, basic/versioning, "Extension Negotiation")."""

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        """Return tokens; raise `AuthorizationError`."""
        return request_tokens(request, _scoped(request, {"grant_type": "client_credentials"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """A program shows the JWT that its platform gives it (RFC 7523, section 2.1; SEP-1933).

    `assertion` is that JWT, or what is called for a new one each time. What audience it has to have
    is agreed on with the authorization server.
    """

    extension: ClassVar = "io.modelcontextprotocol/auth/wif"
    """What clients may declare."""

    assertion: str | AssertionSource = field(repr=False)

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        """Return tokens; raise `AuthorizationError`."""
        shown = yield from assertion(self.assertion, request.server.issuer)
        return (yield from _jwt_bearer(request, shown))


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterpriseManaged:
    """The identity provider of an enterprise allows it, with an ID-JAG.

    `subject_token` is what the identity provider said when the user logged in, or what is called
    for it each time.
    """

    extension: ClassVar = "io.modelcontextprotocol/enterprise-managed-authorization"
    """What clients may declare."""

    identity_provider: str
    """Its issuer."""
    subject_token: str | AssertionSource = field(repr=False)
    subject_token_type: Literal[
        "urn:ietf:params:oauth:token-type:id_token", "urn:ietf:params:oauth:token-type:saml2"
    ] = ID_TOKEN
    client: ClientInformation | None = None
    """The client as the identity provider knows it."""
    token_endpoint: str | None = None
    """That of the identity provider; None to find it by its issuer."""

    def tokens(self, request: TokenRequest) -> Flow[Tokens]:
        """Return tokens; raise `AuthorizationError`."""
        profiles = request.server.authorization_grant_profiles_supported
        if profiles is not None and _ID_JAG_PROFILE not in profiles:
            raise AuthorizationError("The authorization server does not accept an ID-JAG")
        id_jag = yield from self._id_jag(request)
        return (yield from _jwt_bearer(request, id_jag))

    def _id_jag(self, request: TokenRequest) -> Flow[str]:
        """Exchange the login of the user (RFC 8693)."""
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
        answer = yield from post_form(asked, _scoped(request, form))
        if answer.get("issued_token_type") != _ID_JAG:
            raise AuthorizationError("The identity provider did not answer with an ID-JAG")
        return token_in(answer, "access_token")

    def _provider(self, slash: bool) -> Flow[ServerMetadata]:
        if self.token_endpoint is None:
            return (yield from find_server(self.identity_provider, trailing_slash=slash))
        return ServerMetadata(
            issuer=self.identity_provider,
            authorization_endpoint=None,
            token_endpoint=self.token_endpoint,
        )


def _jwt_bearer(request: TokenRequest, shown: str) -> Flow[Tokens]:
    """RFC 7523, section 2.1."""
    form = {"grant_type": _JWT_BEARER, "assertion": shown}
    return request_tokens(request, _scoped(request, form))


def _scoped(request: TokenRequest, form: Mapping[str, str]) -> dict[str, str]:
    scope = " ".join(sorted(request.scopes))
    return {**form, "scope": scope} if scope else {**form}


Grant: TypeAlias = AuthorizationCode | ClientCredentials | WorkloadIdentity | EnterpriseManaged
