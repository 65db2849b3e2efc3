"""The engine, and a worker's connection to it."""

import asyncio
from asyncio import create_task
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from ....storage.engine import EngineUnavailable, Receive
from ..lease import Lease
from .connection import CommandConnection, RawConnection, RedisCalls, redis_module
from .redis_listener import RedisListener
from .redis_stores import RedisEvents, RedisSessions, RedisWorkers
from .redis_tasks import RedisTasks


@dataclass(frozen=True, repr=False)
class RedisEngine:
    """An engine in Redis or Valkey, at a redis, rediss (TLS) or unix URL of redis-py.

    All keys begin with `namespace`, which differs between endpoints of different servers. A call
    fails after `timeout` seconds. About `max_events` of each stream are kept.
    """

    url: str
    _: KW_ONLY
    namespace: str = "mcp"
    timeout: float = 2.0
    max_events: int = 1000

    def __post_init__(self) -> None:
        if not self.namespace or not {"{", "}"}.isdisjoint(self.namespace):
            raise ValueError("namespace must be non-empty, without braces")
        if self.timeout <= 0 or self.max_events < 1:
            raise ValueError("timeout and max_events must be more than 0")
        parts = urlsplit(self.url)
        if parts.fragment or "@" in parts.path:
            raise ValueError("a password in url must be percent-encoded")
        self.make_connection()

    def __repr__(self) -> str:
        # Leave out the password, and options that may contain one.
        parts = urlsplit(self.url)
        place = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
        return f"RedisEngine({place!r}, namespace={self.namespace!r})"

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AbstractAsyncContextManager[RedisConnection]":
        return RedisConnection(self, worker, Lease(lease), receive).open()

    def make_connection(self) -> RawConnection:
        """Return a connection of redis-py that is not open yet."""
        module = redis_module("redis.asyncio.connection")
        # Failures are reported, not retried; replies are raw, of protocol 2.
        ours: dict[str, Any] = {"retry_on_timeout": False, "socket_timeout": None}
        ours |= {"health_check_interval": 0, "decode_responses": False, "protocol": 2}
        # Names that clients made up may be invalid Unicode.
        ours |= {"socket_connect_timeout": self.timeout, "encoding_errors": "surrogatepass"}
        try:
            options = module.parse_url(self.url) | ours
            return options.pop("connection_class", module.Connection)(**options)
        except (TypeError, ValueError):
            # The faulty part may belong to the password.
            message = "url must be redis://, rediss:// or unix://, with options of redis-py"
            raise ValueError(message) from None


class RedisConnection:
    def __init__(self, engine: RedisEngine, worker: str, lease: Lease, receive: Receive) -> None:
        hearing, calling = (
            CommandConnection(engine.make_connection, engine.timeout) for _ in range(2)
        )
        namespace = engine.namespace
        workers = f"{namespace}:{{workers}}"
        self._listener = RedisListener(hearing, workers, worker, lease, receive)
        self._calls = RedisCalls(calling, self._listener.compare)
        self._lease = lease
        self.mail: Final = RedisWorkers(self._calls, workers)
        self.sessions: Final = RedisSessions(self._calls, self.mail, namespace)
        self.events: Final = RedisEvents(self._calls, namespace, engine.max_events)
        self.tasks: Final = RedisTasks(self._calls, f"{namespace}:{{tasks}}")

    @property
    def current(self) -> bool:
        return self._lease.current

    @asynccontextmanager
    async def open(self) -> "AsyncGenerator[RedisConnection, None]":
        """Connect; wait for the server only as long as for a call."""
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
                    await self._calls.run("UNLINK", *listener.own_keys)
            finally:
                self._lease.end()
                await listener.connection.close(for_good=True)
                await self._calls.close()
            if not task.cancelled():
                task.result()
