"""The settings of a gateway, read from a host's `mcp.json` or a TOML file.

Times are in seconds.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Literal, TypeAlias

from mcp_protogen.runtime.transports.base import Opener

ItemKind: TypeAlias = Literal["tools", "prompts", "resources"]
"""A kind of item, as patterns name it; resources include their templates."""
Patterns: TypeAlias = Mapping[ItemKind, tuple[str, ...]]
"""Glob patterns of a server's own names or URIs, by kind of item."""

ASKING: Final = ("elicitation", "sampling", "roots")
"""The capabilities of clients that let a server ask them."""


def _no_patterns() -> Mapping[ItemKind, tuple[str, ...]]:
    return MappingProxyType({})


def _no_names() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One server behind the gateway: its address, its names, and how it is called."""

    name: str
    place: str
    """The file and the JSON pointer of the server, for messages."""
    address: str
    """The URL or the program, without secrets, for messages."""
    opener: Opener = field(repr=False)
    prefix: str
    """The text before names; empty for none. By default the name."""
    separator: str = "_"
    rename: Mapping[str, str] = field(default_factory=_no_names)
    """Names that clients use, by own names of the server; they get no prefix."""
    uris: Literal["rewrite", "keep"] = "rewrite"
    allow: Patterns = field(default_factory=_no_patterns)
    """The items that are offered; a kind without patterns is offered whole."""
    deny: Patterns = field(default_factory=_no_patterns)
    revision: str | None = None
    """The only revision to speak with the server; None for any."""
    questions: frozenset[str] = frozenset({"elicitation"})
    """The capabilities for questions that the server is told of, if the client has them."""
    timeout: float = 60.0
    """The longest time without a sign of a call; progress extends it."""
    max_timeout: float = 600.0
    """The longest time for a call."""
    concurrency: int | None = None
    """The most requests at a time on one connection; None for no limit."""
    max_connections: int = 100
    catalogue: Literal["own", "shared"] = "own"
    """Whether lists belong to a principal, or are the same for all."""
    required: bool = False
    """Whether the gateway is ready only if the server can be reached."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    """The tokens that clients must have."""

    issuer: str
    audience: str
    scopes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """A gateway with its servers, in the order of the file."""

    file: str
    servers: tuple[ServerSettings, ...]
    name: str = "gateway"
    title: str | None = None
    instructions: str | None = None
    list_timeout: float = 5.0
    """The time for a server to list; later items are announced as a change."""
    auth: AuthSettings | None = None
