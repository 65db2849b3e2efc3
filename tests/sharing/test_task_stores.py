"""The behaviour of every task store: one table for all."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from time import time
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import json_text
from mcp_protogen.runtime.storage.engine import EngineUnavailable, StoredTask, TaskStore
from mcp_protogen.runtime.storage.memory_tasks import MemoryTaskStore
from mcp_protogen.runtime.storage.task_files import FileTaskStore
from support.sharing.task_stores import KINDS, open_stores

Opening = Callable[[], AbstractAsyncContextManager[list[TaskStore]]]


@pytest.fixture(params=KINDS)
def opening(request: pytest.FixtureRequest) -> Opening:
    """Opens one store as two workers have it."""
    return partial(open_stores, request.param, request)


async def create(store: TaskStore, key: str, record: bytes = b"new", **given: Any) -> bool:
    """Create a record, which lapses in an hour and has no lease."""
    values: dict[str, Any] = {
        "owner": "me",
        "ends_at": time() + 3600,
        "lease": None,
        "most": 100,
        **given,
    }
    return await store.create(key, record, **values)


async def replace(store: TaskStore, key: str, record: bytes, version: int, **given: Any) -> bool:
    values: dict[str, Any] = {"ends_at": time() + 3600, "lease": None, **given}
    return await store.replace(key, record, version=version, **values)


def record_and_version(found: StoredTask | None) -> tuple[bytes, int] | None:
    return found and (found.record, found.version)


async def keys(store: TaskStore, owner: str, after: str = "", size: int = 100) -> list[str]:
    return [task.key for task in await store.page(owner, after, size)]


async def test_a_record_is_found_by_all_once_it_is_created(opening: Opening) -> None:
    async with opening() as (one, other):
        assert await other.get("key") is None
        record = bytes(range(256)) * 100
        assert await create(one, "key", record)
        found = await other.get("key")
        assert record_and_version(found) == (record, 1) and found is not None
        # The clock of the store, which is on this machine.
        assert abs(found.at - time()) < 60
        # A creator without a confirmation repeats the call.
        assert await create(other, "key", record)
        assert not await create(other, "key", b"another")
        assert await one.versions(["key", "unknown"]) == {"key": 1}
        assert await one.versions([]) == {}


async def test_a_record_is_replaced_in_the_version_that_was_read(opening: Opening) -> None:
    async with opening() as (one, other):
        assert not await replace(one, "key", b"x", 1)
        await create(one, "key")
        assert await replace(other, "key", b"second", 1)
        assert not await replace(one, "key", b"x", 1)
        assert await replace(one, "key", b"third", 2, ends_at=None)
        assert record_and_version(await other.get("key")) == (b"third", 3)
        # It is not a new task any more.
        assert not await create(one, "key", b"third")
        await other.delete("key")
        await other.delete("key")
        assert await one.get("key") is None
        assert not await replace(one, "key", b"x", 3)
        assert await keys(one, "me") == []


async def test_of_writers_of_one_version_one_gets_through(opening: Opening) -> None:
    async with opening() as (one, other):
        await create(one, "key")
        for version in range(1, 6):
            writing = [
                replace(store, "key", str(i).encode(), version)
                for i, store in enumerate([one, other] * 5)
            ]
            assert sorted(await asyncio.gather(*writing)) == [False] * 9 + [True]
        found = await one.get("key")
        assert found is not None and found.version == 6


async def test_a_record_lapses_at_its_end_by_the_clock_of_the_store(opening: Opening) -> None:
    async with opening() as (one, other):
        await create(one, "gone", ends_at=time() - 1, lease=0.0)
        await create(one, "kept", ends_at=None)
        await create(one, "later", ends_at=time() + 3600)
        await replace(one, "later", b"ended", 1, ends_at=time() - 1)
        assert await other.get("gone") is None and await other.get("later") is None
        assert await other.versions(["gone", "kept", "later"]) == {"kept": 1}
        assert await keys(other, "me") == ["kept"]
        assert not await replace(other, "gone", b"x", 1)
        assert await other.take_overdue(10, 10) == []
        # There is room for it again, and its name is free.
        assert await create(other, "gone", b"other", most=2)
        assert record_and_version(await one.get("gone")) == (b"other", 1)


async def test_an_owner_has_as_many_as_it_may(opening: Opening) -> None:
    async with opening() as (one, other):
        assert await create(one, "1", most=2) and await create(other, "2", most=2)
        assert not await create(one, "3", most=2)
        assert await create(one, "1", most=2)
        assert await create(one, "3", owner="", most=2)
        assert await create(one, "3", owner="", most=2)
        await one.delete("1")
        assert await create(other, "4", most=2)
        assert not await create(other, "5", most=2)


async def test_the_records_of_an_owner_come_in_the_order_of_their_keys(opening: Opening) -> None:
    async with opening() as (one, other):
        names = ["B", "_", "a", "-", "b", "0", "Z", "A"]
        for name in names:
            await create(one, name, name.encode())
        await create(one, "C", owner="somebody else")
        await create(one, "c", owner="")
        assert await keys(other, "me") == sorted(names)
        assert await keys(other, "me", size=3) == sorted(names)[:3]
        assert await keys(other, "me", after="B", size=3) == sorted(names)[4:7]
        assert await keys(other, "me", after="C", size=3) == sorted(names)[4:7]
        assert await keys(other, "me", after="zzz") == []
        assert await keys(other, "") == ["c"] and await keys(other, "nobody") == []
        assert [task.record for task in await other.page("me", "a", 9)] == [b"b"]


async def test_overdue_task_is_taken_once(opening: Opening) -> None:
    async with opening() as (one, other):
        await create(one, "never")
        await create(one, "gone", lease=0.0)
        await create(one, "alive", lease=3600.0)
        await create(one, "ended", lease=0.0)
        await replace(one, "ended", b"", 1, lease=None)
        takes = await asyncio.gather(*(store.take_overdue(3600, 10) for store in (one, other)))
        assert [(taken.key, taken.record, taken.version) for some in takes for taken in some] == [
            ("gone", b"new", 1)
        ]
        assert await other.take_overdue(3600, 10) == []


async def test_a_lease_is_renewed_and_no_version_changes(opening: Opening) -> None:
    async with opening() as (one, other):
        for key in ("1", "2", "3"):
            await create(one, key, lease=0.0)
        await create(one, "never")
        await other.renew(["1", "never", "unknown"], 3600)
        await other.renew([], 3600)
        assert await one.versions(["1", "never", "unknown"]) == {"1": 1, "never": 1}
        first, second = await one.take_overdue(3600, 1), await other.take_overdue(3600, 5)
        assert sorted(task.key for task in (*first, *second)) == ["2", "3"]
        # A task with a lease can be overdue again.
        await replace(one, "2", b"x", 1, lease=0.0)
        assert [record_and_version(found) for found in await other.take_overdue(3600, 5)] == [
            (b"x", 2)
        ]


async def test_many_are_renewed_and_looked_at_in_one_call(opening: Opening) -> None:
    async with opening() as (one, other):
        names = [f"{number:04}" for number in range(600)]
        await asyncio.gather(*(create(one, name, lease=0.0, most=600) for name in names[:300]))
        await one.renew(names, 3600)
        assert await other.versions(names) == dict.fromkeys(names[:300], 1)
        assert await other.take_overdue(10, 600) == []


# In memory.


async def test_memory_forgets_what_has_lapsed_without_being_asked_for_it() -> None:
    now = 1000.0
    store = MemoryTaskStore(lambda: now)
    for number in range(1000):
        await create(store, str(number), owner=str(number), ends_at=now + number)
    now += 990
    assert await store.get("unknown") is None
    members = {name: value for name, value in vars(store).items() if name != "clock"}
    assert [len(value) for value in members.values()] == [9, 9, 9]


async def test_memory_forgets_what_is_deleted_long_before_its_end() -> None:
    now = 1000.0
    store = MemoryTaskStore(lambda: now)
    for number in range(1000):
        await create(store, "stays", owner="stays", ends_at=now + 5)
        await create(store, str(number), owner=str(number), ends_at=now + 1e6)
        await store.delete(str(number))
    assert sum(len(value) for name, value in vars(store).items() if name != "clock") < 200
    now += 5
    assert await store.get("stays") is None


# In files.


async def test_files_outlive_the_store_and_are_for_their_user_alone(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "tasks"
    await create(FileTaskStore(folder), "key", b"kept", lease=0.0)
    store = FileTaskStore(folder)
    assert record_and_version(await store.get("key")) == (b"kept", 1)
    assert await keys(store, "me") == ["key"]
    assert [task.key for task in await store.take_overdue(10, 10)] == ["key"]
    if os.name == "posix":
        for path in (folder, *folder.rglob("*")):
            assert path.stat().st_mode & 0o777 == (0o700 if path.is_dir() else 0o600), path
    assert repr(store) == f"FileTaskStore({str(folder)!r})"


async def test_leftovers_of_killed_writer_are_removed(tmp_path: Path) -> None:
    store = FileTaskStore(tmp_path)
    await create(store, "key")
    (half,) = (tmp_path / "tasks").iterdir()
    left = half.with_name(f".{half.name}.abc")
    left.write_bytes(b"half")
    # A key without a task, too: the writer was killed in between.
    (owned,) = (tmp_path / "owners").iterdir()
    (owned / b"other".hex()).touch()
    assert await keys(store, "me") == ["key"]
    assert await create(store, "third", most=2)
    assert await store.take_overdue(10, 10) == []
    assert not left.exists()


async def test_a_file_that_is_no_task_is_none(tmp_path: Path) -> None:
    store = FileTaskStore(tmp_path)
    await create(store, "key")
    (file,) = (tmp_path / "tasks").iterdir()
    for content in (b"", b"{}\n", b"[1]\nx", b"\xff\n", json_text({"key": "key"})):
        file.write_bytes(content)
        assert await store.get("key") is None
        assert not await replace(store, "key", b"x", 1)


async def test_a_folder_that_cannot_be_used_is_an_engine_that_is_away(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = FileTaskStore(tmp_path / "file")
    with pytest.raises(EngineUnavailable):
        await create(store, "key")
    with pytest.raises(EngineUnavailable):
        await store.get("key")
