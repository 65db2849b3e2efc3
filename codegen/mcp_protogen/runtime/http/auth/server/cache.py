"""The outcome of verifying tokens, which is the same for each request with a token.

What is kept is found by a digest, so that the memory of a process has no token in it that somebody
could use.
"""

from collections.abc import Callable
from hashlib import sha256
from math import inf
from time import time
from typing import Final, NamedTuple

from ....core.http_request import Principal
from ...server.authentication import TokenRefused, Verify
from .expiring import ExpiringCache

# For how long a token is refused that was revoked, if nobody says when it ends.
_DAY: Final = 24 * 3600.0


class _Refusal(NamedTuple):
    # An exception that is raised again and again would collect tracebacks.
    error: str
    description: str


class TokenCache:
    """What was found out about the tokens that were verified last. Times are in seconds.

    A token is verified again after `lifetime`, at the latest when it ends: for so long one goes on
    that was revoked elsewhere, or whose key was withdrawn. One that was refused is refused for
    `refused_lifetime`. With 0 nothing is kept. Of both there are at most `max_tokens`, apart from
    each other, so that wrong tokens do not make good ones be verified anew.

    `clock` gives the seconds of the epoch.
    """

    __slots__ = ("_clock", "_lifetime", "_refused", "_refused_lifetime", "_revoked", "_verified")

    def __init__(
        self,
        *,
        max_tokens: int = 10_000,
        lifetime: float = 300.0,
        refused_lifetime: float = 10.0,
        clock: Callable[[], float] = time,
    ) -> None:
        if min(lifetime, refused_lifetime) < 0:
            raise ValueError("the lifetimes of a cache cannot be less than 0")
        self._verified = ExpiringCache[Principal](max_tokens)
        self._refused = ExpiringCache[_Refusal](max_tokens)
        self._revoked = ExpiringCache[bool](max_tokens)
        self._lifetime = lifetime
        self._refused_lifetime = refused_lifetime
        self._clock = clock

    async def verified(self, token: str, verify: Verify) -> Principal:
        """Return whose a token is, as it was found out lately, or as `verify` says now.

        Raise `TokenRefused`, and what else `verify` raises, which is not kept.
        """
        key = sha256(token.encode()).digest()
        found = self._found(key)
        if found is not None:
            return found
        try:
            principal = await verify(token)
            if principal is None:
                raise TokenRefused("invalid_token", "The token is not valid")
        except TokenRefused as refusal:
            self._refuse(key, refusal)
            raise
        self._keep(key, principal)
        return principal

    def revoke(self, token: str, until: float | None = None) -> None:
        """Refuse a token from now on, in this process, also if nothing else is wrong with it.

        `until` is when it ends, in seconds of the epoch; by default that is in a day.
        """
        now, key = self._clock(), sha256(token.encode()).digest()
        self._revoked.put(key, True, now + _DAY if until is None else until, now)

    def clear(self) -> None:
        """Have all tokens verified again that were not revoked."""
        self._verified.clear()
        self._refused.clear()

    def _found(self, key: bytes) -> Principal | None:
        now = self._clock()
        self._check_revoked(key, now)
        principal = self._verified.get(key, now)
        if principal is None and (refusal := self._refused.get(key, now)) is not None:
            raise TokenRefused(*refusal)
        return principal

    def _keep(self, key: bytes, principal: Principal) -> None:
        now = self._clock()
        # It may have been revoked while it was verified.
        self._check_revoked(key, now)
        ends = inf if principal.expires_at is None else principal.expires_at
        self._verified.put(key, principal, min(now + self._lifetime, ends), now)

    def _refuse(self, key: bytes, refusal: TokenRefused) -> None:
        now = self._clock()
        kept = _Refusal(refusal.error, refusal.description)
        self._refused.put(key, kept, now + self._refused_lifetime, now)

    def _check_revoked(self, key: bytes, now: float) -> None:
        if len(self._revoked) and self._revoked.get(key, now):
            raise TokenRefused("invalid_token", "The token was revoked")
