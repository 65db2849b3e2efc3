"""How a client gets tokens: the four grants."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from .steps import AssertionSource
from .values import ClientInformation

ID_TOKEN: Final = "urn:ietf:params:oauth:token-type:id_token"
SAML2: Final = "urn:ietf:params:oauth:token-type:saml2"


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizationCode:
    """The user allows it, in a browser (RFC 6749, section 4.1, with PKCE: RFC 7636).

    `parameters` are further ones of the authorization request, such as `login_hint`.
    """

    parameters: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientCredentials:
    """A program acts for itself, with its secret or its private key (RFC 6749, section 4.4).

    Extension io.modelcontextprotocol/oauth-client-credentials. `OAuthSettings.client` is needed.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadIdentity:
    """A program shows the JWT that its platform gives it (RFC 7523, section 2.1; SEP-1933).

    `assertion` is that JWT, or what is called for a new one each time. What audience it has to have
    is agreed on with the authorization server.
    """

    assertion: str | AssertionSource = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterpriseManaged:
    """The identity provider of an enterprise allows it, with an ID-JAG.

    Extension io.modelcontextprotocol/enterprise-managed-authorization. `subject_token` is what the
    identity provider said when the user logged in, or what is called for it each time.
    """

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


Grant: TypeAlias = AuthorizationCode | ClientCredentials | WorkloadIdentity | EnterpriseManaged
