"""What a user may choose of a server over HTTP: where it is, whom it answers, and its limits."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from .server.authentication import Authentication
from .server.events import EventStore
from .server.records import SessionStore

_POSITIVE: Final = (
    *("session_lifetime", "max_sessions", "keep_alive", "send_timeout", "head_timeout"),
    *("body_timeout", "max_body", "max_bodies", "max_headers", "max_requests", "max_streams"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpOptions:
    """How a server is reached over HTTP. Times are in seconds, sizes in bytes.

    The pages give no numbers. These are meant for a server that strangers can reach.
    """

    path: str = "/mcp"
    """Of the endpoint, below the place where the application is mounted."""
    allowed_hosts: Collection[str] = ()
    """Names by which the server may be called, `*` for any; a port counts only where it is given.

    None given are those of this machine alone: localhost, 127.0.0.1 and [::1].
    """
    allowed_origins: Collection[str] = ()
    """Origins of web pages that may call it, such as `https://app.example.com`, `*` for any.

    Those at an allowed host may anyway.
    """
    authentication: Authentication | None = None
    """Who may call it; without, everyone who can reach it."""
    sessions: bool = True
    """Whether the handshake revisions have sessions; without, nothing is kept between requests.

    Then a server cannot ask its clients anything, or tell them of changes.
    """
    session_lifetime: float = 1800.0
    """Without any request or open stream a session ends after this time."""
    max_sessions: int = 10_000
    """When there are as many, the one that has been idle for longest makes room for a new one."""
    session_store: SessionStore | None = None
    """Lets another process go on with a session; without, each process knows only its own."""
    events: EventStore | None = None
    """Keeps what was sent for clients that lose their connection; in memory, if not given."""
    resumable: bool = True
    """Whether clients of the handshake revisions can have sent again what they missed."""
    retry: float = 1.0
    """After this time a client should come back to a stream that was closed."""
    keep_alive: float = 15.0
    """At least so often something is written to each open stream."""
    send_timeout: float = 30.0
    """For a client to take in what is written to it, before it counts as gone."""
    head_timeout: float = 10.0
    """For the head of a request to arrive; `run_http` alone can see to it."""
    body_timeout: float = 30.0
    """For the body of a request to arrive."""
    max_body: int = 4 * 1024 * 1024
    """Of a request."""
    max_bodies: int = 64 * 1024 * 1024
    """Of all requests that are being read or worked on, those of more than 16 KiB.

    When there is no room for one more, whoever sends too slowly to be done in time is put off, and
    otherwise the new one is: with 503, so that they come again. Of `old_sse`, those count that are
    being read.
    """
    max_headers: int = 64 * 1024
    """Of all header fields of a request together."""
    max_requests: int = 1000
    """Requests and notifications that are worked on at a time; listen streams do not count."""
    max_streams: int = 10_000
    """Streams that are open without a request being worked on."""
    header_lifetime: float = 60.0
    """What a tool wants repeated in header fields is asked anew after this time.

    A server that publishes `tools_list_changed` has it asked at once.
    """
    old_sse: bool = False
    """Whether clients of the transport of 2024-11-05, HTTP with SSE, are served, too."""
    old_sse_path: str = "/sse"
    """Where they open their stream."""
    old_messages_path: str = "/messages"
    """Where they post to."""

    def __post_init__(self) -> None:
        """Raise `ValueError` for options that are not valid."""
        for name in ("allowed_hosts", "allowed_origins"):
            if isinstance(getattr(self, name), str):
                raise ValueError(f"{name} has to be a list of names, and not one")
        for host in self.allowed_hosts:
            if "/" in host or (host.count(":") > 1 and not host.startswith("[")):
                raise ValueError(f"allowed_hosts: {host!r} is no name of a host, as in Host")
        for origin in self.allowed_origins:
            if origin != "*" and "://" not in origin and origin != "null":
                raise ValueError(f"allowed_origins: {origin!r} is no origin, as https://a.example")
        for name in ("path", "old_sse_path", "old_messages_path"):
            if not getattr(self, name).startswith("/"):
                raise ValueError(f"{name} has to begin with a slash")
        for name in _POSITIVE:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} has to be more than 0")
        if self.max_bodies < self.max_body:
            raise ValueError("max_bodies has to be max_body at least")
