"""A store of tasks in the memory of one process."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf
from time import monotonic, time
from typing import Final

from .engine import StoredTask

# The most outdated entries of `_ends` beyond twice the records.
_SPARE_ENDS: Final = 100

_BEGAN: Final = time() - monotonic()


def steady_time() -> float:
    """Return the seconds since the epoch, by a clock that never jumps while the process runs.

    If the system time was set since this module was imported, the two differ. Do not compare this
    time across processes.
    """
    return _BEGAN + monotonic()


@dataclass(slots=True)
class _Record:
    record: bytes
    version: int
    owner: str
    ends_at: float
    due: float


class MemoryTaskStore:
    """Tasks in memory; `clock` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = steady_time) -> None:
        self.clock: Final = clock
        self._kept: dict[str, _Record] = {}
        self._owned: dict[str, dict[str, None]] = {}
        # When records lapse, the first one first; entries may be outdated.
        self._ends: list[tuple[float, str]] = []

    async def create(
        self,
        key: str,
        record: bytes,
        *,
        owner: str,
        ends_at: float | None,
        lease: float | None,
        most: int,
    ) -> bool:
        self._expire()
        if (entry := self._kept.get(key)) is not None:
            return entry.version == 1 and entry.record == record
        if len(self._owned.get(owner, ())) >= most:
            return False
        self._write(key, _Record(record, 1, owner, _end(ends_at), self._due(lease)))
        self._owned.setdefault(owner, {})[key] = None
        return True

    async def get(self, key: str) -> StoredTask | None:
        self._expire()
        return self._find_stored(key)

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        self._expire()
        return {key: entry.version for key in keys if (entry := self._kept.get(key)) is not None}

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        self._expire()
        if (entry := self._kept.get(key)) is None or entry.version != version:
            return False
        self._write(key, _Record(record, version + 1, entry.owner, _end(ends_at), self._due(lease)))
        return True

    async def renew(self, keys: Collection[str], lease: float) -> None:
        for key in keys:
            if (entry := self._kept.get(key)) is not None and entry.due < inf:
                entry.due = self._due(lease)

    async def delete(self, key: str) -> None:
        if key in self._kept:
            self._remove(key)
        if len(self._ends) > 2 * len(self._kept) + _SPARE_ENDS:
            # Most deleted records, such as locks, would have ended much later.
            self._ends = [
                (record.ends_at, key) for key, record in self._kept.items() if record.ends_at < inf
            ]
            heapify(self._ends)

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        self._expire()
        keys = sorted(key for key in self._owned.get(owner, ()) if key > after)
        return [task for key in keys[:size] if (task := self._find_stored(key)) is not None]

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        self._expire()
        now = self.clock()
        due = sorted((kept.due, key) for key, kept in self._kept.items() if kept.due <= now)
        keys = [key for _, key in due[:most]]
        await self.renew(keys, lease)
        return [task for key in keys if (task := self._find_stored(key)) is not None]

    def _find_stored(self, key: str) -> StoredTask | None:
        if (entry := self._kept.get(key)) is None:
            return None
        return StoredTask(key, entry.record, entry.version, self.clock())

    def _due(self, lease: float | None) -> float:
        return inf if lease is None else self.clock() + lease

    def _write(self, key: str, entry: _Record) -> None:
        before = self._kept.get(key)
        self._kept[key] = entry
        if entry.ends_at < inf and (before is None or before.ends_at != entry.ends_at):
            heappush(self._ends, (entry.ends_at, key))

    def _expire(self) -> None:
        now = self.clock()
        while self._ends and self._ends[0][0] <= now:
            _, key = heappop(self._ends)
            if (entry := self._kept.get(key)) is not None and entry.ends_at <= now:
                self._remove(key)

    def _remove(self, key: str) -> None:
        owner = self._kept.pop(key).owner
        del self._owned[owner][key]
        if not self._owned[owner]:
            del self._owned[owner]


def _end(ends_at: float | None) -> float:
    return inf if ends_at is None else ends_at
