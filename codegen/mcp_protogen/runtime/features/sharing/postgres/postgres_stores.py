"""The stores of sessions and of event streams."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ....storage.engine import (
    Appended,
    EngineUnavailable,
    Event,
    Events,
    Place,
    Saved,
    StoredSession,
    events_after,
)
from . import statements
from .calls import Calls
from .database import is_text

_MAX_NUMBER: Final = 1 << 62
# Streams may exist before their session is known.
_STUB_LIFETIME: Final = 3600.0
_ATTEMPTS: Final = 10
_CHANGING: Final = "other workers keep changing the stream, or its lifetime is too short"


class PostgresSessions:
    def __init__(self, calls: Calls) -> None:
        self._call = calls.run

    async def open(self, key: str, worker: str) -> StoredSession | None:
        rows = await self._call(statements.OPEN, key=key, worker=worker)
        return StoredSession(*rows[0]) if rows else None

    async def save(
        self, key: str, worker: str, record: bytes, *, version: int, lifetime: float
    ) -> Saved | None:
        values = {"record": record, "lifetime": lifetime}
        statement, before = (statements.SAVE, version) if version else (statements.CREATE, 1)
        rows = await self._call(statement, key=key, worker=worker, version=before, **values)
        return Saved(rows[0][0], frozenset(rows[0][1]) - {worker}) if rows else None

    async def refresh(self, keys: Collection[str], lifetime: float) -> None:
        if keys:
            await self._call(statements.REFRESH, keys=list(keys), lifetime=lifetime)

    async def leave(self, key: str, worker: str) -> None:
        await self._call(statements.LEAVE, key=key, worker=worker)

    async def end(self, key: str, lifetime: float, *, again: bool = False) -> frozenset[str] | None:
        rows = await self._call(statements.END, key=key, lifetime=lifetime, again=again)
        return frozenset(rows[0][0]) if rows else None

    async def claim(self, key: str, worker: str) -> StoredSession | None:
        rows = await self._call(statements.CLAIM, key=key, worker=worker)
        return StoredSession(*rows[0]) if rows else None

    async def deliver(self, key: str, worker: str, epoch: int, delivered: int) -> bool:
        values = {"epoch": epoch, "delivered": delivered}
        return bool(await self._call(statements.DELIVER, key=key, worker=worker, **values))


class PostgresEvents:
    def __init__(self, calls: Calls, max_events: int) -> None:
        self._call = calls.run
        self._max_events = max_events

    async def append(
        self,
        key: str,
        stream: str,
        number: int,
        messages: Sequence[bytes],
        *,
        lifetime: float,
        end: bool = False,
    ) -> Appended:
        last = number + len(messages) - 1
        values = {
            "number": number,
            "last": last if messages else -1,
            "end": end,
            "lifetime": lifetime,
            "messages": list(messages),
            "max_events": self._max_events,
        }
        for _ in range(_ATTEMPTS):
            rows = await self._call(statements.APPEND, key=key, stream=stream, **values)
            if rows:
                return Appended(True, max(last, 0), end, *rows[0])
            found = await self._call(statements.READ, key=key, stream=stream, after=_MAX_NUMBER)
            if not found:
                await self._prepare(key, lifetime)
                continue
            session_ended, last_stored, stream_ended = found[0][:3]
            ended = session_ended or stream_ended
            # Another change may have made it acceptable.
            if ended or not (last_stored + 1 == number or (last_stored < 0 and number == 1)):
                last_stored = 0 if session_ended else max(last_stored, 0)
                return Appended(False, last_stored, ended, None)
        raise EngineUnavailable(_CHANGING)

    async def read(self, key: str, stream: str, after: int) -> Events | None:
        if not is_text(stream):
            return None
        start = max(min(after, _MAX_NUMBER), -1)
        rows = await self._call(statements.READ, key=key, stream=stream, after=start)
        session_ended, last, ended = rows[0][:3] if rows else (False, -1, False)
        events = [Event(*row[3:]) for row in rows if row[3] is not None]
        # The events of an ended session are deleted.
        return events_after(after, -1 if session_ended else last, session_ended or ended, events)

    async def follow(self, key: str, stream: str, worker: str) -> None:
        for _ in range(_ATTEMPTS):
            if await self._call(statements.FOLLOW, key=key, stream=stream, worker=worker):
                return
            await self._prepare(key, _STUB_LIFETIME)
        raise EngineUnavailable(_CHANGING)

    async def news(self, seen: Mapping[Place, int]) -> Collection[Place]:
        keys, names = zip(*seen, strict=True) if seen else ((), ())
        numbers = [*seen.values()]
        return await self._call(statements.NEWS, keys=[*keys], names=[*names], seen=numbers)

    async def _prepare(self, key: str, lifetime: float) -> None:
        values = {"record": b"", "worker": None, "version": 0}
        await self._call(statements.CREATE, key=key, lifetime=lifetime, **values)
