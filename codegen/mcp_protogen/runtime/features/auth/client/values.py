"""The values that a flow needs and finds.

URLs are compared as text: issuers and resources are identifiers (2026-07-28,
basic/authorization, "Authorization Response Validation").
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias, get_args

AuthMethod: TypeAlias = Literal[
    "none", "client_secret_basic", "client_secret_post", "private_key_jwt"
]
"""A method of client authentication at the token endpoint (RFC 7591, section 2; RFC 7523)."""

ApplicationType: TypeAlias = Literal["native", "web"]
"""Where an application runs: on its user's machine, or on the web."""

AUTH_METHODS: Final[tuple[AuthMethod, ...]] = get_args(AuthMethod)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientInformation:
    """A client at an authorization server (RFC 7591, section 3.2.1).

    `issuer` is that server; None if the user does not name it. `private_key`, as PEM or JWK, signs
    assertions.
    """

    client_id: str
    client_secret: str | None = field(default=None, repr=False)
    client_secret_expires_at: float | None = None
    """When the secret expires, in seconds since the epoch; None for never."""
    issuer: str | None = None
    token_endpoint_auth_method: AuthMethod | None = None
    private_key: str | None = field(default=None, repr=False)
    signing_algorithm: str | None = None
    assertion_audience: str | None = None
    """The audience of assertions; None for the issuer, as current standards require."""
    redirect_uris: tuple[str, ...] = ()
    """The registered ones; empty if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetadata:
    """A client's description of itself when it registers (RFC 7591, section 2).

    `application_type` is `native` on the user's machine, `web` for a web application (2026-07-28,
    basic/authorization/client-registration); None to derive it from the redirect URIs.
    """

    client_name: str = "MCP client"
    application_type: ApplicationType | None = None
    client_uri: str | None = None
    logo_uri: str | None = None
    contacts: tuple[str, ...] = ()
    software_id: str | None = None
    software_version: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Further members of the request."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceMetadata:
    """RFC 9728, section 2."""

    resource: str
    authorization_servers: tuple[str, ...]
    scopes_supported: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerMetadata:
    """RFC 8414, section 2; OpenID Connect."""

    issuer: str
    token_endpoint: str
    authorization_endpoint: str | None = None
    registration_endpoint: str | None = None
    scopes_supported: tuple[str, ...] | None = None
    grant_types_supported: tuple[str, ...] | None = None
    token_endpoint_auth_methods_supported: tuple[str, ...] | None = None
    token_endpoint_auth_signing_alg_values_supported: tuple[str, ...] | None = None
    code_challenge_methods_supported: tuple[str, ...] | None = None
    authorization_response_iss_parameter_supported: bool = False
    client_id_metadata_document_supported: bool = False
    dpop_signing_alg_values_supported: tuple[str, ...] | None = None
    authorization_grant_profiles_supported: tuple[str, ...] | None = None
    is_document: bool = True
    """False for the default endpoints of 2025-03-26."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The answer of a token endpoint (RFC 6749, section 5.1); times in seconds since the epoch."""

    access_token: str = field(repr=False)
    token_type: Literal["Bearer", "DPoP"] = "Bearer"
    refresh_token: str | None = field(default=None, repr=False)
    expires_at: float | None = None
    scopes: frozenset[str] | None = None

    @property
    def authorization(self) -> str:
        """The value of the header field; secret."""
        return f"{self.token_type} {self.access_token}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authorization:
    url: str
    resource_metadata: ResourceMetadata | None = None
    """None for 2025-03-26."""
    server: ServerMetadata | None = None
    client: ClientInformation | None = None
    tokens: Tokens | None = None
    requested_scopes: frozenset[str] = frozenset()
    step_ups: Mapping[str, int] = field(default_factory=dict[str, int])
    """Step-ups by operation since it last succeeded; not stored."""

    @property
    def resource(self) -> str | None:
        return None if self.resource_metadata is None else self.resource_metadata.resource


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refusal by the MCP server: 401, or 403 for scopes."""

    status: int
    www_authenticate: tuple[str, ...] = ()
    revision: str = ""
