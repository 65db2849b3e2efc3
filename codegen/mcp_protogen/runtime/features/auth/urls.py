"""Metadata URLs, compared as text: issuers and resources are identifiers.

RFC 8414, section 3.3; RFC 9207, section 2.4; RFC 9728, section 3.3.
"""

import re
from logging import getLogger
from typing import Final
from urllib.parse import SplitResult, urlsplit

_log: Final = getLogger(__name__)

# As in RFC 3986. `urlsplit` would drop whitespace and controls, and `IGNORECASE` alone would match
# some letters beyond ASCII.
_CHARACTERS: Final = re.compile(r"https?://[!#-;=?-\[\]_a-z~]+", re.IGNORECASE | re.ASCII)
SERVER_METADATA: Final = "/.well-known/oauth-authorization-server"
"""The prefix before the path of the issuer (RFC 8414)."""
_OPENID: Final = "/.well-known/openid-configuration"

DEFAULT_PORTS: Final = {"https": 443, "http": 80}
_DOTS: Final = re.compile(r"(?:\.|%2e){1,2}", re.IGNORECASE)


def split_url(url: str) -> SplitResult | None:
    """Return the parts of an absolute `http` or `https` URL without a user; else None."""
    if not _CHARACTERS.fullmatch(url):
        return None
    try:
        parts = urlsplit(url)
        valid = parts.hostname and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        return None
    return parts if valid else None


def origin(parts: SplitResult) -> tuple[str, str, int]:
    scheme = parts.scheme.lower()
    return scheme, parts.hostname or "", parts.port or DEFAULT_PORTS[scheme]


def server_metadata_urls(issuer: str) -> tuple[str, ...]:
    """Return the URLs of an issuer's metadata, in the order to try.

    Empty for an invalid issuer, such as one with a query or a fragment (RFC 8414, section 2).
    """
    if (parts := split_url(issuer)) is None or "?" in issuer or "#" in issuer:
        return ()
    root, path = f"{parts.scheme}://{parts.netloc}", parts.path.removesuffix("/")
    places = (f"{root}{SERVER_METADATA}{path}", f"{root}{_OPENID}{path}", f"{root}{path}{_OPENID}")
    return tuple(dict.fromkeys(places))


def is_metadata_document(client_id: str) -> bool:
    """Return whether a client id is the https URL, with a path, of a metadata document."""
    parts = split_url(client_id)
    if parts is None or parts.scheme != "https" or "#" in client_id:
        return False
    return parts.path not in ("", "/") and not _has_dots(parts)


def same_identifier(one: str, other: str, *, trailing_slash: bool = False) -> bool:
    """Return whether two identifiers are equal, or differ in an allowed trailing slash."""
    if one == other:
        return True
    if not trailing_slash or _without_trailing_slash(one) != _without_trailing_slash(other):
        return False
    _log.warning(
        "the issuers %s and %s count as the same: they differ in a trailing slash only",
        *(one, other),
    )
    return True


def _without_trailing_slash(url: str) -> str:
    # An issuer has neither a query nor a fragment (RFC 8414, section 2).
    is_issuer = split_url(url) is not None and "?" not in url and "#" not in url
    return url.removesuffix("/") if is_issuer else url


def covers(resource: str, url: str) -> bool:
    """Return whether a resource is a URL, or a parent of it by whole path segments.

    2026-07-28, basic/authorization, "Canonical Server URI"; RFC 9728, sections 3.3 and 7.3.
    """
    outer, inner = split_url(resource), split_url(url)
    if outer is None or inner is None or "#" in resource:
        return False
    if resource == url:
        return True
    if origin(outer) != origin(inner) or outer.query not in ("", inner.query):
        return False
    if _has_dots(outer) or _has_dots(inner):
        return False
    return f"{inner.path.rstrip('/')}/".startswith(f"{outer.path.rstrip('/')}/")


def _has_dots(parts: SplitResult) -> bool:
    """Return whether a path has segments that servers resolve."""
    return any(_DOTS.fullmatch(segment) for segment in parts.path.split("/"))
