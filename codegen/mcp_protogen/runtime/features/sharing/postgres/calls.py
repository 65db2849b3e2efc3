"""Calls to the database on a few connections, and batching of calls."""

import asyncio
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ....storage.engine import EngineUnavailable
from ..lease import now
from .database import Database, Row, is_open

# Seconds without a new attempt to connect.
_PAUSE: Final = 0.2
_CLOSED: Final = "this connection is closed"


class _Call(NamedTuple):
    statement: str
    values: Mapping[str, object]
    rows: "Future[list[Row]]"


class Calls:
    """Calls on up to `most` connections, each in its own task.

    So cancelling a call disturbs no connection.
    """

    def __init__(self, database: Database, most: int) -> None:
        self._database = database
        self._most = most
        self._tasks = list[asyncio.Task[None]]()
        # Tasks that wait for a call, and calls that wait for a task.
        self._idle = list[Future[_Call | None]]()
        self._calls = deque[_Call]()
        self._refused_until = 0.0

    async def run(self, statement: str, **values: object) -> list[Row]:
        """Return the rows of a statement.

        Raise `EngineUnavailable`, or `ValueError` for values that a database cannot store.
        """
        if self._database.away is not None or not self._most:
            raise EngineUnavailable(self._database.away or _CLOSED)
        rows: Future[list[Row]] = get_running_loop().create_future()
        self._start(_Call(statement, values, rows))
        return await _in_time(rows, self._database.timeout)

    def _start(self, call: _Call) -> None:
        if idle := self._take_idle():
            idle.set_result(call)
        elif len(self._tasks) < self._most:
            self._tasks.append(asyncio.create_task(self._serve(call)))
        else:
            self._calls.append(call)

    def _take_idle(self) -> "Future[_Call | None] | None":
        # The latest used task has a good connection, with prepared plans.
        while self._idle:
            idle = self._idle.pop()
            # The task may have been cancelled, as when an event loop ends.
            if not idle.done():
                return idle
        return None

    async def _serve(self, call: _Call | None) -> None:
        connection: Any = None
        while call is not None:
            # Others were cancelled, or timed out.
            if not call.rows.done():
                connection = await self._make(call, connection)
            call = self._calls.popleft() if self._calls else await self._next()

    async def _next(self) -> _Call | None:
        if not self._most:
            return None
        waiter: Future[_Call | None] = get_running_loop().create_future()
        self._idle.append(waiter)
        return await waiter

    async def _make(self, call: _Call, connection: Any) -> Any:
        try:
            if connection is None or not is_open(connection):
                connection = await self._connect(connection)
            rows = await self._database.ask(connection, call.statement, call.values)
        except (ValueError, self._database.psycopg.DataError) as error:
            _set_error(call.rows, ValueError(self._database.harmless(error)))
        except asyncio.CancelledError:
            _set_error(call.rows, EngineUnavailable(_CLOSED))
            raise
        except Exception as error:
            _set_error(call.rows, EngineUnavailable(self._database.harmless(error)))
            await self._database.close(connection)
            return None
        else:
            if not call.rows.done():
                call.rows.set_result(rows)
        return connection

    async def _connect(self, earlier: Any) -> Any:
        if now() < self._refused_until:
            raise EngineUnavailable("the last attempt to connect has just failed")
        try:
            return await self._database.connect(earlier)
        except Exception:
            self._refused_until = now() + _PAUSE
            raise

    async def close(self) -> None:
        """Fail unanswered calls and end the tasks; their connections stay open."""
        self._most = 0
        while idle := self._take_idle():
            idle.set_result(None)
        await end_tasks(self._tasks)
        while self._calls:
            _set_error(self._calls.popleft().rows, EngineUnavailable(_CLOSED))


_Item = TypeVar("_Item")
_Outcome = TypeVar("_Outcome")


class BatchSender(Generic[_Item, _Outcome]):
    """Sends items in order, though calls have several connections.

    Items added during a call go out together in the next one.
    """

    def __init__(
        self, send: Callable[[Sequence[_Item]], Awaitable[_Outcome]], timeout: float
    ) -> None:
        self._send = send
        self._timeout = timeout
        self._added: list[tuple[Sequence[_Item], Future[_Outcome]]] = []
        self.sending: asyncio.Task[None] | None = None

    async def add(self, items: Sequence[_Item]) -> _Outcome:
        """Return the outcome of the call that sends the items."""
        outcome: Future[_Outcome] = get_running_loop().create_future()
        self._added.append((items, outcome))
        if self.sending is None:
            self.sending = asyncio.create_task(self._send_all())
        return await _in_time(outcome, self._timeout)

    async def _send_all(self) -> None:
        added = self._added
        try:
            while added := [entry for entry in self._added if not entry[1].done()]:
                self._added = []
                try:
                    sent = await self._send([item for items, _ in added for item in items])
                except (EngineUnavailable, ValueError) as error:
                    for _, outcome in added:
                        _set_error(outcome, type(error)(*error.args))
                else:
                    for _, outcome in added:
                        if not outcome.done():
                            outcome.set_result(sent)
        finally:
            # Leave no caller waiting when this task ends.
            left, self._added, self.sending = [*added, *self._added], [], None
            for _, outcome in left:
                _set_error(outcome, EngineUnavailable(_CLOSED))


async def _in_time(outcome: "Future[_Outcome]", seconds: float) -> _Outcome:
    try:
        async with asyncio.timeout(seconds):
            return await outcome
    except TimeoutError:
        raise EngineUnavailable(f"PostgreSQL did not answer within {seconds:g} seconds") from None


def _set_error(outcome: "Future[_Outcome]", error: Exception) -> None:
    if not outcome.done():
        outcome.set_exception(error)


async def end_tasks(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Wait briefly for tasks, then cancel those that still try to connect."""
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=0.2)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
