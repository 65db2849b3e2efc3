"""The tasks of a server or client: create, find, change, and wait for them.

A change reads a task, applies a step, and writes it if no other was faster; otherwise it starts
again. The clock of the store decides when a task expires.
"""

from asyncio import create_task, sleep
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import dataclass, replace
from logging import getLogger
from math import inf
from re import compile
from secrets import token_urlsafe
from time import time
from typing import Any, Final, NamedTuple

from ...core.base64url import text_digest
from ...core.errors import INTERNAL_ERROR, InvalidParams, McpError
from ...core.throttle import Throttle
from ...rules.task_kinds import TaskKind
from ...storage.engine import EngineUnavailable, StoredTask, TaskStore
from ...storage.memory_tasks import MemoryTaskStore
from ...transports.base import wait_within
from .leases import LeaseLost, Leases, SharedLocks, Step, TaskLease, is_lock
from .lifecycle import TaskEnded, assign, fail_if_lapsed, has_ended
from .task import Task, from_record, to_record
from .watch import Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOptions:
    """The store of tasks, and their limits. Times are in seconds.

    Raise `ValueError` for a limit that is not positive and finite, and for a `ttl` above `max_ttl`.
    """

    store: TaskStore | None = None
    """The store; None for the one that workers share, or memory if they share none."""
    ttl: float = 3600.0
    """How long a task is kept after its creation, by default."""
    max_ttl: float = 86400.0
    """The longest time that a request may ask for."""
    poll_interval: float = 1.0
    """How long clients should wait before they ask again."""
    max_tasks: int = 1000
    """The most tasks at once per principal, or of all unknown callers."""
    lease: float = 10.0
    """The silence after which a worker counts as gone."""

    def __post_init__(self) -> None:
        for name in ("ttl", "max_ttl", "poll_interval", "max_tasks", "lease"):
            if not 0 < getattr(self, name) < inf:
                raise ValueError(f"{name} must be more than 0, and finite")
        if self.ttl > self.max_ttl:
            raise ValueError("ttl must not exceed max_ttl")


_log: Final = getLogger(__name__)

_ORPHANS_AT_ONCE: Final = 20
# The most seconds until a change by another worker is found.
_POLL: Final = 0.5
# Prevents busy waiting for a near end.
_SHORTEST_WAIT: Final = 0.01


class UnknownTask(InvalidParams):
    """The task is unknown, expired, or another principal's; the error does not tell which."""

    def __init__(self, pointer: str = "/params") -> None:
        super().__init__("Unknown task", [(pointer, "no such task, or it has expired")])


class TooManyTasks(McpError):
    """The principal has reached its limit of tasks."""

    def __init__(self, most: int) -> None:
        why = f"Too many tasks: {most} are kept at the same time, each for its ttl"
        super().__init__(INTERNAL_ERROR, why)


class _Read(NamedTuple):
    task: Task
    at: float

    @property
    def wait(self) -> float | None:
        """The seconds until it changes by time alone; None for never."""
        task = self.task
        end = task.kept_until if has_ended(task) else task.ends_at
        return None if end is None else max(end - self.at, _SHORTEST_WAIT)


def new_task_id() -> str:
    return token_urlsafe(24)


