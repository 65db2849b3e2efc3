"""The limits of calls to a server: for each principal, at the same time and per minute."""

from collections.abc import Awaitable, Callable
from sys import maxsize
from typing import Any, Final

from mcp_protogen.runtime.core.middleware import MethodCall
from mcp_protogen.runtime.core.quotas import NoRoom, Quota
from mcp_protogen.runtime.toolkit.middleware import RateLimit, too_many_requests
from mcp_protogen.servers.gateway.settings.settings import CallCounts

# The seconds after which a call is repeated, if others are under way.
_AGAIN: Final = 1.0

ANONYMOUS: Final = ""
"""The owner of all calls without a token: a client could begin new sessions without limit."""


class CallLimits:
    """The calls of each principal to one server; those without a token share the limits."""

    def __init__(self, limits: CallCounts) -> None:
        at_once, each_minute = limits.get("concurrent"), limits.get("per_minute")
        self._places = None if at_once is None else Quota(maxsize, at_once)
        self._rate = None if each_minute is None else RateLimit(each_minute / 60, each_minute)

    @property
    def is_set(self) -> bool:
        return self._places is not None or self._rate is not None

    async def run(self, call: MethodCall, work: Callable[[], Awaitable[Any]]) -> Any:
        """Return the outcome of `work`; raise `StatusError` for a call beyond the limits."""

        async def begin(_: MethodCall) -> Any:
            return await work()

        if self._places is None:
            return await self._run_at_rate(call, begin)
        owner = call.principal_id or ANONYMOUS
        try:
            self._places.require(owner)
        except NoRoom:
            raise too_many_requests(call, _AGAIN) from None
        self._places.take(owner)
        try:
            return await self._run_at_rate(call, begin)
        finally:
            self._places.give_back(owner)

    def _run_at_rate(self, call: MethodCall, begin: Callable[[MethodCall], Awaitable[Any]]) -> Any:
        return begin(call) if self._rate is None else self._rate(call, begin)
