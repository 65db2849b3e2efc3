"""Registries of tasks: waiting, leases, orphans, limits, and clocks that are wrong.

Time is that of a loop that skips it, for registries and stores.
"""

import asyncio
import json
import time
from asyncio import create_task, get_running_loop, sleep
from base64 import urlsafe_b64decode
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from functools import partial
from operator import attrgetter
from pathlib import Path

import pytest
from mcp_protogen.runtime.core.errors import InvalidParams
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.features.tasks.leases import LeaseLost, Step
from mcp_protogen.runtime.features.tasks.lifecycle import (
    TaskEnded,
    add_answers,
    add_questions,
    assign,
    cancel,
    cancel_asked,
    complete,
)
from mcp_protogen.runtime.features.tasks.registry import (
    TaskOptions,
    TaskRegistry,
    TooManyTasks,
    UnknownTask,
    new_task_id,
)
from mcp_protogen.runtime.features.tasks.task import LAPSED_FOR, Status, Task
from mcp_protogen.runtime.storage import memory_tasks
from mcp_protogen.runtime.storage.engine import EngineUnavailable, StoredTask, TaskStore
from mcp_protogen.runtime.storage.memory_tasks import MemoryTaskStore, steady_time
from mcp_protogen.runtime.storage.task_files import FileTaskStore
from support import tables
from support.sharing.task_stores import a_task

pytestmark = pytest.mark.skips_time(within=1e6)

LEASE = 10.0


def now() -> float:
    return get_running_loop().time()


class Store(MemoryTaskStore):
    """A store in memory that is away for a while, and says how often it was looked at."""

    def __init__(self) -> None:
        super().__init__(now)
        self.away = False
        self.looks = 0

    async def versions(self, keys: Collection[str]) -> Mapping[str, int]:
        self.looks += 1
        self.check()
        return await super().versions(keys)

    async def renew(self, keys: Collection[str], lease: float) -> None:
        self.check()
        await super().renew(keys, lease)

    def check(self) -> None:
        if self.away:
            raise EngineUnavailable


def registry_of(
    store: TaskStore, clock: Callable[[], float] = now, *, max_tasks: int = 1000
) -> TaskRegistry:
    registry = TaskRegistry(store, TaskOptions(lease=LEASE, max_tasks=max_tasks))
    registry.clock = clock
    return registry


def count_watched(registry: TaskRegistry) -> tuple[int, int]:
    """Return how many tasks are awaited, and how many are watched."""
    watched, keys = attrgetter("_watch._watched", "_watch._timers._keys")(registry)
    return len(watched), len(keys)


def leases_held(registry: TaskRegistry) -> Mapping[str, object]:
    """Return the leases that a registry renews, by key."""
    held: Mapping[str, object] = attrgetter("_leases._held")(registry)
    return held


def complete_task(task: Task) -> Task:
    return complete(task, {"done": True}, now())


async def test_a_change_between_reading_and_waiting_is_not_missed() -> None:
    store = Store()
    registry = registry_of(store)
    task = await registry.create(a_task())
    get = store.get

    async def slow_get(key: str) -> object:
        found = await get(key)
        # Its data is old when it arrives.
        store.get = get  # type: ignore[method-assign]
        await registry.change("task", complete_task)
        return found

    store.get = slow_get  # type: ignore[method-assign, assignment]
    before = now()
    assert (await registry.wait_for_change(task)).status is Status.COMPLETED
    assert now() == before


async def test_a_change_of_another_worker_is_found_soon_and_less_and_less_is_asked() -> None:
    store = Store()
    one, other = registry_of(store), registry_of(store)
    task = await one.create(a_task())
    waiter = create_task(one.wait_for_end(task))
    await sleep(600)
    # Twice a second, and a few times more at first.
    assert store.looks <= 1210
    before = now()
    await other.change("task", complete_task)
    assert (await waiter).status is Status.COMPLETED
    assert now() - before <= 0.5


async def test_whoever_waits_for_a_change_waits_for_a_store_that_is_away() -> None:
    class Away(Store):
        async def get(self, key: str) -> StoredTask | None:
            self.check()
            return await super().get(key)

    store = Away()
    registry = registry_of(store)
    task = await registry.create(a_task())
    changed, ended = create_task(registry.wait_for_change(task)), create_task(
        registry.wait_for_end(task)
    )
    await sleep(1)
    await registry.change("task", complete_task)
    store.away = True
    await sleep(LEASE)
    assert not changed.done() and not ended.done()
    store.away = False
    assert (await changed).status is (await ended).status is Status.COMPLETED


