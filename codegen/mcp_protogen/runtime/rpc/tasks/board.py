"""The tasks of a server or client: created, found, changed one step at a time, and waited for.

Every change reads a task, takes one step of its lifecycle, and writes it if nobody else did
meanwhile; else it begins again. Whoever waits for a change in this process is told at once; what
another worker changes is found when `poll` seconds have passed, or `heard` says so.
"""

from asyncio import timeout
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from secrets import token_urlsafe
from time import time
from typing import Final, NamedTuple

from ...core.base64url import base64url
from ...core.errors import InvalidParams
from ...core.tasks import Signal
from ...sharing.engine import StoredTask, TaskStore
from .lifecycle import has_ended
from .options import TaskOptions
from .task import Form, Task, from_record, to_record

Step = Callable[[Task], Task]
"""One step of a lifecycle; it may raise `TaskEnded` or `ValueError`."""


class UnknownTask(Exception):
    """There is no such task, it has lapsed, or it is somebody else's."""


class TooManyTasks(Exception):
    """The principal has as many tasks as it may have."""


class TaskPage(NamedTuple):
    """Some tasks, and where the next page begins; None for the last one."""

    tasks: list[Task]
    cursor: str | None


def new_task_id() -> str:
    """Return an id that nobody can guess: 192 random bits."""
    return token_urlsafe(24)


class TaskBoard:
    """The tasks in a store, as one worker has them."""

    def __init__(
        self,
        store: TaskStore,
        options: TaskOptions,
        *,
        clock: Callable[[], float] = time,
        poll: float = 0.5,
    ) -> None:
        self.options: Final = options
        self.clock: Final = clock
        self._store = store
        self._poll = poll
        self._signals: dict[str, Signal] = {}

    async def create(self, task: Task) -> Task:
        """Keep a new task; when this returns, every worker finds it. Raise `TooManyTasks`."""
        created = await self._store.create(
            _key(task.id),
            to_record(task),
            owner=_owner(task.principal_id),
            ends_at=task.ends_at,
            due=task.due,
            most=self.options.max_tasks,
        )
        if not created:
            raise TooManyTasks
        return await self.find(task.id)

    async def get(self, id: str, form: Form, principal_id: str | None) -> Task:
        """Return a task for who asks; raise `UnknownTask`."""
        task = await self.find(id)
        if task.form != form or task.principal_id != principal_id:
            raise UnknownTask
        return task

    async def find(self, id: str) -> Task:
        """Return a task, whoever may see it; raise `UnknownTask`."""
        stored = await self._store.get(_key(id))
        if stored is None:
            raise UnknownTask
        return _read(stored)

    async def change(self, id: str, step: Step) -> Task:
        """Take a step of a task and return it changed; raise `UnknownTask`, and what `step` does.

        A step that changes nothing writes nothing.
        """
        while True:
            task = await self.find(id)
            changed = step(task)
            if changed == task:
                return task
            record, version = to_record(changed), task.version
            if await self._store.replace(
                _key(id), record, version=version, ends_at=changed.ends_at, due=changed.due
            ):
                self.heard(id)
                return from_record(record, version + 1)

    async def changed(self, task: Task) -> Task:
        """Wait until a task is not as `task` any more, and return it; raise `UnknownTask`."""
        while True:
            signal = self._signals.setdefault(task.id, Signal())
            found = await self.find(task.id)
            if found.version != task.version:
                return found
            with suppress(TimeoutError):
                async with timeout(self._poll):
                    await signal.heard()

    async def ended(self, task: Task) -> Task:
        """Wait until a task has ended, and return it; raise `UnknownTask`."""
        while not has_ended(task):
            task = await self.changed(task)
        return task

    def heard(self, id: str) -> None:
        """Tell those in this process who wait for a task that it may have changed."""
        signal = self._signals.pop(id, None)
        if signal is not None:
            signal.ring()

    async def page(self, principal_id: str | None, cursor: str | None, size: int) -> TaskPage:
        """Return a page of the tasks of a principal; raise `InvalidParams` for a bad cursor."""
        after = "" if cursor is None else cursor
        if cursor is not None and len(cursor) != _KEY_LENGTH:
            raise InvalidParams("Unknown cursor")
        found = await self._store.page(_owner(principal_id), after, size + 1)
        more = found[size - 1].key if len(found) > size else None
        return TaskPage([_read(one) for one in found[:size]], more)


def _key(id: str) -> str:
    return base64url(sha256(id.encode()).digest())


_KEY_LENGTH: Final = len(_key(""))


def _owner(principal_id: str | None) -> str:
    # Nobody is no principal, whatever principals are called.
    return "" if principal_id is None else _key(principal_id)


def _read(stored: StoredTask) -> Task:
    return from_record(stored.record, stored.version)