class TaskRegistry:
    """The tasks in a store, as one worker sees them; an application has one registry."""

    def __init__(self, store: TaskStore, options: TaskOptions) -> None:
        self.options: Final = options
        self.clock: Callable[[], float] = time
        """Returns the seconds since the epoch."""
        if isinstance(store, MemoryTaskStore):
            self.clock = store.clock
        self._store = store
        self._watch = Watch(store.versions, _POLL)
        self._leases = Leases(store.renew, options.lease)
        self._locks = SharedLocks(store, self._watch, self._leases)
        self._throttled = Throttle(__name__)

    def new(self, kind: TaskKind, revision: str, method: str, ttl: float, **members: Any) -> Task:
        now = self.clock()
        members |= {"created_at": now, "updated_at": now, "id": new_task_id()}
        members["poll_interval"] = self.options.poll_interval
        return Task(form=kind, revision=revision, method=method, ttl=ttl, **members)

    async def create(self, task: Task) -> Task:
        """Store a new task, with a first lease; raise `TooManyTasks`."""
        record = to_record(task)
        created = await self._store.create(
            text_digest(task.id),
            record,
            owner=_owner(task.principal_id),
            ends_at=task.kept_until,
            lease=self._lease(task),
            most=self.options.max_tasks,
        )
        owner = _name_principal(task.principal_id)
        if not created:
            self._throttled.warning("%s has reached max_tasks", owner)
            raise TooManyTasks(self.options.max_tasks)
        _log.info("task %.10s of %s was created", text_digest(task.id), owner)
        return from_record(record, 1)

    async def get(self, id: str, kind: TaskKind, principal_id: str | None) -> Task:
        """Return a task for its principal; raise `UnknownTask`."""
        task = await self.find(id)
        if task.principal_id != principal_id:
            owner, asker = map(_name_principal, (task.principal_id, principal_id))
            text = "task %.10s of %s was requested by another principal: %s"
            self._throttled.warning(text, text_digest(id), owner, asker)
            raise UnknownTask
        if task.form != kind:
            raise UnknownTask
        return task

    async def find(self, id: str) -> Task:
        """Return a task of any principal; raise `UnknownTask`."""
        return (await self._read(id)).task

    async def change(self, id: str, step: Step) -> Task:
        """Apply a step to a task; raise `UnknownTask`, and the errors of `step`."""
        while True:
            task = await self.find(id)
            changed = step(task)
            if changed == task:
                return task
            if (written := await self._replace(task, changed)) is not None:
                return written

    async def wait_for_change(self, task: Task) -> Task:
        """Wait until a task differs from `task`; return it; raise `UnknownTask`.

        Changes of its worker, lease and done work do not count.
        """
        before = _visible_state(task)
        return await self._wait_until(task.id, lambda found: _visible_state(found) != before)

    async def wait_for_end(self, task: Task) -> Task:
        """Wait until a task has ended; return it; raise `UnknownTask`."""
        return task if has_ended(task) else await self._wait_until(task.id, has_ended)

    async def page(
        self, principal_id: str | None, cursor: str | None, size: int
    ) -> tuple[list[Task], str | None]:
        """Return some tasks of a principal, and the cursor of the others; None without any."""
        if cursor is not None and not _KEY.fullmatch(cursor):
            raise InvalidParams("Unknown cursor")
        after, tasks = cursor or "", dict[str, Task]()
        while len(tasks) <= size:
            records = await self._store.page(_owner(principal_id), after, size + 1)
            listed = [(stored.key, _task(stored)) for stored in records]
            tasks |= {key: task for key, task in listed if task and task.form == "core"}
            if len(records) <= size:
                break
            after = records[-1].key
        keys = list(tasks)
        more = keys[size - 1] if len(keys) > size else None
        return [tasks[key] for key in keys[:size]], more

    def exclusive(self, task: Task, what: str) -> AbstractAsyncContextManager[None]:
        """Exclude other workers while doing something for a task; raise `EngineUnavailable`."""
        return self._locks.acquire(text_digest(f"{task.id} {what}"), task.kept_until)

    @asynccontextmanager
    async def hold(self, id: str, worker: str) -> "AsyncGenerator[TaskLease, None]":
        """Lease a task to `worker`, which runs it; raise `UnknownTask`, `TaskEnded`.

        If it has not ended afterwards, it becomes an orphan at once.
        """
        due = self.clock() + self.options.lease
        task = await self.change(id, lambda found: assign(found, worker, due))
        lease = TaskLease(task, worker, self.change)
        key = text_digest(id)
        self._leases.add(key, lease)
        watching = create_task(self._watch_lease(lease))
        try:
            yield lease
        finally:
            watching.cancel()
            self._leases.remove(key, lease)
            await self._give_back(lease)

    async def orphans(self) -> "AsyncGenerator[Task, None]":
        """Yield tasks whose workers are gone, each to one worker, with a lease."""
        while records := await self._store.take_overdue(self.options.lease, _ORPHANS_AT_ONCE):
            for stored in records:
                if self._leases.has(stored.key):
                    # This process stood still, and has just renewed its lease.
                    continue
                if is_lock(stored):
                    await self._store.delete(stored.key)
                    self._watch.wake(stored.key)
                    continue
                if (task := _task(stored)) is None:
                    continue
                with suppress(UnknownTask):
                    if not has_ended(task := await self.find(task.id)):
                        yield task

    async def _watch_lease(self, lease: TaskLease) -> None:
        try:
            lease.see(await self._wait_until(lease.task.id, lease.stops))
        except UnknownTask:
            lease.lose()

    async def _give_back(self, lease: TaskLease) -> None:
        # Ignore it if the task has ended, is gone, or has another worker.
        with suppress(TaskEnded, LeaseLost, UnknownTask, EngineUnavailable):
            while True:
                task = await self.find(lease.task.id)
                lease.check(task)
                if await self._replace(task, assign(task, None, None), lease=0.0) is not None:
                    return

    async def _wait_until(self, id: str, condition: Callable[[Task], bool]) -> Task:
        with self._watch.add_waiter(text_digest(id)) as waiter:
            while True:
                waiter.rung.clear()
                try:
                    read = await self._read(id)
                except EngineUnavailable:
                    # Waiting for a change includes waiting for the store.
                    await sleep(_POLL)
                    continue
                if condition(read.task):
                    return read.task
                waiter.version = read.task.version
                await wait_within(read.wait, waiter.rung.wait())

    async def _read(self, id: str) -> _Read:
        while True:
            stored = await self._store.get(text_digest(id))
            if stored is None or (task := _task(stored)) is None:
                raise UnknownTask
            current = fail_if_lapsed(task, stored.at)
            if current is task:
                return _Read(task, stored.at)
            if (written := await self._replace(task, current)) is not None:
                return _Read(written, stored.at)

    async def _replace(self, task: Task, new: Task, *, lease: float | None = None) -> Task | None:
        key, record = text_digest(task.id), to_record(new)
        if not await self._store.replace(
            key,
            record,
            version=task.version,
            ends_at=new.kept_until,
            lease=self._lease(new) if lease is None else lease,
        ):
            return None
        self._watch.wake(key)
        if new.status != task.status:
            owner = _name_principal(task.principal_id)
            _log.info("task %.10s of %s is %s", key, owner, new.status)
        return from_record(record, task.version + 1)

    def _lease(self, task: Task) -> float | None:
        # Only workers that are gone may lose a lease.
        return None if has_ended(task) else self.options.lease


_KEY: Final = compile(r"[A-Za-z0-9_-]{43}")


def _owner(principal_id: str | None) -> str:
    # "" is not a valid key, so it cannot be a principal's.
    return "" if principal_id is None else text_digest(principal_id)


def _visible_state(task: Task) -> Task:
    return replace(task, done={}, worker=None, due=None, version=0)


def _name_principal(principal_id: str | None) -> str:
    return "an unknown principal" if principal_id is None else f"{principal_id!r:.100}"


def _task(stored: StoredTask) -> Task | None:
    try:
        return from_record(stored.record, stored.version)
    except (ValueError, TypeError, KeyError):
        # Its content may be private.
        _log.error("the record %s is not a task", stored.key)
        return None
