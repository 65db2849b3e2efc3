"""Connections to the server, and batching of calls."""

import asyncio
from asyncio import Future
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from math import inf
from typing import Any, Final, TypeAlias

from ....core.libraries import library
from ....storage.engine import EngineUnavailable
from ..batches import Batches
from ..lease import now
from .scripts import LOAD

Argument: TypeAlias = str | bytes | int
Command: TypeAlias = tuple[Argument, ...]
RawConnection: TypeAlias = Any
"""A `redis.asyncio.connection.Connection`."""

LONGEST_PAUSE: Final = 1.0
"""In seconds."""
_FIRST_PAUSE: Final = 0.05
# The most calls sent together: a server busy with more may seem unavailable.
_TOGETHER: Final = 200


def redis_module(module: str) -> Any:
    """Return a module of redis-py; raise `ImportError`, with advice, without it."""
    return library(module, "RedisEngine")


class CommandConnection:
    """A connection that opens at its first use, and again after a failure."""

    def __init__(self, make: Callable[[], RawConnection], timeout: float) -> None:
        self._make = make
        self._timeout = timeout
        self._connection: RawConnection = None
        self._errors = redis_module("redis.exceptions")
        self._closed_until = 0.0
        self.pause = 0.0
        """The seconds after a failure without a new attempt."""
        self.run_id: bytes | None = None
        """The id of the connected server process."""

    @property
    def is_open(self) -> bool:
        return self._connection is not None and bool(self._connection.is_connected)

    async def run(
        self, commands: Sequence[Command], *, patience: float = 0.0, opening: bool = True
    ) -> list[Any]:
        """Send commands together; return their replies, which may be `EngineUnavailable`.

        Raise `EngineUnavailable` if they take longer than `patience` and the timeout.
        """
        if now() < self._closed_until or not (opening or self.is_open):
            raise EngineUnavailable("Redis is unavailable")
        try:
            async with asyncio.timeout(self._timeout + patience):
                await self._open()
                replies = await self._run(commands)
        except Exception as error:
            # redis-py raises other errors, too, if a connection ends under it.
            await self.close()
            self.pause = min(2 * self.pause, LONGEST_PAUSE) or _FIRST_PAUSE
            self._closed_until = max(self._closed_until, now() + self.pause)
            raise EngineUnavailable(self._reason(error)) from None
        self.pause = 0.0
        if any(self._is(reply, "ReadOnlyError") for reply in replies):
            # The server has become a replica.
            await self.close()
        return [
            EngineUnavailable(self._reason(reply)) if isinstance(reply, Exception) else reply
            for reply in replies
        ]

    async def _open(self) -> None:
        if self.is_open:
            return
        connection = self._connection = self._make()
        await connection.connect()
        if connection is not self._connection:
            # It was closed meanwhile.
            await connection.disconnect(nowait=True)
        # Loading scripts first keeps calls in order.
        about, role, *_ = await self._exchange([("INFO", "server"), ("INFO", "replication"), *LOAD])
        if isinstance(role, bytes) and b"role:slave" in role:
            raise self._errors.ReadOnlyError
        lines = about.splitlines() if isinstance(about, bytes) else []
        self.run_id = next((line for line in lines if line.startswith(b"run_id:")), None)

    async def _run(self, commands: Sequence[Command]) -> list[Any]:
        replies = await self._exchange(commands)
        unknown = [i for i, reply in enumerate(replies) if self._is(reply, "NoScriptError")]
        if unknown:
            again = await self._exchange([*LOAD, *(commands[i] for i in unknown)])
            for i, reply in zip(unknown, again[len(LOAD) :], strict=True):
                replies[i] = reply
        return replies

    async def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        if not self.is_open:
            # redis-py would reopen it without checking the server.
            raise self._errors.ConnectionError("the connection was closed")
        connection = self._connection
        await connection.send_packed_command(b"".join(map(_pack, commands)))
        replies: list[Any] = []
        for _ in commands:
            try:
                replies.append(await connection.read_response())
            except self._errors.ResponseError as error:
                replies.append(error)
        return replies

    def _is(self, error: object, name: str) -> bool:
        return isinstance(error, getattr(self._errors, name))

    def _reason(self, error: Exception) -> str:
        if isinstance(error, TimeoutError) or self._is(error, "TimeoutError"):
            return "Redis does not answer in time"
        # A server's text may repeat a command, with a password.
        plain = type(error) is self._errors.ConnectionError or isinstance(error, OSError)
        return f"Redis is unavailable: {error if plain else type(error).__name__}"

    def reopen(self) -> None:
        """Let the next call connect at once."""
        self.pause = self._closed_until = 0.0

    async def close(self, *, for_good: bool = False) -> None:
        """Close it; `for_good` forbids opening it again."""
        if for_good:
            self._closed_until = inf
        connection, self._connection, self.run_id = self._connection, None, None
        if connection is not None:
            with suppress(self._errors.RedisError, OSError):
                await connection.disconnect(nowait=True)


def _pack(command: Command) -> bytes:
    """Return the bytes of a command; redis-py does this more slowly."""
    values = [
        argument if isinstance(argument, bytes) else str(argument).encode(errors="surrogatepass")
        for argument in command
    ]
    return b"*%d\r\n%b" % (
        len(values),
        b"".join([b"$%d\r\n%b\r\n" % (len(value), value) for value in values]),
    )


class RedisCalls(Batches[Command]):
    """Calls to the server: those of one iteration of the event loop go together, up to a limit.

    Other calls wait for the answers of these, or fail with them; waiting does not count as late.
    """

    def __init__(
        self, connection: CommandConnection, compare: Callable[[CommandConnection], Awaitable[None]]
    ) -> None:
        super().__init__(self._replies, _TOGETHER)
        self.connection: Final = connection
        self._compare = compare

    def run(self, *words: Argument) -> Future[Any]:
        """Queue a command; return its future reply, or error: `EngineUnavailable`."""
        return self.add(words)

    async def _replies(self, commands: Sequence[Command]) -> Sequence[Any]:
        replies = await self.connection.run(commands)
        await self._compare(self.connection)
        return replies

    async def close(self) -> None:
        """Close the connection and fail unanswered calls."""
        await self.connection.close(for_good=True)
        if self.task is not None:
            await self.task
