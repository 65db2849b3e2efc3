"""Calls to the database on a few connections, and batches of what several callers send."""

import asyncio
from asyncio import Future, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from ....storage.engine import EngineUnavailable
from ..lease import now
from .database import Database, Row, is_open

# Seconds in which calls do not try again to connect.
_PAUSE: Final = 0.2
_LATE: Final = "PostgreSQL did not answer within {:g} seconds"
_CLOSED: Final = "this connection is closed"


class _Call(NamedTuple):
    statement: str
    values: Mapping[str, object]
    rows: "Future[list[Row]]"


class Calls:
    """Calls, which tasks make on up to `most` connections of their own.

    So a call that is cancelled disturbs none of them.
    """

    def __init__(self, database: Database, most: int) -> None:
        self._database = database
        self._most = most
        self._tasks: Final = list[asyncio.Task[None]]()
        # Those that wait for the next call, and calls that wait for one of them.
        self._idle: Final = list[Future[_Call | None]]()
        self._calls: Final = deque[_Call]()
        self._refused_until = 0.0

    async def run(self, statement: str, **values: object) -> list[Row]:
        """Return the rows of a statement.

        Raise `EngineUnavailable`, or `ValueError` for values that no database can have.
        """
        if self._database.away is not None or not self._most:
            raise EngineUnavailable(self._database.away or _CLOSED)
        rows: Future[list[Row]] = get_running_loop().create_future()
        self._start(_Call(statement, values, rows))
        try:
            async with asyncio.timeout(self._database.timeout):
                return await rows
        except TimeoutError:
            raise EngineUnavailable(_LATE.format(self._database.timeout)) from None

    def _start(self, call: _Call) -> None:
        if self._idle:
            # The one that was used last has a connection that is good, and its plans.
            self._idle.pop().set_result(call)
        elif len(self._tasks) < self._most:
            self._tasks.append(asyncio.create_task(self._serve(call)))
        else:
            self._calls.append(call)

    async def _serve(self, call: _Call | None) -> None:
        connection: Any = None
        while call is not None:
            # Nobody waits for those any more that were cancelled, or have waited for too long.
            if not call.rows.done():
                connection = await self._make(call, connection)
            call = self._calls.popleft() if self._calls else await self._next()

    async def _next(self) -> _Call | None:
        if not self._most:
            return None
        turn: Future[_Call | None] = get_running_loop().create_future()
        self._idle.append(turn)
        return await turn

    async def _make(self, call: _Call, connection: Any) -> Any:
        """Make a call on a connection, or on a new one; return it if it is good."""
        try:
            if connection is None or not is_open(connection):
                connection = await self._connect(connection)
            rows = await self._database.ask(connection, call.statement, call.values)
        except (ValueError, self._database.errors.DataError) as error:
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
            raise EngineUnavailable("it has just refused a connection")
        try:
            return await self._database.connect(earlier)
        except Exception:
            self._refused_until = now() + _PAUSE
            raise

    async def close(self) -> None:
        """Make no more calls, and end the tasks; their connections stay open.

        Calls that have not been answered fail.
        """
        self._most = 0
        while self._idle:
            self._idle.pop().set_result(None)
        await end_tasks(self._tasks)
        while self._calls:
            _set_error(self._calls.popleft().rows, EngineUnavailable(_CLOSED))


_Item = TypeVar("_Item")
_Outcome = TypeVar("_Outcome")


class BatchSender(Generic[_Item, _Outcome]):
    """Sends what is added in its order, though calls have several connections.

    What is added while something is on its way goes out next, in one call.
    """

    def __init__(
        self, send: Callable[[Sequence[_Item]], Awaitable[_Outcome]], timeout: float
    ) -> None:
        self._send = send
        self._timeout = timeout
        self._added: list[tuple[Sequence[_Item], Future[_Outcome]]] = []
        self.sending: asyncio.Task[None] | None = None

    async def add(self, items: Sequence[_Item]) -> _Outcome:
        """Return the outcome of the call that has sent them."""
        outcome: Future[_Outcome] = get_running_loop().create_future()
        self._added.append((items, outcome))
        if self.sending is None:
            self.sending = asyncio.create_task(self._send_all())
        try:
            async with asyncio.timeout(self._timeout):
                return await outcome
        except TimeoutError:
            raise EngineUnavailable(_LATE.format(self._timeout)) from None

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
            # Whoever ends this task leaves nobody waiting.
            left, self._added, self.sending = [*added, *self._added], [], None
            for _, outcome in left:
                _set_error(outcome, EngineUnavailable(_CLOSED))


def _set_error(outcome: "Future[_Outcome]", error: Exception) -> None:
    if not outcome.done():
        outcome.set_exception(error)


async def end_tasks(tasks: Sequence["asyncio.Task[None]"]) -> None:
    """Wait for tasks, most of which end by themselves; cancel those that try to connect."""
    try:
        if tasks:
            await asyncio.wait(tasks, timeout=0.2)
    finally:
        for task in tasks:
            task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