async def test_waiters_that_are_gone_take_no_memory() -> None:
    store = Store()
    registry = registry_of(store, max_tasks=100)
    tasks = [await registry.create(a_task(str(number))) for number in range(100)]
    waiters = [create_task(registry.wait_for_end(task)) for task in tasks * 3]
    await sleep(1)
    for waiter in waiters:
        waiter.cancel()
    await asyncio.gather(*waiters, return_exceptions=True)
    looks = store.looks
    await sleep(100)
    assert store.looks == looks
    assert count_watched(registry) == (0, 0)


async def test_ten_thousand_tasks_wait_and_run_at_once() -> None:
    store, number = Store(), 10_000
    registry, other = (registry_of(store, max_tasks=number) for _ in range(2))
    tasks = [await registry.create(a_task(str(i), ttl=None)) for i in range(number)]
    waiters = [create_task(registry.wait_for_end(task)) for task in tasks]
    for i, task in enumerate(tasks):
        # Some of them at another worker.
        await (registry, other)[i % 2].change(task.id, complete_task)
        if i % 100 == 0:
            await sleep(0.01)
    ended = await asyncio.gather(*waiters)
    assert {task.status for task in ended} == {Status.COMPLETED}
    assert count_watched(registry) == (0, 0)


async def test_worker_of_task_learns_that_it_must_stop() -> None:
    def cancel_task(task: Task) -> Task:
        return cancel(task, now())

    def ask(task: Task) -> Task:
        return cancel_asked(task, now())

    def take(task: Task) -> Task:
        return assign(task, "thief", now() + LEASE)

    async def script(step: Step, own: bool, lost: bool, error: type[Exception] | None) -> None:
        store = Store()
        registry = registry_of(store)
        other = registry if own else registry_of(store)
        await registry.create(a_task())
        async with registry.hold("task", "worker") as lease:
            await sleep(LEASE)
            await other.change("task", step)
            await lease.over.wait()
            assert lease.lost is lost
            with pytest.raises(error) if error else nullcontext():
                await lease.change(complete_task)
        assert (await registry.find("task")).worker == ("thief" if lost else None)

    for name, step, lost, error in (
        ("ended", cancel_task, False, TaskEnded),
        ("asked to cancel", ask, False, None),
        ("taken over", take, True, LeaseLost),
    ):
        for own in (True, False):
            with tables.case(f"{name} by {'itself' if own else 'another worker'}"):
                await script(step, own, lost, error)


async def test_a_lease_that_cannot_be_renewed_is_lost_in_its_time() -> None:
    store = Store()
    registry = registry_of(store)
    await registry.create(a_task())
    async with registry.hold("task", "worker") as lease:
        store.away = True
        await sleep(LEASE * 2 / 3)
        assert not lease.over.is_set()
        await asyncio.wait_for(lease.over.wait(), LEASE)
        assert lease.lost
        store.away = False
        (orphan,) = [task async for task in registry_of(store).orphans()]
        assert orphan.id == "task"
        with pytest.raises(LeaseLost):
            await lease.change(complete_task)
        # The same worker may take it over while its old handler still ends.
        async with registry.hold("task", "worker") as again:
            assert (await again.change(complete_task)).status is Status.COMPLETED


async def test_an_orphan_is_taken_over_by_exactly_one_worker() -> None:
    store = Store()
    registries = [registry_of(store) for _ in range(5)]
    names = [str(number) for number in range(50)]
    for name in names:
        # Its worker dies before it has the lease.
        await registries[0].create(a_task(name))
    await sleep(LEASE / 2)
    assert [task async for task in registries[0].orphans()] == []
    await sleep(LEASE)

    async def take_orphans(registry: TaskRegistry, worker: str) -> list[str]:
        found = list[str]()
        async for orphan in registry.orphans():
            async with registry.hold(orphan.id, worker) as lease:
                await sleep(0.1)
                await lease.change(complete_task)
            found.append(orphan.id)
        return found

    takes = await asyncio.gather(
        *(take_orphans(registry, str(i)) for i, registry in enumerate(registries))
    )
    assert sorted(id for some in takes for id in some) == sorted(names)
    await sleep(2 * LEASE)
    assert [task async for task in registries[0].orphans()] == []


async def test_released_task_is_orphan_at_once() -> None:
    store = Store()
    registry = registry_of(store)
    await registry.create(a_task())
    async with registry.hold("task", "worker"):
        pass
    for expected in (["task"], []):
        assert [task.id async for task in registry_of(store).orphans()] == expected


