"""The engine, and the connection of a worker to it."""

import asyncio
from asyncio import create_task
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final
from urllib.parse import urlsplit

from ....storage.engine import EngineUnavailable, Receive
from ..lease import Lease
from .connection import CommandConnection, RawConnection, RedisCalls, redis_module
from .redis_listener import RedisListener
from .redis_stores import RedisEvents, RedisSessions, RedisWorkers
from .redis_tasks import RedisTasks


class RedisEngine:
    """An engine in Redis or Valkey, at a URL as redis-py has it: redis, rediss (TLS) or unix.

    All keys begin with `namespace`: endpoints of different servers have different ones. A call
    that takes longer than `timeout` seconds fails. Of each stream about `max_events` are kept.
    """

    def __init__(
        self, url: str, *, namespace: str = "mcp", timeout: float = 2.0, max_events: int = 1000
    ) -> None:
        if not namespace or not {"{", "}"}.isdisjoint(namespace):
            raise ValueError("namespace has to be some text without braces")
        if timeout <= 0 or max_events < 1:
            raise ValueError("timeout and max_events have to be more than 0")
        parts = urlsplit(url)
        if parts.fragment or "@" in parts.path:
            raise ValueError("a password in url has to be percent-encoded")
        self._url = url
        self.namespace: Final = namespace
        self.timeout: Final = timeout
        self.max_events: Final = max_events
        self.make_connection()

    def __repr__(self) -> str:
        # Neither a password nor options, among which there may be one.
        parts = urlsplit(self._url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"RedisEngine({place!r}, namespace={self.namespace!r})"

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AbstractAsyncContextManager[RedisConnection]":
        return RedisConnection(self, worker, Lease(lease), receive).open()

    def make_connection(self) -> RawConnection:
        """Return a connection of redis-py that is not open yet."""
        module = redis_module("redis.asyncio.connection")
        # What fails is said, and not done again unseen; replies are raw, and of one form.
        ours: dict[str, Any] = {"retry_on_timeout": False, "socket_timeout": None}
        ours |= {"health_check_interval": 0, "decode_responses": False, "protocol": 2}
        # A name that somebody made up may be no text.
        ours |= {"socket_connect_timeout": self.timeout, "encoding_errors": "surrogatepass"}
        try:
            options = module.parse_url(self._url) | ours
            return options.pop("connection_class", module.Connection)(**options)
        except (TypeError, ValueError):
            # What was wrong may be a part of the password.
            message = "url is none of redis://, rediss:// or unix:// with options that redis-py has"
            raise ValueError(message) from None


class RedisConnection:
    def __init__(self, engine: RedisEngine, worker: str, lease: Lease, receive: Receive) -> None:
        hearing, calling = (
            CommandConnection(engine.make_connection, engine.timeout) for _ in range(2)
        )
        self._listener = RedisListener(hearing, engine.namespace, worker, lease, receive)
        self._calls = RedisCalls(calling, self._listener.compare)
        self._lease = lease
        self.mail: Final = RedisWorkers(self._calls, engine.namespace)
        self.bus: Final = self.mail
        self.sessions: Final = RedisSessions(self._calls, self.mail, engine.namespace)
        self.events: Final = RedisEvents(self._calls, engine.namespace, engine.max_events)
        self.tasks: Final = RedisTasks(self._calls, engine.namespace)

    @property
    def current(self) -> bool:
        return self._lease.current

    @asynccontextmanager
    async def open(self) -> "AsyncGenerator[RedisConnection, None]":
        """Be there for others; wait for the server at first, but only so long as for a call."""
        listener = self._listener
        task = create_task(listener.listen(self._calls))
        try:
            await listener.tried.wait()
            listener.entered = True
            yield self
        finally:
            task.cancel()
            try:
                await asyncio.wait((task,))
                with suppress(EngineUnavailable):
                    await self._calls.run(None, "UNLINK", *listener.own_keys)
            finally:
                self._lease.end()
                await listener.connection.close(for_good=True)
                await self._calls.close()
            if not task.cancelled():
                task.result()
