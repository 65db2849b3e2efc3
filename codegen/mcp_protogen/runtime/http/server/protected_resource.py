"""What tells clients which token a request needs: challenges, and the metadata of RFC 9728."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic_core import to_json

from ...core.oauth_scopes import checked_scopes
from .asgi import Field

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
"""The prefix before the path of the resource (RFC 9728, section 3.1)."""

BEARER: Final = "Bearer"
DPOP: Final = "DPoP"

_UNQUOTABLE: Final = re.compile(r"[^ !#-\[\]-~]")


def is_quotable(text: str) -> bool:
    """Return whether a text can be in a quoted string unescaped."""
    return _UNQUOTABLE.search(text) is None


def mask_unquotable(text: str) -> str:
    """Return a text with a question mark for each character that a description cannot have.

    RFC 6750, section 3: a verifier's text may repeat parts of a token.
    """
    return _UNQUOTABLE.sub("?", text)


def challenge(scheme: str, params: Mapping[str, str]) -> Field:
    """Return a field `WWW-Authenticate`; raise `ValueError` for unquotable values.

    RFC 9110, section 11.6.1; RFC 6750, section 3; RFC 9449, section 7.1; RFC 9728, section 5.1.
    """
    for name, value in params.items():
        if not is_quotable(value):
            raise ValueError(f"{name}: {value!r:.100} is not allowed in a header field")
    listed = ", ".join(f'{name}="{value}"' for name, value in params.items())
    return b"www-authenticate", f"{scheme} {listed}".strip().encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtectedResource:
    """A resource that requires tokens, and their issuers; see RFC 9728, section 2.

    `url` is the endpoint as clients know it, and the audience of tokens. Texts are sent as given:
    clients compare them as strings. Raise `ValueError` without an authorization server, or for an
    invalid URL.
    """

    url: str
    authorization_servers: Collection[str]
    """The accepted issuers, at least one."""
    scopes: Collection[str] = ()
    """The initial scopes, for clients without a challenge."""
    name: str | None = None
    documentation: str | None = None
    """The URL of a page for developers."""
    policy: str | None = None
    """The URL of a page on the use of data."""
    terms: str | None = None
    """The URL of the terms of service."""
    dpop_algorithms: Collection[str] = ()
    """The accepted algorithms of proofs; set by `Authentication(proofs=...)`."""
    dpop_required: bool = False
    """Whether tokens must be bound to a key."""

    def __post_init__(self) -> None:
        label = f"ProtectedResource({self.url!r:.200})"
        servers, parts = self.authorization_servers, urlsplit(self.url)
        if isinstance(servers, str) or not servers:
            raise ValueError(f"{label}: authorization_servers must list one or more issuers")
        for url in (self.url, *servers):
            if not _is_url(url):
                raise ValueError(f"{label}: {url!r:.200} must be an absolute http(s) URL in ASCII")
        if parts.fragment or self.url.endswith("#"):
            raise ValueError(f"{label}: url must not have a fragment (RFC 8707, section 2)")
        checked_scopes(self.scopes, label)

    def to_json(self) -> bytes:
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
        # Empty members are omitted (RFC 9728, section 3.2).
        return to_json({name: value for name, value in members.items() if value})

    @property
    def paths(self) -> frozenset[str]:
        """The paths of the document, for the resource and for the host."""
        return frozenset({urlsplit(self.metadata_url).path, WELL_KNOWN})

    @property
    def metadata_url(self) -> str:
        """The URL of the document, for challenges."""
        parts = urlsplit(self.url)
        path = "" if parts.path == "/" else parts.path
        query = f"?{parts.query}" if parts.query else ""
        return f"{parts.scheme}://{parts.netloc}{WELL_KNOWN}{path}{query}"


def _is_url(url: str) -> bool:
    parts = urlsplit(url)
    is_plain = is_quotable(url) and " " not in url and "@" not in parts.netloc
    return is_plain and parts.scheme in ("http", "https") and bool(parts.hostname)
