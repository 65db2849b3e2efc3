"""OAuth scopes: permissions of a token, and needs of a request (RFC 6749, section 3.3)."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final, cast

from .errors import INVALID_REQUEST
from .http_request import StatusError
from .options import string_set

# RFC 6749, section 3.3: safe in a header field.
SCOPE: Final = re.compile(r"[!#-\[\]-~]+")

OFFLINE_ACCESS: Final = "offline_access"
"""Clients request it from an authorization server; resources never need it.

2026-07-28, basic/authorization, "Refresh Tokens".
"""

NO_SCOPES: Final = frozenset[str]()


def checked_scopes(scopes: Collection[str], label: str) -> frozenset[str]:
    """Return scopes as a set; raise `TypeError` or `ValueError` for invalid ones."""
    checked = string_set(scopes, f"{label}: scopes")
    for scope in cast(Iterable[Any], checked):
        if not isinstance(scope, str):
            raise TypeError(f"{label}: a scope must be a string, got {scope!r}")
        if not SCOPE.fullmatch(scope):
            allowed = "visible ASCII characters without quotes and backslashes"
            raise ValueError(f"{label}: invalid scope {scope!r:.100}: use {allowed}")
        if scope == OFFLINE_ACCESS:
            raise ValueError(
                f"{label}: {scope} is for authorization servers; a resource cannot require it"
            )
    return checked


def format_scopes(scopes: Iterable[str]) -> str:
    return " ".join(sorted(scopes))


class InsufficientScope(StatusError):
    """The token of a request lacks some of the `scopes` that it needs.

    Over HTTP the status is 403, and the challenge names all of the scopes, so that a client can get
    a token for them (RFC 6750, section 3.1). Raise `ValueError` for an invalid scope.
    """

    def __init__(self, scopes: Collection[str], message: str = "") -> None:
        self.scopes: Final = checked_scopes(scopes, "InsufficientScope")
        text = message or f"This needs the scopes {format_scopes(self.scopes)}"
        data = {"requiredScopes": sorted(self.scopes)}
        super().__init__(INVALID_REQUEST, text, data, status=403)
