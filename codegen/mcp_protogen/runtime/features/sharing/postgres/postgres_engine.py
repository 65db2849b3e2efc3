"""The engine, and a worker's connections to it."""

import asyncio
from collections.abc import AsyncGenerator, Collection, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass
from random import uniform
from typing import Any, Final
from urllib.parse import urlsplit

from ....core.libraries import library
from ....storage.engine import EngineUnavailable, Receive
from ..batches import Batches
from ..lease import Lease
from . import statements
from .calls import Calls, end_tasks
from .database import Database, is_text
from .postgres_listener import PostgresListener
from .postgres_stores import PostgresEvents, PostgresSessions
from .postgres_tasks import PostgresTasks
from .statements import Schema

_CLEANED_AT_ONCE: Final = 100
"""The number of sessions, streams and changes to delete at once."""
_MAX_CHANGES: Final = 10_000
_CLEAN_EVERY: Final = 60.0
# The parts of a URL that are not secret.
_PLACE: Final = "host", "port", "dbname"


@dataclass(frozen=True, repr=False)
class PostgresEngine:
    """An engine in the tables of one `schema`, created if missing.

    `url` is a libpq URL, with `sslmode` and other options. A call fails after `timeout` seconds.
    Each worker has one connection for listening, and up to `connections` for calls. The last
    `max_events` of each stream are kept.
    """

    url: str
    _: KW_ONLY
    schema: str = "mcp"
    timeout: float = 2.0
    connections: int = 4
    max_events: int = 1000

    def __post_init__(self) -> None:
        psycopg = psycopg_module()
        try:
            given = psycopg.conninfo.conninfo_to_dict(self.url)
            # Otherwise a part of a password was taken for a host.
            if "://" in self.url and "@" in urlsplit(self.url).path:
                raise ValueError
            if not set(str(given.get("port", ""))) <= {*"0123456789,"}:
                raise ValueError
        except (ValueError, psycopg.ProgrammingError):
            # The faulty part may belong to the password.
            message = "url must be a postgresql:// URL that libpq can read"
            raise ValueError(message) from None
        if not self.schema or "\0" in self.schema:
            raise ValueError("schema must not be empty")
        if self.timeout <= 0 or self.connections < 1 or self.max_events < 1:
            raise ValueError("timeout, connections and max_events must be more than 0")

    def __repr__(self) -> str:
        given = psycopg_module().conninfo.conninfo_to_dict(self.url)
        place = " ".join(f"{name}={given[name]}" for name in _PLACE if name in given)
        return f"PostgresEngine({place!r}, schema={self.schema!r})"

    def schema_sql(self) -> str:
        """Return SQL that creates the tables, for workers whose role may not.

        Such a role needs USAGE of the schema, and SELECT, INSERT, UPDATE and DELETE on its tables.
        """
        return Schema(self.schema).script

    def connect(
        self, worker: str, lease: float, receive: Receive
    ) -> "AbstractAsyncContextManager[PostgresConnection]":
        return PostgresConnection(self, worker, Lease(lease), receive).running()


def psycopg_module() -> Any:
    return library("psycopg", "PostgresEngine", "'psycopg[binary]>=3.2.4'")


class PostgresConnection:
    """A worker's connections; calling, listening and cleaning have their own tasks."""

    def __init__(self, engine: PostgresEngine, worker: str, lease: Lease, receive: Receive) -> None:
        schema = Schema(engine.schema)
        self._database = Database(engine.url, schema, engine.timeout, psycopg_module())
        self._calls = Calls(self._database, engine.connections)
        self._worker = worker
        self._lease = lease
        self._listener = PostgresListener(self._database, worker, lease, receive)
        self._messages = Batches(self._send)
        self._changes = Batches(self._publish)
        self.sessions: Final = PostgresSessions(self._calls)
        self.events: Final = PostgresEvents(self._calls, engine.max_events)
        self.tasks: Final = PostgresTasks(self._calls)
        self.mail: Final = self

    @property
    def current(self) -> bool:
        return self._lease.current and not self._database.ended.is_set()

    @asynccontextmanager
    async def running(self) -> "AsyncGenerator[PostgresConnection, None]":
        """Enter when connected, or when the engine has proved unavailable."""
        listening = asyncio.create_task(self._listener.run())
        cleaning = asyncio.create_task(self._clean())
        try:
            await self._listener.tried.wait()
            yield self
        finally:
            self._database.ended.set()
            cleaning.cancel()
            try:
                # Do not renew the lease that is given back here.
                self._database.abort()
                sending = self._messages.task, self._changes.task
                await end_tasks([listening, cleaning, *filter(None, sending)])
                with suppress(EngineUnavailable):
                    await self._calls.run(statements.DELETE_WORKER, worker=self._worker)
            finally:
                await self._calls.close()
                await self._database.close_all()

    async def _clean(self) -> None:
        limit = _CLEANED_AT_ONCE
        while True:
            await asyncio.sleep(_CLEAN_EVERY * uniform(0.5, 1.5))
            try:
                while await self.clean(limit):
                    await asyncio.sleep(0.1)
                limit = min(2 * limit, _CLEANED_AT_ONCE)
            except EngineUnavailable:
                # The batch may have been too large.
                limit = max(limit // 2, 1)

    async def clean(self, limit: int = _CLEANED_AT_ONCE) -> bool:
        """Delete some expired rows; return whether there may be more."""
        rows = await self._calls.run(statements.CLEAN, limit=limit, max_changes=_MAX_CHANGES)
        return bool(rows[0][0] == limit)

    async def send(self, messages: Sequence[tuple[str, bytes]]) -> frozenset[str]:
        good = [message for message in messages if is_text(message[0])]
        there = await self._database.in_time(self._messages.add(good)) if good else frozenset[str]()
        return frozenset(name for name, _ in messages) - there

    async def _send(self, batch: Sequence[Sequence[tuple[str, bytes]]]) -> Sequence[frozenset[str]]:
        messages = [message for messages in batch for message in messages]
        names = list(dict.fromkeys(name for name, _ in messages))
        rows = await self._calls.run(
            statements.SEND,
            names=names,
            channels=[self._database.channel(name) for name in names],
            to=[name for name, _ in messages],
            contents=[content for _, content in messages],
        )
        return [frozenset(row[0] for row in rows)] * len(batch)

    async def alive(self, workers: Collection[str]) -> frozenset[str]:
        names = [name for name in workers if is_text(name)]
        return frozenset(row[0] for row in await self._calls.run(statements.ALIVE, names=names))

    async def publish(self, changes: Sequence[bytes]) -> None:
        if changes:
            await self._database.in_time(self._changes.add(changes))

    async def _publish(self, batch: Sequence[Sequence[bytes]]) -> Sequence[None]:
        contents = [content for changes in batch for content in changes]
        values = {"contents": contents, "channel": self._database.channel("")}
        await self._calls.run(statements.PUBLISH, number=len(contents), **values)
        return [None] * len(batch)
