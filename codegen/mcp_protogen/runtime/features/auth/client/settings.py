"""What a program says about how it is to be authorized."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time

from ..dpop import DPoP
from ..urls import is_metadata_document
from .grants import AuthorizationCode, Grant
from .storage import MemoryStorage, TokenStorage
from .user_agent import LoopbackReceiver, UserAgent
from .values import ClientInformation, ClientMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """How a client is authorized; by default, by its user in a browser, and registered by itself.

    Who the client is, is settled by the first of these that can be: `client`, the document at
    `client_metadata_url`, or registration with `client_metadata`.
    """

    storage: TokenStorage = field(default_factory=MemoryStorage)
    """Where tokens and registrations are kept."""
    user_agent: UserAgent = field(default_factory=LoopbackReceiver)
    """What has the user log in, for the grant `AuthorizationCode`."""
    grant: Grant = field(default_factory=AuthorizationCode)
    client: ClientInformation | None = None
    """The client as an authorization server knows it already."""
    client_metadata_url: str | None = None
    """The https URL of a client id metadata document."""
    client_metadata: ClientMetadata = field(default_factory=ClientMetadata)
    """What the client says about itself when it registers."""
    issuer: str | None = None
    """The only authorization server that is asked; None for whichever an MCP server names."""
    scopes: frozenset[str] | None = None
    """Scopes to ask for where the server's challenge names none; None for what it supports."""
    dpop: DPoP | None = None
    """What binds tokens to a key, at authorization servers that can (RFC 9449)."""
    dpop_required: bool = False
    """True to accept no other tokens than bound ones."""
    trailing_slash: bool = False
    """True to accept an issuer with a slash at the end for the one without it, with a warning."""
    max_step_ups: int = 3
    """How often more scopes are asked for, for one operation."""
    clock: Callable[[], float] = time
    """Seconds of the epoch."""

    def __post_init__(self) -> None:
        if self.dpop_required and self.dpop is None:
            raise ValueError("dpop_required needs dpop")
        if self.client_metadata_url and not is_metadata_document(self.client_metadata_url):
            raise ValueError("client_metadata_url has to be an https URL with a path")
        client = self.client
        if client is not None and client.assertion_audience and not (client.issuer or self.issuer):
            # Any server could be named, and use the assertion at the one that it is for.
            raise ValueError("assertion_audience needs an issuer")
