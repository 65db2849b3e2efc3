"""The checks of a token's claims, and its principal (RFC 7519, 4.1; RFC 9068, 4)."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from time import time
from types import MappingProxyType
from typing import Any, Final, NoReturn

from ....core.http_request import Principal
from ....core.json import is_array
from ....core.options import string_set
from ....http.server.authentication import TokenRefused

LONGEST_LEEWAY: Final = 300.0
_LATEST: Final = 2**53
_MALFORMED: Final = "A claim of the token is malformed"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ClaimChecks:
    issuer: str
    """The authorization server, exactly as in `iss`."""
    scope_claims: Collection[str] = ("scope", "scp")
    """The claims with scopes: text separated by spaces, or an array."""
    leeway: float = 60.0
    """The allowed clock difference in seconds; at most 300."""
    clock: Callable[[], float] = field(default=time, repr=False)
    """Seconds since the epoch."""
    _audiences: frozenset[str] = field(init=False, repr=False)
    """One of these must be in `aud`, unless empty."""

    def _check_options(self, audience: str | Collection[str] | None) -> None:
        audiences = frozenset([audience] if isinstance(audience, str) else audience or ())
        if audience is not None and (not audiences or "" in audiences):
            raise ValueError("audience must be that of this server")
        object.__setattr__(self, "_audiences", audiences)
        # Issuers have no fragment (RFC 8414, section 2), and URLs no vertical bar (RFC 3986).
        if not self.issuer or set("|#") & set(self.issuer):
            raise ValueError(f"{self.issuer!r:.100} is not a valid issuer")
        if not 0 <= self.leeway <= LONGEST_LEEWAY:
            raise ValueError(f"leeway must be between 0 and {LONGEST_LEEWAY:.0f} seconds")
        string_set(self.scope_claims, "scope_claims")
        # Copied, so that later changes of a list grant nothing.
        object.__setattr__(self, "scope_claims", tuple(self.scope_claims))

    def _check_times(self, claims: Mapping[str, Any]) -> float | None:
        """Return the end of a token, if it has one; raise `TokenRefused` outside its validity."""
        now = self.clock()
        expires, begins, issued = (_time(claims, name) for name in ("exp", "nbf", "iat"))
        until = None if expires is None else expires + self.leeway
        if until is not None and until <= now:
            refuse("The token has expired")
        if any(time is not None and time - self.leeway > now for time in (begins, issued)):
            refuse("The token is not valid yet")
        return until

    def _check_audience(self, claims: Mapping[str, Any]) -> None:
        if self._audiences and self._audiences.isdisjoint(_texts(claims, "aud")):
            refuse("The token is for another audience")

    def _principal(self, claims: Mapping[str, Any], until: float | None) -> Principal:
        subject, client = (_text(claims, name) for name in ("sub", "client_id"))
        if not (subject or client):
            refuse("The token has neither sub nor client_id")
        # Ids are unique: issuers contain neither sign.
        id = f"{self.issuer}|{subject}" if subject else f"{self.issuer}#{client}"
        texts = (text for name in self.scope_claims for text in _texts(claims, name))
        # RFC 6749, section 3.3
        scopes = frozenset(scope for text in texts for scope in text.split(" ") if scope)
        return Principal(id, scopes, MappingProxyType({**claims}), until)


def numeric_date(value: object) -> float | None:
    # An integer may be too large for a float.
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > _LATEST:
        return None
    return float(value)


def _time(claims: Mapping[str, Any], name: str) -> float | None:
    if (time := numeric_date(claims.get(name))) is None and claims.get(name) is not None:
        refuse(_MALFORMED)
    return time


def _text(claims: Mapping[str, Any], name: str) -> str | None:
    if (value := claims.get(name)) is not None and not isinstance(value, str):
        refuse(_MALFORMED)
    return value


def _texts(claims: Mapping[str, Any], name: str) -> list[str]:
    value = claims.get(name, [])
    texts: list[Any] = value if is_array(value) else [value]
    if not all(isinstance(text, str) for text in texts):
        refuse(_MALFORMED)
    return texts


def refuse(description: str) -> NoReturn:
    raise TokenRefused("invalid_token", description)
