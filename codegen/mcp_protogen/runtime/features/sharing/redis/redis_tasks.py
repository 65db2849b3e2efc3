"""Tasks, one hash each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ....storage.engine import StoredTask
from . import scripts
from .connection import Argument, RedisCalls


@dataclass(eq=False, slots=True)
class RedisTasks:
    """The store of tasks; all share one hash tag."""

    _calls: RedisCalls
    _prefix: str

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
        times = _milliseconds(ends_at), _milliseconds(lease)
        return bool(await self._run(scripts.CREATE_TASK, key, record, owner, *times, most))

    async def get(self, key: str) -> StoredTask | None:
        found = await self._run(scripts.GET_TASK, key)
        return _read_tasks([found])[0] if found else None

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        # Copied: the caller's set may change meanwhile.
        names = tuple(keys)
        found = await self._run(scripts.VERSIONS, *names) if names else ()
        return {key: int(version) for key, version in zip(names, found, strict=True) if version}

    async def replace(
        self, key: str, record: bytes, *, version: int, ends_at: float | None, lease: float | None
    ) -> bool:
        times = _milliseconds(ends_at), _milliseconds(lease)
        return bool(await self._run(scripts.REPLACE_TASK, key, record, version, *times))

    async def renew(self, keys: Collection[str], lease: float) -> None:
        if keys:
            await self._run(scripts.RENEW_TASKS, _milliseconds(lease), *keys)

    async def delete(self, key: str) -> None:
        await self._run(scripts.DELETE_TASK, key)

    async def page(self, owner: str, after: str, size: int) -> Sequence[StoredTask]:
        return _read_tasks(await self._run(scripts.TASKS_OF, owner, after, size))

    async def take_overdue(self, lease: float, most: int) -> Sequence[StoredTask]:
        return _read_tasks(await self._run(scripts.TAKE_OVERDUE, _milliseconds(lease), most))

    async def _run(self, script: str, *arguments: Argument) -> Any:
        return await self._calls.run("EVALSHA", script, 1, self._prefix, *arguments)


def _milliseconds(seconds: float | None) -> Argument:
    return "" if seconds is None else ceil(seconds * 1000)


def _read_tasks(found: Iterable[Any]) -> list[StoredTask]:
    return [
        StoredTask(key.decode(errors="replace"), record, int(version), float(at))
        for key, record, version, at in found
    ]
