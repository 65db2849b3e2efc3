"""A forwarder in front of applications without session affinity, like that of a load balancer.

A policy chooses an application for each request, also on one connection.
"""

from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any, Final
from zlib import crc32

POLICIES: Final = ("round-robin", "random", "hash", "another")

_SESSION: Final = b"mcp-session-id"


class Policy:
    """The choice of one of several applications for a request, by its session, and by a seed.

    "hash" chooses the same one for a session, "another" never that of its last request.
    """

    def __init__(self, name: str, number: int, seed: int = 0) -> None:
        self._name = name
        self._number = number
        self._counter = count(seed)
        self._random = Random(seed)
        self._last: dict[bytes | None, int] = {}

    def choose(self, session: bytes | None) -> int:
        if self._name == "hash" and session is not None:
            return crc32(session) % self._number
        if self._name in ("round-robin", "hash"):
            return next(self._counter) % self._number
        chosen = self._random.randrange(self._number)
        if self._name == "another" and chosen == self._last.get(session):
            chosen = (chosen + 1 + self._random.randrange(self._number - 1)) % self._number
        self._last[session] = chosen
        return chosen

    def note(self, session: bytes, chosen: int) -> None:
        """Note where a session began."""
        self._last[session] = chosen


class Forwarder:
    """An ASGI application in front of others; `passed` has the places of those that were asked."""

    def __init__(self, apps: Sequence[Any], policy: str, seed: int = 0) -> None:
        self.passed: list[int] = []
        self._apps = apps
        self._policy = Policy(policy, len(apps), seed)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        # The applications have servers of their own for lifespans.
        assert scope["type"] == "http"
        chosen = self._policy.choose(dict(scope["headers"]).get(_SESSION))
        self.passed.append(chosen)

        async def pass_on(message: Any) -> None:
            if (session := dict(message.get("headers", ())).get(_SESSION)) is not None:
                self._policy.note(session, chosen)
            await send(message)

        await self._apps[chosen](scope, receive, pass_on)
