"""Calls to the database on a few connections."""

import asyncio
from asyncio import Future, Semaphore, Task, create_task, get_running_loop
from collections.abc import Collection, Mapping
from typing import Any, Final

from ....storage.engine import EngineUnavailable
from ..batches import set_outcome
from ..lease import now
from .database import Database, Row, is_open

# Seconds without a new attempt to connect.
_PAUSE: Final = 0.2
_CLOSED: Final = "this connection is closed"


class Calls:
    """Calls on up to `most` connections, each in its own task.

    So cancelling a call disturbs no connection.
    """

    def __init__(self, database: Database, most: int) -> None:
        self._database = database
        self._room = Semaphore(most)
        # The last one was used latest: it is good, and has prepared plans.
        self._idle = list[Any]()
        self._tasks = set[Task[None]]()
        self._closed = False
        self._refused_until = 0.0

    async def run(self, statement: str, **values: object) -> list[Row]:
        """Return the rows of a statement.

        Raise `EngineUnavailable`, or `ValueError` for values that a database cannot store.
        """
        if self._database.away is not None or self._closed:
            raise EngineUnavailable(self._database.away or _CLOSED)
        rows: Future[list[Row]] = get_running_loop().create_future()
        task = create_task(self._answer(rows, statement, values))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return await self._database.in_time(rows)

    async def _answer(
        self, rows: Future[list[Row]], statement: str, values: Mapping[str, object]
    ) -> None:
        try:
            async with self._room:
                # Its caller may have been cancelled, or have timed out.
                if not rows.done():
                    set_outcome(rows, await self._ask(statement, values))
        finally:
            # An ending event loop cancels this task.
            set_outcome(rows, EngineUnavailable(_CLOSED))

    async def _ask(self, statement: str, values: Mapping[str, object]) -> list[Row] | Exception:
        connection = self._idle.pop() if self._idle else None
        outcome: list[Row] | Exception
        try:
            if connection is None or not is_open(connection):
                connection = await self._connect(connection)
            outcome = await self._database.ask(connection, statement, values)
        except (ValueError, self._database.psycopg.DataError) as error:
            outcome = ValueError(self._database.harmless(error))
        except Exception as error:
            await self._database.close(connection)
            return EngineUnavailable(self._database.harmless(error))
        self._idle.append(connection)
        return outcome

    async def _connect(self, earlier: Any) -> Any:
        if now() < self._refused_until:
            raise EngineUnavailable("the last attempt to connect has just failed")
        try:
            return await self._database.connect(earlier)
        except Exception:
            self._refused_until = now() + _PAUSE
            raise

    async def close(self) -> None:
        """Fail unanswered calls; their connections stay open."""
        self._closed = True
        await end_tasks([*self._tasks])


async def end_tasks(tasks: Collection[Task[None]]) -> None:
    """Wait briefly for tasks, then cancel those that still try to connect."""
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=0.2)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
