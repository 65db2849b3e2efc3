"""A worker's incoming messages and its lease, on one connection."""

import asyncio
from collections.abc import Sequence
from logging import getLogger
from random import uniform
from typing import Any, Final

from ....storage.engine import GAP, Change, DirectMessage, Receive
from ....transports.base import wait_within
from ..lease import Lease, now
from . import statements
from .database import Database, Row

_log: Final = getLogger(__name__)

_CHUNK: Final = 1000
"""The number of messages and changes to read at once."""
_MAX_NUMBER: Final = 1 << 62
_FIRST_DELAY, _LAST_DELAY = 0.05, 1.0


class PostgresListener:
    def __init__(self, database: Database, worker: str, lease: Lease, receive: Receive) -> None:
        self.tried: Final = asyncio.Event()
        self._database = database
        self._worker = worker
        self._lease = lease
        self._receive = receive
        # Messages received but not deleted, and the last change received.
        self._read: list[int] = []
        self._seen: int | None = None

    async def run(self) -> None:
        delay = _FIRST_DELAY
        while not self._database.ended.is_set():
            connection: Any = None
            try:
                connection = await self._connect()
                delay = _FIRST_DELAY
                while True:
                    if not await self._renew_and_read(connection):
                        await self._wait(connection)
            except Exception as error:
                if self._database.ended.is_set():
                    return
                self._lost(error, connected=connection is not None)
            finally:
                await self._database.close(connection)
                self.tried.set()
            await wait_within(delay * uniform(0.5, 1), self._database.ended.wait())
            delay = min(2 * delay, _LAST_DELAY)

    async def _connect(self) -> Any:
        connection = await self._database.connect()
        for name in (self._worker, ""):
            # Channel names have only hexadecimal digits.
            await self._database.ask(connection, f"listen {self._database.channel(name)}", {})
        if self._database.away is not None:
            _log.info("PostgreSQL is available again")
        self._database.away = None
        return connection

    def _lost(self, error: Exception, *, connected: bool) -> None:
        reason = self._database.harmless(error)
        if not connected:
            if self._database.away is None:
                _log.warning("PostgreSQL is unavailable: %s", reason)
            self._database.away = reason
        else:
            _log.info("the listening connection was lost: %s", reason)

    async def _wait(self, connection: Any) -> None:
        async for _ in connection.notifies(timeout=self._lease.seconds / 3, stop_after=1):
            pass

    async def _renew_and_read(self, connection: Any) -> bool:
        began = now()
        rows = await self._query(connection)
        if not rows or rows[0][0] != 0:
            # The lease has expired, or its row is gone with all messages.
            values = {"worker": self._worker, "lease": self._lease.seconds}
            await self._database.ask(connection, statements.INSERT_WORKER, values)
            self._seen = None
            began = now()
            rows = await self._query(connection)
        messages = [row for row in rows if row[0] == 2]
        changes = [row for row in rows if row[0] == 3]
        last = next((row[1] for row in rows if row[0] == 1), 0)
        if self._has_gap(last, changes):
            # A new worker has missed nothing.
            if self.tried.is_set():
                self._receive(GAP)
            self._seen = last
            changes = []
        self._read = [number for _, number, _ in messages]
        # Changes first: a message may end the session that they are for.
        for _, number, content in changes:
            self._seen = number
            self._receive(Change(content))
        for _, _, content in messages:
            self._receive(DirectMessage(content))
        self._lease.renew(began)
        self.tried.set()
        return max(len(messages), len(changes)) == _CHUNK

    def _has_gap(self, last: int, changes: Sequence[Row]) -> bool:
        if self._seen is None or last < self._seen:
            return True
        return last > self._seen and (not changes or changes[0][1] != self._seen + 1)

    async def _query(self, connection: Any) -> list[Row]:
        seen = _MAX_NUMBER if self._seen is None else self._seen
        values = {
            "worker": self._worker,
            "lease": self._lease.seconds,
            "read": self._read,
            "seen": seen,
            "limit": _CHUNK,
        }
        rows = await self._database.ask(connection, statements.RENEW_AND_READ, values)
        self._read = []
        return rows
