"""The settings of a client's authorization."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import time

from ..dpop import DPoP
from ..urls import is_metadata_document, same_identifier
from .grants import AuthorizationCode, Grant
from .storage import MemoryStorage, TokenStorage
from .user_agent import LoopbackReceiver, UserAgent
from .values import ClientInformation, ClientMetadata


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthSettings:
    """The settings of a client's authorization; by default its user logs in with a browser.

    The client is the first that applies of `client`, the document at `client_metadata_url`, and a
    registration with `client_metadata`.
    """

    storage: TokenStorage = field(default_factory=MemoryStorage)
    """The store of tokens and registrations."""
    user_agent: UserAgent = field(default_factory=LoopbackReceiver)
    """The browser for the grant `AuthorizationCode`."""
    grant: Grant = field(default_factory=AuthorizationCode)
    client: ClientInformation | None = None
    """A client that an authorization server already knows."""
    client_metadata_url: str | None = None
    """The https URL of a client id metadata document."""
    client_metadata: ClientMetadata = field(default_factory=ClientMetadata)
    """The client's description when it registers."""
    issuer: str | None = None
    """The only authorization server to use; None for the one that the MCP server names."""
    scopes: frozenset[str] | None = None
    """Scopes to ask for if the challenge names none; None for those that the server supports."""
    dpop: DPoP | None = None
    """The key that tokens are bound to, at authorization servers that support it (RFC 9449)."""
    dpop_required: bool = False
    """True to accept bound tokens only."""
    trailing_slash: bool = False
    """True to ignore a slash at the end of an issuer, with a warning."""
    max_step_ups: int = 3
    """How often one operation may ask for more scopes."""
    clock: Callable[[], float] = time
    """Seconds since the epoch."""

    def __post_init__(self) -> None:
        if self.dpop_required and self.dpop is None:
            raise ValueError("dpop_required needs dpop")
        if self.client_metadata_url and not is_metadata_document(self.client_metadata_url):
            raise ValueError("client_metadata_url must be an https URL with a path")
        client = self.client
        if client is not None and client.assertion_audience and not (client.issuer or self.issuer):
            # Any server could be named, and replay the assertion to its true audience.
            raise ValueError("assertion_audience needs an issuer")


def same_issuer(settings: OAuthSettings, one: str, other: str) -> bool:
    return same_identifier(one, other, trailing_slash=settings.trailing_slash)
