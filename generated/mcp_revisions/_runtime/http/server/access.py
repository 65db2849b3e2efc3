"""The checks of who may call: the host that a request names, its origin, and its bearer token.

A page in a browser can reach a server on its user's machine under a name that its author controls
(DNS rebinding). The name stays in `Host`, and the page in `Origin`, so both are looked at
(2026-07-28, basic/transports/streamable-http, "Security & Endpoint").

As for tokens, the server is a resource server in the sense of OAuth 2.1: it judges them and issues
none. How is the application's business (2025-11-25 and 2026-07-28, basic/authorization).
"""

import hmac
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from pydantic_core import to_json

from .asgi import Field, HttpRefusal

_LOOPBACK: Final = ("localhost", "127.0.0.1", "[::1]")
_ANY: Final = "*"
_KNOWN: Final = 1000
_LONGEST: Final = 300
_PORT: Final = len("65535")

_METADATA: Final = "/.well-known/oauth-protected-resource"
"""Where the metadata of a protected resource is, before the path of the resource (RFC 9728)."""


class OriginGuard:
    """The check of `Host` and `Origin`; a web page at an allowed host may call as well."""

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


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody who was authenticated, and what they may do."""

    id: str
    scopes: frozenset[str] = frozenset()


Verify: TypeAlias = Callable[[str], Awaitable[Principal | None]]
"""Judges a bearer token: whose it is, or None. It has to see to the audience (RFC 8707), too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """What a client has to know to get a token: the metadata of RFC 9728.

    `url` is that of the endpoint, as clients know it.
    """

    url: str
    authorization_servers: tuple[str, ...]
    scopes: tuple[str, ...] = ()
    name: str | None = None
    documentation: str | None = None

    def to_json(self) -> bytes:
        document: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": list(self.authorization_servers),
            "bearer_methods_supported": ["header"],
        }
        more = {
            "scopes_supported": list(self.scopes),
            "resource_name": self.name,
            "resource_documentation": self.documentation,
        }
        return to_json(document | {name: value for name, value in more.items() if value})

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the document: for this resource, and for the whole host."""
        return frozenset({_METADATA + urlsplit(self.url).path.rstrip("/"), _METADATA})

    @property
    def metadata_url(self) -> str:
        """The URL of the document of this resource."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{_METADATA}{parts.path.rstrip('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Authentication:
    """Who may call: those whose token `verify` accepts, and who have all of `scopes`."""

    verify: Verify
    scopes: frozenset[str] = frozenset()
    resource: ProtectedResource | None = None

    async def principal(self, authorization: str | None) -> Principal:
        """Return the sender of a request with this `Authorization`; raise `HttpRefusal`."""
        scheme, _, token = (authorization or "").partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            raise self._refusal(401, "A bearer token is needed")
        principal = await self.verify(token.strip())
        if principal is None:
            raise self._refusal(401, "The token is not valid", error="invalid_token")
        if not self.scopes <= principal.scopes:
            text = "The token does not reach that far"
            raise self._refusal(403, text, error="insufficient_scope")
        return principal

    def _refusal(self, status: int, reason: str, **params: str) -> HttpRefusal:
        """Return a refusal with the header field that tells a client how to get a token.

        RFC 6750, section 3; RFC 9728, section 5.1.
        """
        if self.scopes:
            params["scope"] = " ".join(sorted(self.scopes))
        if self.resource is not None:
            params["resource_metadata"] = self.resource.metadata_url
        challenge = ", ".join(f'{name}="{value}"' for name, value in params.items())
        field: Field = b"www-authenticate", f"Bearer {challenge}".strip().encode()
        return HttpRefusal(status, reason, fields=[field])


def static_tokens(principals: Mapping[str, Principal]) -> Verify:
    """Return what accepts these tokens and no others; for tests, and for a few trusted clients.

    Raise `ValueError` for a token of less than 16 characters.
    """
    if any(len(token) < 16 for token in principals):
        raise ValueError("a token needs at least 16 characters")
    known = [(token.encode(), principal) for token, principal in principals.items()]

    async def verify(token: str) -> Principal | None:
        given, found = token.encode(), None
        # All are looked at, so that the time it takes tells nothing.
        for one, principal in known:
            if hmac.compare_digest(given, one):
                found = principal
        return found

    return verify
