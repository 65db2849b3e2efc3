"""The options of a server over HTTP: paths, callers and limits."""

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final, Literal

from ...core.options import string_set
from ...core.quotas import Quota
from .authentication import Authentication
from .cors import Cors
from .sessions.worker import Sharing

_MAY_BE_0: Final = ("retry", "header_lifetime")

_UNNAMED: Final = frozenset(("*", "null"))
# The default port may be left out, as in browsers (RFC 6454, section 6.2).
_ORIGIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """The options of a server over HTTP. Times are in seconds, sizes in bytes.

    Defaults suit a server that strangers can reach; the specification gives none. With
    `authentication`, each principal may have a quarter of `max_sessions`, `max_bodies`,
    `max_requests` and `max_streams`, unless the option `..._per_principal` is set.
    """

    path: str = "/mcp"
    """The path of the endpoint, below the application's mount; a final slash is ignored."""
    allowed_hosts: Collection[str] = ()
    """The host names of the server, `*` for any; ports count only if given.

    The default is this machine: localhost, 127.0.0.1 and [::1].
    """
    allowed_origins: Collection[str] = ()
    """The origins of web pages that may call, such as `https://app.example.com`, `*` for any.

    Pages at an allowed host may call, too, unless cookies are allowed. Browsers also need `cors`.
    """
    cors: Cors | None = None
    """The answers to cross-origin requests of browsers; None for no answers."""
    authentication: Authentication | None = None
    """The check of callers; without it, anyone who reaches the server may call."""
    sessions: bool = True
    """Whether the handshake revisions have sessions.

    Without them no state is kept between requests, and a server cannot ask its clients anything or
    notify them of changes.
    """
    session_lifetime: float = 1800.0
    """The time after which a session without requests and open streams ends."""
    max_sessions: int = 10_000
    """The most sessions; a new one replaces the longest idle."""
    max_sessions_per_principal: int | None = None
    """The most sessions of a principal; a new one replaces its longest idle."""
    shared: Sharing | None = None
    """The sharing with other workers of the endpoint; None for no sharing."""
    resumable: bool = True
    """Whether clients of the handshake revisions can get events again that they missed."""
    retry: float = 1.0
    """The time after which a client should reconnect to a closed stream."""
    keep_alive: float = 15.0
    """The longest silence of an open stream."""
    send_timeout: float = 30.0
    """The time for a client to read what was written; then it counts as gone."""
    head_timeout: float = 10.0
    """The time for the head of a request to arrive; only `run_http` enforces it."""
    body_timeout: float = 30.0
    """The time for the body of a request to arrive."""
    max_body: int = 4 * 1024 * 1024
    """The largest body of a request."""
    max_bodies: int = 64 * 1024 * 1024
    """The most bytes of bodies above 16 KiB that are read or worked on.

    If there is no room, slow bodies get 503, or else the new one does.
    """
    max_bodies_per_principal: int | None = None
    """The same per principal, with status 429."""
    max_headers: int = 64 * 1024
    """The size limit of a request's header fields."""
    max_requests: int = 1000
    """The most requests and notifications in progress, without listen streams."""
    max_requests_per_principal: int | None = None
    """The same per principal."""
    max_streams: int = 10_000
    """The most open streams without a request in progress."""
    max_streams_per_principal: int | None = None
    """The same per principal."""
    header_lifetime: float = 60.0
    """How long it is remembered which arguments tools want in header fields.

    It ends when the server publishes `tools_list_changed`.
    """
    health_path: str | None = "/health"
    """The public path that says that the process lives; None for none."""
    ready_path: str | None = "/ready"
    """The public path that says whether requests are served now, by 200 or 503; None for none."""
    old_sse: bool = False
    """Whether to serve clients of HTTP with SSE, the transport of 2024-11-05."""
    old_sse_path: str = "/sse"
    """The path of their streams."""
    old_messages_path: str = "/messages"
    """The path of their POSTs."""

    def __post_init__(self) -> None:
        for name in ("allowed_hosts", "allowed_origins"):
            string_set(getattr(self, name), name)
        for host in self.allowed_hosts:
            if "/" in host or (host.count(":") > 1 and not host.startswith("[")):
                raise ValueError(f"allowed_hosts: {host!r} must be a host name, as in Host")
        for origin in self.allowed_origins:
            if origin not in _UNNAMED and not _ORIGIN.fullmatch(origin):
                raise ValueError(
                    f"allowed_origins: {origin!r} must be an origin: https://a.example"
                )
        if self.cors is not None and self.cors.credentials:
            # Any page can have the origin null, in a sandbox.
            unnamed = _UNNAMED.intersection(self.allowed_origins)
            if unnamed or not self.allowed_origins:
                wrong = f"not {', '.join(sorted(unnamed))}" if unnamed else "and not hosts alone"
                raise ValueError(
                    f"Cors(credentials=True) needs allowed_origins with scheme and port, {wrong}:"
                    ' write "https://app.example.com", or "http://localhost:8080"'
                )
        auth = self.authentication
        if auth is not None and auth.proofs and not auth.resource and "*" in self.allowed_hosts:
            # A proof names its URL, and `Host` would decide which one that is.
            raise ValueError('allowed_hosts=["*"] and proofs need Authentication(resource=...)')
        for name in ("path", "old_sse_path", "old_messages_path", "health_path", "ready_path"):
            path = getattr(self, name)
            if path is not None and not path.startswith("/"):
                raise ValueError(f"{name} must begin with a slash")
        for name in (field.name for field in fields(self) if field.name not in _MAY_BE_0):
            value = getattr(self, name)
            if type(value) in (int, float) and value <= 0:
                raise ValueError(f"{name} must be more than 0")
        for name in ("max_bodies", "max_bodies_per_principal"):
            if (value := getattr(self, name)) is not None and value < self.max_body:
                raise ValueError(f"{name} must be at least max_body")


USUAL_HTTP: Final = HttpOptions()


def quota_of(
    http: HttpOptions,
    name: Literal["max_sessions", "max_bodies", "max_requests", "max_streams"],
    *,
    at_least: int = 1,
) -> Quota:
    """Return the quota of an option; a principal may use at least `at_least`."""
    share = getattr(http, f"{name}_per_principal")
    return Quota(getattr(http, name), share, at_least=at_least, name=name)
