"""A store of tasks in the memory of one process, which ends with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import time
from typing import Final

from .engine import StoredTask


@dataclass(slots=True)
class _Kept:
    record: bytes
    version: int
    owner: str
    ends_at: float | None
    due: float | None


class MemoryTaskStore:
    """Tasks in memory; `clock` gives seconds since the epoch."""

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock: Final = clock
        self._kept: dict[str, _Kept] = {}
        self._owned: dict[str, dict[str, None]] = {}

    async def create(
        self,
        key: str,
        record: bytes,
        *,
        owner: str,
        ends_at: float | None,
        due: float | None,
        most: int,
    ) -> bool:
        known = self._found(key)
        if known is not None:
            return known.version == 1 and known.record == record
        owned = self._owned.get(owner, {})
        if len(owned) >= most and sum(self._found(one) is not None for one in list(owned)) >= most:
            return False
        self._kept[key] = _Kept(record, 1, owner, ends_at, due)
        self._owned.setdefault(owner, {})[key] = None
        return True

    async def get(self, key: str) -> StoredTask | None:
        kept = self._found(key)
        return None if kept is None else StoredTask(key, kept.record, kept.version)

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, due: float | None
    ) -> bool:
        kept = self._found(key)
        if kept is None or kept.version != version:
            return False
        self._kept[key] = _Kept(record, version + 1, kept.owner, ends_at, due)
        return True

    async def delete(self, key: str) -> None:
        if key in self._kept:
            self._remove(key)

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        keys = sorted(key for key in self._owned.get(owner, {}) if key > after)
        found = [await self.get(key) for key in keys]
        return [one for one in found if one is not None][:size]

    async def overdue(self, now: float, most: int) -> Sequence[StoredTask]:
        due = [
            (kept.due, key)
            for key, kept in self._kept.items()
            if kept.due is not None and kept.due < now
        ]
        found = [await self.get(key) for _, key in sorted(due)[:most]]
        return [one for one in found if one is not None]

    def _found(self, key: str) -> _Kept | None:
        kept = self._kept.get(key)
        if kept is not None and kept.ends_at is not None and kept.ends_at < self._clock():
            self._remove(key)
            return None
        return kept

    def _remove(self, key: str) -> None:
        kept = self._kept.pop(key)
        owned = self._owned[kept.owner]
        del owned[key]
        if not owned:
            del self._owned[kept.owner]
