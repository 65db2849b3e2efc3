"""Used proofs, so that none is accepted twice (RFC 9449, section 11.1)."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from secrets import token_urlsafe
from time import time
from typing import Final, Protocol, Self

from ....core.base64url import base64url
from ....core.throttle import Throttle
from ....http.server.authentication import VerifierUnavailable
from ....storage.engine import Engine, EngineConnection, EngineUnavailable
from .cache import ExpiringCache

_log: Final = Throttle(__name__)


class Replays(Protocol):
    async def first(self, key: bytes, lifetime: float) -> bool:
        """Return whether a key is new in the last `lifetime` seconds, and remember it.

        Raise `VerifierUnavailable` if that is unknown for now.
        """
        ...


class MemoryReplays:
    """The memory of one process: at most `max_proofs`; the oldest make room.

    It is logged if a proof makes room before it expires, and could be used again. `clock` returns
    seconds.
    """

    def __init__(self, max_proofs: int = 100_000, *, clock: Callable[[], float] = time) -> None:
        self._seen = ExpiringCache[bool](max_proofs)
        self._clock = clock

    async def first(self, key: bytes, lifetime: float) -> bool:
        now = self._clock()
        if self._seen.get(key, now):
            return False
        if self._seen.put(key, True, now + lifetime, now):
            _log.warning("too many valid proofs to remember: raise max_proofs")
        return True


class SharedReplays:
    """The memory of all workers that share an engine, such as that of their sessions.

    It connects in `async with`, for instance in the server's lifespan.
    """

    def __init__(self, engine: Engine, lease: float = 10.0) -> None:
        self._engine = engine
        self._lease = lease
        self._worker = f"replays-{token_urlsafe(16)}"
        self._stack = AsyncExitStack()
        self._connection: EngineConnection | None = None

    async def __aenter__(self) -> Self:
        # Changes concern sessions only.
        connecting = self._engine.connect(self._worker, self._lease, lambda delivery: None)
        self._connection = await self._stack.enter_async_context(connecting)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._connection = None
        await self._stack.aclose()

    async def first(self, key: bytes, lifetime: float) -> bool:
        if self._connection is None:
            raise VerifierUnavailable("SharedReplays is not connected: use async with")
        # A new record can be created once, until it expires.
        name = f"dpop-{base64url(key)}"
        try:
            saved = await self._connection.sessions.save(
                name, self._worker, b"", version=0, lifetime=lifetime
            )
        except EngineUnavailable:
            raise VerifierUnavailable("the memory of proofs is unavailable") from None
        return saved is not None
