"""The settings of a gateway, read from a host's `mcp.json` or a TOML file.

Times are in seconds.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, PlainValidator

from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.runtime.core.oauth_scopes import checked_scopes
from mcp_protogen.runtime.features.auth.client.values import ClientInformation
from mcp_protogen.runtime.features.auth.urls import server_metadata_urls
from mcp_protogen.runtime.http.client.authorization import HttpAuthorization
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.bridge.http_side import Address, read_address
from mcp_protogen.servers.connect.authorization import require_https
from mcp_protogen.servers.gateway.settings.lock_file import LockedServer

ItemKind: TypeAlias = Literal["tools", "prompts", "resources"]
"""A kind of item, as patterns name it; resources include their templates."""
Patterns: TypeAlias = Mapping[ItemKind, tuple[str, ...]]
"""Glob patterns of a server's own names or URIs, by kind of item."""

Asking: TypeAlias = Literal["elicitation", "sampling", "roots"]
"""A capability of clients that lets a server ask them."""

LockMode: TypeAlias = Literal["off", "warn", "enforce"]
"""What the gateway does with items that differ from the lock: nothing, log them, or hide them."""

Seconds: TypeAlias = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]
Text: TypeAlias = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]*$")]
"""A part of names: 2025-11-25, server/tools, "Tool Names"."""
Count: TypeAlias = Annotated[int, Field(ge=1, strict=True)]
CallCounts: TypeAlias = Mapping[Literal["concurrent", "per_minute"], Count]
"""The most calls of a principal at the same time, and per minute."""
Flag: TypeAlias = Annotated[bool, Field(strict=True)]
Separator: TypeAlias = Annotated[Text, Field(min_length=1)]
Name: TypeAlias = Annotated[Separator, Field(max_length=128)]


_ENGINES: Final = ("redis", "rediss", "unix", "postgres", "postgresql")
_SHORTEST_KEY: Final = 16


def _check_url(url: str) -> str:
    # A resource may have a query, but should not (RFC 8707, section 2).
    if not server_metadata_urls(url):
        raise ValueError("it must be an http(s) URL without a query or a fragment")
    return url


def _admin_address(said: object) -> Address:
    if not isinstance(said, str):
        raise ValueError("it must be a text with a port, or with a host and a port")
    return read_address(said)


AdminAddress: TypeAlias = Annotated[Address, PlainValidator(_admin_address)]
HostName: TypeAlias = Annotated[str, Field(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s/:]+)(:\d+)?$")]


def _check_endpoint(url: str) -> str:
    if "#" in url:
        raise ValueError("it must not have a fragment")  # RFC 6749, section 3.2
    require_https(url)
    return url


Url: TypeAlias = Annotated[str, AfterValidator(_check_url)]
Endpoint: TypeAlias = Annotated[str, AfterValidator(_check_endpoint)]
Scopes: TypeAlias = Annotated[
    frozenset[str], AfterValidator(partial(checked_scopes, label="tokens"))
]


def _check_claims(claims: Mapping[str, Any]) -> Mapping[str, Any]:
    for name, value in claims.items():
        if is_object(value):
            _check_claims(value)
        elif not isinstance(value, str | int) or value == "":
            raise ValueError(f"{name!r:.40} must be text, an integer, true, false or an object")
    return claims


def _check_some(texts: tuple[str, ...]) -> tuple[str, ...]:
    if not texts:
        raise ValueError("it must not be empty")
    return texts


def _check_engine(url: str) -> str:
    if urlsplit(url).scheme not in _ENGINES:
        # The wrong value may have a password.
        raise ValueError(f"it must be a URL of {', '.join(_ENGINES)}")
    return url


def _check_key(key: str) -> str:
    if len(key) < _SHORTEST_KEY:
        raise ValueError(f"a key must have at least {_SHORTEST_KEY} characters")
    return key


EngineUrl: TypeAlias = Annotated[str, AfterValidator(_check_engine)]
StateKey: TypeAlias = Annotated[str, AfterValidator(_check_key)]
Claims: TypeAlias = Annotated[Mapping[str, Any], AfterValidator(_check_claims)]
Texts: TypeAlias = Annotated[tuple[str, ...], AfterValidator(_check_some)]


def _no_patterns() -> Mapping[ItemKind, tuple[str, ...]]:
    return MappingProxyType({})


def _no_limits() -> CallCounts:
    return MappingProxyType({})


