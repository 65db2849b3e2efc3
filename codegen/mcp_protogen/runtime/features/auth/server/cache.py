"""Outcomes of token verification, by digest: memory holds no usable token."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from hashlib import sha256
from math import inf
from time import time
from typing import Final, Generic, TypeVar

from ....core.http_request import Principal
from ....http.server.authentication import TokenRefused, Verify
from ..signing import unverified_part
from .claims import LONGEST_LEEWAY, refuse

V = TypeVar("V")

# How long a revoked token without a known end is refused.
_DAY: Final = 24 * 3600.0


class ExpiringCache(Generic[V]):
    """At most `max_entries` values by key; the least recently used ones make room."""

    def __init__(self, max_entries: int) -> None:
        if max_entries <= 0:
            raise ValueError("max_entries must be at least 1")
        self.max_entries: Final = max_entries
        self._entries: OrderedDict[Hashable, tuple[V, float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable, now: float) -> V | None:
        if (entry := self._entries.get(key)) is None:
            return None
        value, until = entry
        if now >= until:
            del self._entries[key]
            return None
        self._entries.move_to_end(key)
        return value

    def put(self, key: Hashable, value: V, until: float, now: float) -> bool:
        """Store a value; return whether an unexpired one had to make room."""
        if until <= now:
            self._entries.pop(key, None)
            return False
        self._entries[key] = value, until
        self._entries.move_to_end(key)
        if len(self._entries) <= self.max_entries:
            return False
        _, (_, expires) = self._entries.popitem(last=False)
        return expires > now

    def clear(self) -> None:
        self._entries.clear()


class TokenCache:
    """The outcomes of the latest verifications. Times are in seconds.

    A token is verified again after `lifetime`, or when it expires; until then, a token that was
    revoked elsewhere is still accepted. A refusal is kept for `refused_lifetime`. With 0, nothing
    is kept. `max_tokens` counts for both, separately, so that wrong tokens do not displace good
    ones.

    Verifiers may share a cache: outcomes are kept for each, revocations count for all. `clock`
    returns seconds since the epoch.
    """

    def __init__(
        self,
        *,
        max_tokens: int = 10_000,
        lifetime: float = 300.0,
        refused_lifetime: float = 10.0,
        clock: Callable[[], float] = time,
    ) -> None:
        if min(lifetime, refused_lifetime) < 0:
            raise ValueError("lifetime and refused_lifetime must not be negative")
        self._verified = ExpiringCache[Principal](max_tokens)
        # Raising one exception again and again would collect tracebacks.
        self._refused = ExpiringCache[tuple[str, str]](max_tokens)
        self._revoked = ExpiringCache[bool](max_tokens)
        self._lifetime = lifetime
        self._refused_lifetime = refused_lifetime
        self._clock = clock

    async def verify(self, token: str, verify: Verify) -> Principal:
        """Return the principal of a token, cached or from `verify`; raise what `verify` raises."""
        key, now = (verify, _digest(token)), self._clock()
        self._check_revoked(token, now)
        if (found := self._verified.get(key, now)) is not None:
            return found
        if (refused := self._refused.get(key, now)) is not None:
            raise TokenRefused(*refused)
        try:
            if (principal := await verify(token)) is None:
                refuse("The token is not valid")
        except TokenRefused as refusal:
            now, kept = self._clock(), (refusal.error, refusal.description)
            self._refused.put(key, kept, now + self._refused_lifetime, now)
            raise
        now = self._clock()
        # It may have been revoked meanwhile.
        self._check_revoked(token, now)
        ends = inf if principal.expires_at is None else principal.expires_at
        self._verified.put(key, principal, min(now + self._lifetime, ends), now)
        return principal

    def revoke(self, token: str, until: float | None = None) -> None:
        """Refuse a token from now on, in this process, even if it is otherwise valid.

        `until` is its end, in seconds since the epoch; by default in a day.
        """
        now = self._clock()
        # Verifiers accept it for longer, because clocks differ.
        ends = (now + _DAY if until is None else until) + LONGEST_LEEWAY
        self._revoked.put(_signed_digest(token), True, ends, now)

    def clear(self) -> None:
        """Forget all outcomes, but not the revocations."""
        self._verified.clear()
        self._refused.clear()

    def _check_revoked(self, token: str, now: float) -> None:
        if len(self._revoked) and self._revoked.get(_signed_digest(token), now):
            refuse("The token was revoked")


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()


def _signed_digest(token: str) -> bytes:
    """Return the digest without the signature: anyone can make a second ECDSA signature."""
    return _digest(token if unverified_part(token, 0) is None else token.rpartition(".")[0])
