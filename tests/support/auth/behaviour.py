"""The behaviour of an authorization server in a test, good or bad, as a value.

Most misbehaviour is a lie, so it is written as members that replace those of metadata, redirects or
tokens. None leaves a member out.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeAlias

from support.auth.messages import Response

Place: TypeAlias = Literal["oauth", "openid-inserted", "openid-appended"]
"""A place of metadata: RFC 8414 section 3, its section 5 for OpenID Connect, and that of OpenID."""

Endpoint: TypeAlias = Literal["metadata", "authorize", "token", "register", "jwks", "introspect"]

Members: TypeAlias = Mapping[str, Any]


def _none() -> Members:
    return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The behaviour of a server; the default keeps every rule."""

    places: tuple[Place, ...] = ("oauth",)
    """Where its metadata is; empty for one of 2025-03-26 that has none."""
    base: str = ""
    """A path before those of its endpoints."""
    metadata: Members = field(default_factory=_none)
    """Members of its metadata, such as another `issuer`."""
    instead: Mapping[Endpoint, Response] = field(default_factory=dict[Endpoint, Response])
    """What endpoints answer whatever they are asked."""
    stalled: frozenset[Endpoint] = frozenset()
    """Endpoints that never answer."""

    registration: bool = True
    """Whether clients can register by themselves (RFC 7591)."""
    registered: Members = field(default_factory=_none)
    """Members of the answer to a registration."""
    odd: str = ""
    """What ids and secrets of registered clients have in them, such as `:+%/`.

    Our client encodes them (RFC 6749, section 2.3.1), which many others do not.
    """
    auth_method: str | None = None
    """The authentication method that a client is registered with, whatever it asks for."""

    redirected: Members = field(default_factory=_none)
    """Parameters of the redirect to the client, such as another `iss`, `state` or `error`."""

    issued: Members = field(default_factory=_none)
    """Members of the answer with a token."""
    claims: Members = field(default_factory=_none)
    """Claims of access tokens."""
    withheld: frozenset[str] = frozenset()
    """Scopes that nobody gets."""
    refresh: Literal["rotating", "kept", "never"] = "rotating"
    """What happens to refresh tokens when they are used, and whether there are any."""
    resource_required: bool = True
    """Whether authorization and token requests need a `resource` (RFC 8707)."""
    lifetime: int = 300
    """Seconds for which an access token is valid."""
    dpop_required: bool = False
    """Whether tokens are only for clients with a key (RFC 9449)."""


GOOD: Final = Behaviour()