def _no_names() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeSettings:
    """The exchange of clients' tokens for those that a server accepts (RFC 8693)."""

    exchange: Endpoint
    """The token endpoint, the only address that gets tokens of clients."""
    audience: Annotated[str, Field(min_length=1)]
    scopes: Scopes = frozenset()
    client: ClientInformation | None = None
    """The gateway as a client of the endpoint; None if that needs none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginSettings:
    """The logins of users at the authorization server that a server names."""

    client: ClientInformation | None = None
    """The gateway as a client there; None to register it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """One server behind the gateway: its address, its names, and how it is called."""

    name: str
    place: str
    """The file and the JSON pointer of the server, for messages."""
    address: str
    """The URL or the program, without secrets, for messages."""
    opener: Opener = field(repr=False, compare=False)
    opener_digest: str = field(default="", repr=False)
    """A digest of what the opener was made from: settings read twice have different openers."""
    prefix: Text
    """The text before names; empty for none. By default the name."""
    separator: Separator = "_"
    rename: Mapping[str, Name] = field(default_factory=_no_names)
    """Names that clients use, by own names of the server; they get no prefix."""
    uris: Literal["rewrite", "keep"] = "rewrite"
    allow: Patterns = field(default_factory=_no_patterns)
    """The items that are offered; a kind without patterns is offered whole."""
    deny: Patterns = field(default_factory=_no_patterns)
    revision: str | None = None
    """The only revision to speak with the server; None for any."""
    questions: frozenset[Asking] = frozenset({"elicitation"})
    """The capabilities for questions that the server is told of, if the client has them."""
    timeout: Seconds = 60.0
    """The longest time without a sign of a call; progress extends it."""
    max_timeout: Seconds = 600.0
    """The longest time for a call."""
    concurrency: Count | None = None
    """The most requests at a time on one connection; None for no limit."""
    max_connections: Count = 100
    limits: CallCounts = field(default_factory=_no_limits)
    catalogue: Literal["own", "shared"] = "own"
    """Whether lists belong to a principal, or are the same for all."""
    required: Flag = False
    """Whether the gateway is ready only if the server can be reached."""
    lock: LockMode = "off"
    locked: LockedServer | None = None
    """The accepted items; None if the lock has none of the server."""
    auth: str = "none"
    """The kind of authorization, as in the file; `exchange` for an object."""
    token_exchange: ExchangeSettings | None = None
    login: LoginSettings | None = None
    open_as: Callable[[HttpAuthorization], Opener] | None = field(
        default=None, repr=False, compare=False
    )
    """Return an opener of connections for one client, if users have their own tokens; else `opener`
    is for all clients."""
    transport: Literal["stdio", "HTTP"] = "stdio"

    @property
    def is_for_user(self) -> bool:
        """Return whether each user has tokens of their own for the server."""
        return self.token_exchange is not None or self.login is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    """The tokens that clients must have."""

    issuer: Url
    audience: Url
    scopes: Scopes = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleSettings:
    """Items of some servers, and the conditions that a principal must fulfil to have them.

    The patterns are those of own names and URIs; without any, it is about all items.
    """

    servers: Texts = ()
    tools: Texts = ()
    prompts: Texts = ()
    resources: Texts = ()
    principals: Texts = ()
    """Patterns of ids, as in the access log."""
    scopes: Scopes = frozenset()
    claims: Claims = field(default_factory=_no_names)
    """Values that claims of the token are, or have as an element, a word or a member."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """A gateway with its servers, in the order of the file."""

    file: str
    servers: tuple[ServerSettings, ...]
    place: str = ""
    """The file and the JSON pointer of the gateway's own members, for messages."""
    name: str = "gateway"
    title: str | None = None
    instructions: str | None = None
    separator: Separator = "_"
    """The separator of servers without their own."""
    lock: LockMode = "off"
    """That of servers without their own."""
    list_timeout: Seconds = 5.0
    """The time for a server to list; later items are announced as a change."""
    auth: AuthSettings | None = None
    """The check of clients over HTTP; None to serve only this machine."""
    logins: str | None = None
    """The file with the logins of users; None to keep them in memory."""
    rules: tuple[RuleSettings, ...] = ()
    admin: AdminAddress | None = None
    """The address of health, status and metrics; None for none."""
    admin_hosts: frozenset[HostName] = frozenset()
    """The host names in requests to it, `*` for any; without them, those of this machine."""
    share: EngineUrl | None = field(default=None, repr=False)
    """The engine with the sessions of all processes of the gateway; None for a single process."""
    state_keys: tuple[StateKey, ...] = field(default=(), repr=False)
    """The keys of states that clients carry, as `Options.state_keys`."""
    telemetry: bool = False
    """Whether to record spans and durations with OpenTelemetry."""
    secrets: Mapping[str, str] = field(default_factory=_no_names, repr=False)
    """The values of variables, each with the variable that stands for it."""

    def lock_parts(self) -> Sequence[LockedServer | None]:
        """Return the accepted items of each server."""
        return [server.locked for server in self.servers]

    def rules_of(self, server: str) -> Sequence[RuleSettings]:
        """Return the rules about items of a server."""
        return [rule for rule in self.rules if server in rule.servers]

    def hide(self, text: str) -> str:
        """Return a text with variables in place of their values."""
        for value, variable in self.secrets.items():
            text = text.replace(value, variable)
        return text
