"""Scopes of OAuth: what tokens allow, and what a request needs (RFC 6749, section 3.3)."""

import re
from collections.abc import Collection, Iterable
from typing import Any, Final, cast

from .connection_errors import StatusError
from .errors import INVALID_REQUEST

# Visible characters without quotes and backslashes, so a scope can stand in a header field.
_SCOPE: Final = re.compile(r"[!#-\[\]-~]+")

_REFRESHING: Final = "offline_access"
"""What a client asks of an authorization server; a resource needs it for nothing.

2026-07-28, basic/authorization, "Refresh Tokens".
"""

NO_SCOPES: Final = frozenset[str]()


def checked_scopes(given: Collection[str], where: str) -> frozenset[str]:
    """Return scopes as a set; raise `TypeError` or `ValueError` for what are none."""
    if isinstance(given, str):
        raise TypeError(f"{where}: scopes are one text: write {{{given!r}}}")
    for scope in cast(Iterable[Any], given):
        if not isinstance(scope, str):
            raise TypeError(f"{where}: {scope!r} is no scope, which is a text")
        if not _SCOPE.fullmatch(scope):
            allowed = "visible ASCII characters without quotes and backslashes"
            raise ValueError(f"{where}: {scope!r:.100} is no scope, which has {allowed}")
        if scope == _REFRESHING:
            raise ValueError(f"{where}: {scope} is between clients and authorization servers")
    return frozenset(given)


def format_scopes(scopes: Iterable[str]) -> str:
    return " ".join(sorted(scopes))


class InsufficientScope(StatusError):
    """The token of a request does not allow all that it needs, which is `scopes`.

    Over HTTP the status is 403, and the challenge names all of the scopes, so that a client can
    get a token for them (RFC 6750, section 3.1). Raise `ValueError` for what is no scope.
    """

    def __init__(self, scopes: Collection[str], message: str = "") -> None:
        self.scopes: Final = checked_scopes(scopes, "InsufficientScope")
        text = message or f"This needs the scopes {format_scopes(self.scopes)}"
        data = {"requiredScopes": sorted(self.scopes)}
        super().__init__(INVALID_REQUEST, text, data, status=403)