async def test_a_worker_that_stood_still_does_not_find_its_own_tasks_as_orphans() -> None:
    store, stood_still = Store(), 0.0
    vars(store)["clock"] = lambda: now() + stood_still
    registry = registry_of(store)
    task = await registry.create(a_task())
    async with registry.exclusive(task, "asking"), registry.hold("task", "worker") as lease:
        stood_still = LEASE * 2
        assert [task async for task in registry.orphans()] == []
        # By that, it has them still.
        assert [task async for task in registry_of(store).orphans()] == []
        assert len(vars(store)["_kept"]) == 2
        assert (await lease.change(complete_task)).status is Status.COMPLETED


@pytest.mark.shows("TC-07", "TC-20", "TX-22")
def test_ids_of_tasks_cannot_be_guessed_and_none_comes_twice() -> None:
    ids = {new_task_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert {len(urlsafe_b64decode(id)) for id in ids} == {24}, "192 bits"
    for place in range(32):
        assert len({id[place] for id in ids}) > 32, "each of them random"


@pytest.mark.shows("TX-20", "TX-21")
async def test_an_extension_task_that_lapses_fails_and_is_deleted_later() -> None:
    registry = registry_of(Store())
    task = await registry.create(a_task(ttl=30.0))
    waiter = create_task(registry.wait_for_end(task))
    async with registry.hold("task", "worker") as lease:
        await sleep(29.9)
        assert not waiter.done() and not lease.over.is_set()
        failed = await waiter
        assert failed.status is Status.FAILED and failed.error is not None
        assert failed.error["code"] == -32603
        assert failed.updated_at == pytest.approx(30, abs=0.1)
        await lease.over.wait()
    assert await registry.find("task") == failed
    with pytest.raises(UnknownTask):
        await registry.wait_for_change(failed)
    assert now() == pytest.approx(30 + LAPSED_FOR, abs=0.1)


@pytest.mark.shows("TC-11", "TC-21")
async def test_a_core_task_that_lapses_is_gone() -> None:
    registry = registry_of(Store())
    task = await registry.create(a_task(form="core", ttl=30.0))
    async with registry.hold("task", "worker") as lease:
        with pytest.raises(UnknownTask):
            await registry.wait_for_end(task)
        assert now() == pytest.approx(30, abs=0.1)
        await lease.over.wait()
        assert lease.lost


async def test_a_worker_whose_clock_jumps_neither_ends_tasks_nor_takes_them() -> None:
    store = Store()
    jump = [0.0]
    registry, jumping = registry_of(store), registry_of(store, lambda: now() + jump[0])

    def key() -> dict[str, JSONObject]:
        return {str(jump[0]): {}}

    await registry.create(a_task(ttl=3600.0))
    async with registry.hold("task", "worker") as lease:
        for jump[0] in (1e6, -1e6):
            assert [task async for task in jumping.orphans()] == []
            assert (await jumping.find("task")).status is Status.WORKING
            before = await registry.find("task")
            await jumping.change("task", lambda one: add_questions(one, key(), jumping.clock()))
            changed = await jumping.change(
                "task", lambda one: add_answers(one, key(), jumping.clock())
            )
            assert changed.updated_at >= before.updated_at
            await sleep(LEASE)
        assert not lease.over.is_set()
    # A task of a worker with a wrong clock still becomes an orphan in time.
    async with jumping.hold("task", "other"):
        await sleep(LEASE * 2)
        assert [task async for task in registry.orphans()] == []


def test_store_clock_of_single_process_is_monotonic(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    limits = TaskOptions()
    memory = MemoryTaskStore()
    assert TaskRegistry(memory, limits).clock is memory.clock is steady_time
    assert TaskRegistry(MemoryTaskStore(now), limits).clock is now
    assert TaskRegistry(FileTaskStore(tmp_path), limits).clock is time.time
    before = steady_time()
    monkeypatch.setattr(memory_tasks, "time", lambda: before + 1e6)
    assert 0 <= steady_time() - before < 3600


def test_limits_of_tasks_have_these_defaults() -> None:
    given = TaskOptions(ttl=3600, max_ttl=86_400, poll_interval=1, max_tasks=1000, lease=10)
    assert TaskOptions() == given


@pytest.mark.shows("TC-20", "TC-21", "TX-22")
async def test_a_principal_has_as_many_tasks_as_it_may_and_sees_no_others() -> None:
    registry = registry_of(Store(), max_tasks=2)
    for who in ("a", "b", None, ""):
        for number in range(2):
            await registry.create(a_task(f"{who!r} {number}", principal_id=who, form="core"))
        with pytest.raises(TooManyTasks):
            await registry.create(a_task(f"{who!r} more", principal_id=who))
    assert (await registry.get("'a' 0", "core", "a")).id == "'a' 0"
    refused = list[UnknownTask]()
    for id, kind, who in (
        ("unknown", "core", "a"),
        ("'a' 0", "core", "b"),
        ("'a' 0", "core", None),
        ("'a' 0", "extension", "a"),
        ("\ud800", "core", "a"),
    ):
        with pytest.raises(UnknownTask) as one:
            await registry.get(id, "core" if kind == "core" else "extension", who)
        refused.append(one.value)
    assert len({str(error) for error in refused}) == 1
    found, _ = await registry.page("a", None, 10)
    assert sorted(task.id for task in found) == ["'a' 0", "'a' 1"]


@pytest.mark.shows("TC-16")
async def test_pages_have_the_tasks_that_can_be_listed_each_once() -> None:
    registry = registry_of(Store(), max_tasks=1000)
    kinds = {new_task_id(): "core" if number % 3 else "extension" for number in range(100)}
    for id, kind in kinds.items():
        await registry.create(a_task(id, form=kind, principal_id="me"))
    for size in (1, 7, 66, 67, 100):
        listed, cursor = list[str](), None
        while True:
            tasks, cursor = await registry.page("me", cursor, size)
            assert 0 < len(tasks) <= size
            listed += [task.id for task in tasks]
            if cursor is None:
                break
        assert sorted(listed) == sorted(id for id, kind in kinds.items() if kind == "core")
    for cursor in ("", "x", "x" * 42 + "\0", "x" * 44):
        with pytest.raises(InvalidParams):
            await registry.page("me", cursor, 10)


async def test_steps_of_several_workers_at_once_are_all_taken() -> None:
    class Slow(Store):
        async def get(self, key: str) -> StoredTask | None:
            found = await super().get(key)
            await sleep(0)
            return found

    store = Slow()
    await registry_of(store).create(a_task())
    steps = [partial(add_questions, questions={str(n): {}}, now=now()) for n in range(9)]
    await asyncio.gather(*(registry_of(store).change("task", step) for step in steps))
    assert len((await registry_of(store).find("task")).questions) == 9


async def test_of_all_workers_one_at_a_time_does_what_is_done_alone() -> None:
    store = Store()
    registries = [registry_of(store) for _ in range(3)]
    task = await registries[0].create(a_task())
    inside, most, times = 0, 0, 0

    async def do(registry: TaskRegistry) -> None:
        nonlocal inside, most, times
        async with registry.exclusive(task, "asking"):
            inside += 1
            most = max(most, inside)
            await sleep(LEASE * 3)
            inside -= 1
            times += 1

    async with registries[0].exclusive(task, "something else"):
        await asyncio.gather(*(do(registry) for registry in registries * 2))
    assert (most, times) == (1, 6)
    assert await registries[0].find("task") == task
    for registry in registries:
        assert count_watched(registry) == (0, 0) and not leases_held(registry)
    assert len(vars(store)["_kept"]) == 1


async def test_whoever_is_not_heard_of_does_nothing_alone_any_more() -> None:
    store, gone = Store(), Store()
    vars(gone).update(_kept=vars(store)["_kept"], _owned=vars(store)["_owned"])
    registry, other = registry_of(store), registry_of(gone)
    task = await registry.create(
        a_task(),
    )
    lost, taken = asyncio.Event(), asyncio.Event()

    async def do(registry: TaskRegistry, until: asyncio.Event) -> None:
        async with registry.exclusive(task, "asking"):
            taken.set()
            await until.wait()

    first = create_task(do(other, lost))
    await taken.wait()
    taken.clear()
    gone.away = True
    second = create_task(do(registry, asyncio.Event()))
    await sleep(LEASE)
    assert not taken.is_set()
    async with registry.hold("task", "worker"):
        assert [task async for task in registry.orphans()] == []
        await sleep(1)
        assert taken.is_set()
        # It does not end a task that it no longer owns.
        gone.away = False
        lost.set()
        await first
        await sleep(LEASE)
        third = create_task(do(other, lost))
        taken.clear()
        await sleep(LEASE)
        assert not taken.is_set()
        second.cancel()
        await third


async def test_a_record_that_is_no_task_is_unknown_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = Store()
    registry = registry_of(store)
    await registry.create(a_task())
    kept = vars(store)["_kept"]["".join(vars(store)["_kept"])]
    whole = json.loads(kept.record)
    others = [{**whole, name: 1 if name == "scopes" else [1]} for name in whole]
    texts = [json.dumps(record_value).encode() for record_value in others]
    for record in (b"secret", b"[]", b"{}", b'{"status": "lost"}', *texts):
        kept.record = record
        with pytest.raises(UnknownTask):
            await registry.find("task")
    kept.due = 0.0
    assert [task async for task in registry.orphans()] == []
    assert "is not a task" in caplog.text and "secret" not in caplog.text
