"""The store of tasks."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from ....storage.engine import StoredTask
from . import statements
from .calls import Calls

# Far in the future, but valid in a database.
_MAX_TIME: Final = 1e12
_MAX_LEASE: Final = 1e9


class PostgresTasks:
    def __init__(self, calls: Calls) -> None:
        self._call = calls.run

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
        values = {"record": record, "owner": owner, "most": most, **_times(ends_at, lease)}
        rows = await self._call(statements.CREATE_TASK, key=key, **values)
        return bool(rows and rows[0][0])

    async def get(self, key: str) -> StoredTask | None:
        rows = await self._call(statements.GET_TASK, key=key)
        return StoredTask(*rows[0]) if rows else None

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        return dict(await self._call(statements.VERSIONS, keys=list(keys)))

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        values = {"record": record, "version": version, **_times(ends_at, lease)}
        return bool(await self._call(statements.REPLACE_TASK, key=key, **values))

    async def renew(self, keys: Collection[str], lease: float) -> None:
        if keys:
            await self._call(statements.RENEW_TASKS, keys=list(keys), **_times(None, lease))

    async def delete(self, key: str) -> None:
        await self._call(statements.DELETE_TASK, key=key)

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        rows = await self._call(statements.TASKS_OF, owner=owner, after=after, size=size)
        return [StoredTask(*row) for row in rows]

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        rows = await self._call(statements.TAKE_OVERDUE, most=most, **_times(None, lease))
        return [StoredTask(*row) for row in rows]


def _times(ends_at: float | None, lease: float | None) -> dict[str, float | None]:
    return {
        "ends_at": None if ends_at is None else min(ends_at, _MAX_TIME),
        "lease": None if lease is None else min(lease, _MAX_LEASE),
    }
