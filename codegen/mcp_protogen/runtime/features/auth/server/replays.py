"""Proofs that were seen, so that none is accepted twice (RFC 9449, section 11.1)."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from logging import getLogger
from secrets import token_urlsafe
from time import time
from typing import Final, Protocol, Self

from ....core.base64url import base64url
from ....core.throttle import Throttle
from ....http.server.authentication import VerifierUnavailable
from ....storage.engine import Engine, EngineConnection, EngineUnavailable
from .expiring import ExpiringCache

_log: Final = Throttle(getLogger(__name__))


class Replays(Protocol):
    async def first(self, key: bytes, lifetime: float) -> bool:
        """Return whether a key is seen for the first time in `lifetime` seconds, and remember it.

        Raise `VerifierUnavailable` if that cannot be found out for now.
        """
        ...


class MemoryReplays:
    """What one process has seen: at most `max_proofs`, of which the oldest make room.

    That a proof makes room for others before it has expired is logged: then it could be used once
    more. `clock` gives seconds.
    """

    def __init__(self, max_proofs: int = 100_000, *, clock: Callable[[], float] = time) -> None:
        self._seen = ExpiringCache[bool](max_proofs)
        self._clock = clock

    async def first(self, key: bytes, lifetime: float) -> bool:
        now = self._clock()
        if self._seen.get(key, now):
            return False
        if self._seen.put(key, True, now + lifetime, now):
            _log.warning("more proofs are valid at a time than are remembered")
        return True


class SharedReplays:
    """What all workers have seen that share an engine, which may be that of their sessions.

    It is connected inside of `async with`, for instance in the lifespan of the server.
    """

    def __init__(self, engine: Engine, lease: float = 10.0) -> None:
        self._engine = engine
        self._lease = lease
        self._worker: Final = f"replays-{token_urlsafe(16)}"
        self._stack = AsyncExitStack()
        self._connection: EngineConnection | None = None

    async def __aenter__(self) -> Self:
        # Changes are for those who have sessions.
        connecting = self._engine.connect(self._worker, self._lease, lambda delivery: None)
        self._connection = await self._stack.enter_async_context(connecting)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection = None
        await self._stack.aclose()

    async def first(self, key: bytes, lifetime: float) -> bool:
        if self._connection is None:
            raise VerifierUnavailable("the memory of proofs is not connected")
        # A record that nobody had made is one that nobody can make once more before it lapses.
        name = f"dpop-{base64url(key)}"
        try:
            saved = await self._connection.sessions.save(
                name, self._worker, b"", version=0, lifetime=lifetime
            )
        except EngineUnavailable:
            raise VerifierUnavailable("the memory of proofs is away") from None
        return saved is not None
