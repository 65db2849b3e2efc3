"""The options of a server over HTTP: where it is, who may call, and its limits."""

import re
from collections.abc import Collection
from dataclasses import dataclass, fields
from typing import Final, Literal

from ...core.quotas import Quota
from .authentication import Authentication
from .cors import Cors
from .sessions.peers import Sharing

_MAY_BE_0: Final = ("retry", "header_lifetime")

_UNNAMED: Final = frozenset(("*", "null"))
# The usual port of a scheme may be left out, as browsers do (RFC 6454, section 6.2).
_ORIGIN: Final = re.compile(
    r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?/?", re.IGNORECASE | re.ASCII
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """The options of a server over HTTP. Times are in seconds, sizes in bytes.

    The pages give no numbers. These are meant for a server that strangers can reach. Where
    `authentication` says who calls, each principal may have a quarter of `max_sessions`,
    `max_bodies`, `max_requests` and `max_streams`, unless the option `..._per_principal` is given.
    """

    path: str = "/mcp"
    """The path of the endpoint, below the place where the application is mounted.

    A slash at its end makes no difference, neither here nor in a request.
    """
    allowed_hosts: Collection[str] = ()
    """The host names of the server, `*` for any; a port counts only where it is given.

    The default is the names of this machine: localhost, 127.0.0.1 and [::1].
    """
    allowed_origins: Collection[str] = ()
    """The origins of web pages that may call, such as `https://app.example.com`, `*` for any.

    Pages at an allowed host may always call, unless browsers may send cookies. What browsers want
    to know first, `cors` says.
    """
    cors: Cors | None = None
    """The answers to browsers that ask for pages of other origins; without it, there are none."""
    authentication: Authentication | None = None
    """The check of who may call; without it, everyone may who can reach the server."""
    sessions: bool = True
    """Whether the handshake revisions have sessions.

    Without them nothing is kept between requests, and a server can neither ask its clients
    anything nor tell them of changes.
    """
    session_lifetime: float = 1800.0
    """The time after which a session ends that has no request and no open stream."""
    max_sessions: int = 10_000
    """The most sessions at a time; a new one then replaces the one that is idle for longest."""
    max_sessions_per_principal: int | None = None
    """The most sessions of a principal; a new one then replaces its own that is longest idle."""
    shared: Sharing | None = None
    """What this worker shares with the others that serve the endpoint; without it, nothing."""
    resumable: bool = True
    """Whether clients of the handshake revisions can ask again for what they missed."""
    retry: float = 1.0
    """The time after which a client should come back to a stream that was closed."""
    keep_alive: float = 15.0
    """The longest silence of an open stream."""
    send_timeout: float = 30.0
    """The time a client has to take in what is written to it; then it counts as gone."""
    head_timeout: float = 10.0
    """The time the head of a request has to arrive; only `run_http` can enforce it."""
    body_timeout: float = 30.0
    """The time the body of a request has to arrive."""
    max_body: int = 4 * 1024 * 1024
    """The largest body of a request."""
    max_bodies: int = 64 * 1024 * 1024
    """The most bytes of all bodies that are being read or worked on, of those above 16 KiB.

    Where there is no room for one more, those that come too slowly are answered with 503, or else
    the new one is.
    """
    max_bodies_per_principal: int | None = None
    """The most bytes of such bodies of a principal, beyond which 429 is said in place of 503."""
    max_headers: int = 64 * 1024
    """The largest size of all header fields of a request together."""
    max_requests: int = 1000
    """The most requests and notifications at a time; listen streams do not count."""
    max_requests_per_principal: int | None = None
    """The most requests and notifications of a principal at a time."""
    max_streams: int = 10_000
    """The most open streams of which no request is being worked on."""
    max_streams_per_principal: int | None = None
    """The most such streams of a principal."""
    header_lifetime: float = 60.0
    """The time for which it is known what tools want repeated in header fields.

    It ends when the server publishes `tools_list_changed`.
    """
    health_path: str | None = "/health"
    """The path that says that the process lives, to anybody; None for none."""
    ready_path: str | None = "/ready"
    """The path that says whether requests can be served now, with 200 or 503; None for none."""
    old_sse: bool = False
    """Whether to serve clients of the transport of 2024-11-05, HTTP with SSE, too."""
    old_sse_path: str = "/sse"
    """The path at which those clients open their stream."""
    old_messages_path: str = "/messages"
    """The path to which those clients post."""

    def __post_init__(self) -> None:
        for name in ("allowed_hosts", "allowed_origins"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} has to be a list of names, and not one")
        for host in self.allowed_hosts:
            if "/" in host or (host.count(":") > 1 and not host.startswith("[")):
                raise ValueError(f"allowed_hosts: {host!r} is no name of a host, as in Host")
        for origin in self.allowed_origins:
            if origin not in _UNNAMED and not _ORIGIN.fullmatch(origin):
                raise ValueError(f"allowed_origins: {origin!r} is no origin, as https://a.example")
        if self.cors is not None and self.cors.credentials:
            # Any page can be in a sandbox, whose origin is null.
            unnamed = _UNNAMED.intersection(self.allowed_origins)
            if unnamed or not self.allowed_origins:
                wrong = f"not {', '.join(sorted(unnamed))}" if unnamed else "and not hosts alone"
                raise ValueError(
                    f"Cors(credentials=True) needs allowed_origins with scheme and port, {wrong}:"
                    ' write "https://app.example.com", or "http://localhost:8080"'
                )
        asked = self.authentication
        if asked is not None and asked.proofs and not asked.resource and "*" in self.allowed_hosts:
            # A proof names the URL of its request, and `Host` would say which one that is.
            raise ValueError('allowed_hosts=["*"] and proofs need Authentication(resource=...)')
        for name in ("path", "old_sse_path", "old_messages_path", "health_path", "ready_path"):
            path = getattr(self, name)
            if path is not None and not path.startswith("/"):
                raise ValueError(f"{name} has to begin with a slash")
        for name in (field.name for field in fields(self) if field.name not in _MAY_BE_0):
            value = getattr(self, name)
            if type(value) in (int, float) and value <= 0:
                raise ValueError(f"{name} has to be more than 0")
        for name in ("max_bodies", "max_bodies_per_principal"):
            if (value := getattr(self, name)) is not None and value < self.max_body:
                raise ValueError(f"{name} has to be max_body at least")


def quota_of(
    http: HttpOptions,
    name: Literal["max_sessions", "max_bodies", "max_requests", "max_streams"],
    *,
    at_least: int = 1,
) -> Quota:
    """Return the quota of an option; a principal may have `at_least` that by default."""
    share = getattr(http, f"{name}_per_principal")
    return Quota(getattr(http, name), share, at_least=at_least, name=name)
