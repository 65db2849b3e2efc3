"""What a client has to know to get a token: the metadata of a protected resource (RFC 9728)."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic_core import to_json

from ...core.oauth_scopes import checked_scopes
from .challenge_fields import is_quotable

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""The place of metadata, before the path of the resource (RFC 9728, section 3.1)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """A resource that wants tokens, and who issues them; see RFC 9728, section 2.

    `url` is that of the endpoint, as clients know it, and what tokens have to be issued for. All
    texts are sent as they are given: clients compare them as strings. Raise `ValueError` for a
    resource without an authorization server, and for what is no URL.
    """

    url: str
    authorization_servers: Collection[str]
    """The issuers whose tokens are accepted, at least one."""
    scopes: Collection[str] = ()
    """The scopes to begin with, for clients that no challenge has told of others."""
    name: str | None = None
    documentation: str | None = None
    """The URL of a page for developers."""
    policy: str | None = None
    """The URL of a page about how data may be used."""
    terms: str | None = None
    """The URL of the terms of service."""
    dpop_algorithms: Collection[str] = ()
    """The algorithms of proofs that are accepted; `Authentication(proofs=...)` fills them in."""
    dpop_required: bool = False
    """Whether each token has to be bound to a key."""

    def __post_init__(self) -> None:
        where = f"ProtectedResource({self.url!r:.200})"
        servers, parts = self.authorization_servers, urlsplit(self.url)
        if isinstance(servers, str) or not servers:
            raise ValueError(f"{where}: authorization_servers is a list of one or more issuers")
        for url in (self.url, *servers):
            if not _is_url(url):
                raise ValueError(f"{where}: {url!r:.200} is no absolute http(s) URL in ASCII")
        if parts.fragment or self.url.endswith("#"):
            raise ValueError(f"{where}: a resource has no fragment (RFC 8707, section 2)")
        checked_scopes(self.scopes, where)

    def to_json(self) -> bytes:
        """Return the document, which is JSON."""
        members: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [*self.authorization_servers],
            "bearer_methods_supported": ["header"],
            "scopes_supported": [*self.scopes],
            "resource_name": self.name,
            "resource_documentation": self.documentation,
            "resource_policy_uri": self.policy,
            "resource_tos_uri": self.terms,
            "dpop_signing_alg_values_supported": [*self.dpop_algorithms],
            "dpop_bound_access_tokens_required": self.dpop_required,
        }
        # What has no value has no member (RFC 9728, section 3.2).
        return to_json({name: value for name, value in members.items() if value})

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the document: for this resource, and for the whole host."""
        return frozenset({urlsplit(self.metadata_url).path, WELL_KNOWN})

    @property
    def metadata_url(self) -> str:
        """The URL of the document, which challenges name."""
        parts = urlsplit(self.url)
        path = "" if parts.path == "/" else parts.path
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{path}{query}"


def _is_url(url: str) -> bool:
    parts = urlsplit(url)
    is_plain = is_quotable(url) and " " not in url and "@" not in parts.netloc
    return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname)
