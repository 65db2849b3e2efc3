"""The check that a request is meant for this server: the host it names, and its origin.

A page in a browser can reach a server on its user's machine under a name that its author controls
(DNS rebinding). The name stays in `Host`, and the page in `Origin`, so both are looked at
(2026-07-28, basic/transports/streamable-http, "Security & Endpoint").
"""

from collections.abc import Collection
from typing import Final

from .asgi import HttpRefusal

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_ANY: Final = "*"
_KNOWN: Final = 1000
_LONGEST: Final = 300
_PORT: Final = len("65535")


class OriginGuard:
    """The check of `Host` and `Origin` against the allowed hosts and origins.

    A web page at an allowed host may call as well.
    """

    __slots__ = ("_hosts", "_known", "_origins")

    def __init__(self, hosts: Collection[str], origins: Collection[str]) -> None:
        self._hosts = frozenset(host.lower() for host in hosts or _LOOPBACK)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)
        # What passed before; clients come back with the same.
        self._known: set[tuple[bytes, bytes | None]] = set()

    def check(self, host: bytes | None, origin: bytes | None) -> None:
        """Raise `HttpRefusal` for a request that is not meant for this server."""
        if host is None:
            raise HttpRefusal(400, "The header field Host is missing")
        if (host, origin) in self._known:
            return
        if not self._is_allowed(host.decode("latin-1").strip(" \t").lower()):
            raise HttpRefusal(421, "Not a host of this server; see allowed_hosts")
        if origin is not None and not self._may_call(origin.decode("latin-1").strip(" \t").lower()):
            raise HttpRefusal(403, "Not an origin that may call this server; see allowed_origins")
        if len(host) + len(origin or b"") > _LONGEST:
            return
        if len(self._known) >= _KNOWN:
            self._known.clear()
        self._known.add((host, origin))

    def _is_allowed(self, host: str) -> bool:
        if _ANY in self._hosts or host in self._hosts:
            return True
        name, colon, port = host.rpartition(":")
        is_port = bool(colon) and port.isascii() and port.isdigit() and len(port) <= _PORT
        return is_port and name in self._hosts

    def _may_call(self, origin: str) -> bool:
        if _ANY in self._origins or origin in self._origins:
            return True
        scheme, _, host = origin.partition("://")
        if scheme not in ("http", "https") or _ANY in self._hosts:
            # A server that answers to any name has to say which pages it trusts.
            return False
        # With a path or a user name before it, a host is in no list.
        return self._is_allowed(host)
