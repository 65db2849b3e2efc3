"""Middleware for any server: timings in the log, a rate limit, cached results."""

from collections.abc import Callable, Collection, Hashable
from logging import INFO, Logger, getLogger
from math import ceil
from operator import attrgetter
from time import monotonic
from typing import Any, Final, NamedTuple, cast

from ..core.http_request import StatusError
from ..core.json import json_text
from ..core.middleware import CallNext, MethodCall, failure
from ..core.models.base import WireModel, declared_member
from ..core.options import string_set
from .revision_models import LISTS

_log: Final = getLogger(__name__)

RATE_LIMITED: Final = -32000
"""The code of a request that comes too soon; no revision gives it another meaning."""

# Compensates for the rounding of floats.
_ROUNDING: Final = 1e-9

# The most keys of one object; the least recently used makes room.
_MOST: Final = 10_000


class Timing:
    """Logs the method, target, outcome and seconds of each message."""

    def __init__(self, *, logger: Logger = _log, level: int = INFO) -> None:
        self._logger = logger
        self._level = level

    async def __call__(self, call: MethodCall, next: CallNext, /) -> Any:
        start, outcome = monotonic(), None
        try:
            result = await next(call)
            outcome = failure(result)
            return result
        except BaseException as error:
            outcome = failure(error)
            raise
        finally:
            if self._logger.isEnabledFor(self._level):
                about = "" if call.target is None else f" {call.target!r:.100}"
                values = call.method, about, outcome or "ok", monotonic() - start
                self._logger.log(self._level, "%s%s: %s in %.6f s", *values)


def _limit(entries: dict[Hashable, Any], most: int) -> None:
    if len(entries) > most:
        del entries[next(iter(entries))]


class RateLimit:
    """Refuses requests beyond `rate` per second, after a `burst` of them.

    Each principal has its own limit, or each value of `key`; all unauthenticated clients share one.
    Without `methods` all requests except `ping` count. The error is that of the server's revision,
    or else has the code -32000, and the seconds to wait as `retryAfter` in its data; over HTTP its
    status is 429, with `Retry-After`. Raises `ValueError` for a rate or burst that lets nothing
    through.
    """

    def __init__(
        self,
        rate: float,
        burst: int | None = None,
        *,
        methods: Collection[str] | None = None,
        key: Callable[[MethodCall], Hashable] = attrgetter("principal_id"),
    ) -> None:
        self._rate = rate
        self._burst = max(1, ceil(rate)) if burst is None else burst
        if rate <= 0 or self._burst < 1:
            must = "rate must be positive, burst at least 1"
            raise ValueError(f"RateLimit({rate}, {burst}) allows no requests: {must}")
        self._methods = None if methods is None else string_set(methods, "RateLimit: methods")
        self._key = key
        self._buckets: dict[Hashable, tuple[float, float]] = {}
        """The remaining requests and the time of that count, by key."""

    async def __call__(self, call: MethodCall, next: CallNext, /) -> Any:
        methods = self._methods
        counts = call.method != "ping" if methods is None else call.method in methods
        if counts and call.is_request and not call.is_sent:
            self._take(call)
        return await next(call)

    def _take(self, call: MethodCall) -> None:
        key, now = self._key(call), monotonic()
        tokens, at = self._buckets.pop(key, (self._burst, now))
        # A client that has waited as long as required passes, however floats are rounded.
        tokens = min(self._burst, tokens + (now - at) * self._rate + _ROUNDING)
        self._buckets[key] = max(tokens - 1, 0) if tokens >= 1 else tokens, now
        _limit(self._buckets, _MOST)
        if tokens < 1:
            raise too_many_requests(call, ceil((1 - tokens) / self._rate * 1000) / 1000)


def too_many_requests(call: MethodCall, seconds: float) -> StatusError:
    text = f"Too many requests: try again in {seconds:g} s"
    code, data = RATE_LIMITED, {"retryAfter": seconds}
    for error in call.session.TABLE.errors.values():
        if error.name == "RATE_LIMITED" and error.retry is not None:
            member, unit = error.retry
            code, data = error.code, {member: ceil(seconds * (1000 if unit == "ms" else 1))}
    # Revisions without the error need the status.
    return StatusError(code, text, data, status=429, headers={"retry-after": str(ceil(seconds))})


class _Entry(NamedTuple):
    result: Any
    until: float
    version: int
    """The number of changes of the server when the result was made."""


class ResultCache:
    """Caches the results of lists and reads for `seconds`, for each principal and revision.

    `ttlMs` of a result becomes its remaining time; a value set by a handler overrides `seconds`.
    Any change that the server publishes invalidates all results. Questions to the client and errors
    are not cached; `size` is the number of results.
    """

    METHODS: Final = frozenset({*LISTS.values(), "resources/read"})

    def __init__(
        self, seconds: float, *, methods: Collection[str] = METHODS, size: int = 1000
    ) -> None:
        self._seconds = seconds
        self._methods = string_set(methods, "ResultCache: methods")
        self._size = size
        self._kept: dict[Hashable, _Entry] = {}

    def clear(self) -> None:
        self._kept.clear()

    async def __call__(self, call: MethodCall, next: CallNext, /) -> Any:
        if call.is_sent or call.method not in map(call.session.TABLE.name_of, self._methods):
            return await next(call)
        wire = call.params.to_wire()
        wire.pop("_meta", None)
        asked = json_text([wire, *map(call.meta.get, call.session.TABLE.rules.varying)])
        key = call.method, call.revision, call.principal_id, asked
        version = call.session.__mcp_runtime__.changes
        entry = self._kept.get(key)
        if entry is None or entry.until <= monotonic() or entry.version != version:
            result = await next(call)
            if declared_member(result, "result_type") not in (None, "complete"):
                return result
            ttl = declared_member(result, "ttl_ms") or 0
            lifetime = ttl / 1000 if ttl else self._seconds
            entry = _Entry(result, monotonic() + lifetime, version)
            self._kept.pop(key, None)
            self._kept[key] = entry
            _limit(self._kept, self._size)
        model = cast(type[WireModel], type(entry.result))
        if "ttl_ms" not in model.__pydantic_fields__:
            return entry.result
        ttl_left = max(0, round((entry.until - monotonic()) * 1000))
        return entry.result.model_copy(update={"ttl_ms": ttl_left})
