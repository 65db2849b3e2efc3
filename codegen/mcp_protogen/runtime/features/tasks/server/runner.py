"""The runner of an application's tasks; it outlives the connections that requested them.

A task is stored before its work begins, so that the client can find it. Tasks whose workers are
gone run again if they may; otherwise they fail.
"""

from asyncio import FIRST_COMPLETED, CancelledError, create_task, sleep, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import getLogger
from secrets import token_urlsafe
from typing import Final, TypeAlias

from ....core.tasks import Tasks
from ....storage.engine import EngineUnavailable
from .. import lifecycle
from ..leases import LeaseLost, TaskLease
from ..lifecycle import Outcome, TaskEnded
from ..registry import TaskRegistry, UnknownTask
from ..task import Task

Work: TypeAlias = Callable[[Task], Awaitable[Outcome]]
Stop: TypeAlias = Callable[[], object]
"""Ends work that began before its task."""

_log: Final = getLogger(__name__)

_SHUT_DOWN: Final = Outcome.failure("The server shut down before the task ended")
_GONE: Final = Outcome.failure("The worker that ran the task is gone")

# Seconds for a cancelled handler at shutdown.
_GRACE: Final = 1.0
# Seconds before storing is tried again.
_PAUSE: Final = 0.5


class TaskRunner:
    """Runs tasks of one application in one worker; `again` runs those of other workers."""

    def __init__(self, registry: TaskRegistry, tasks: Tasks, again: Work) -> None:
        self.registry: Final = registry
        self.worker: Final = token_urlsafe(9)
        self._tasks = tasks
        self._again = again
        self._running = set[Running[None]]()
        self._sweeping: Running[None] | None = None

    async def start(self, task: Task, work: Work, stop: Stop | None = None) -> Task:
        """Store a new task and begin its work; call `stop` if it cannot begin."""
        created = await self.registry.create(task)
        self._begin(created, work, stop)
        return created

    def _begin(self, task: Task, work: Work, stop: Stop | None = None) -> None:
        running = self._tasks.start(self._run(task, work, stop))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _run(self, task: Task, work: Work, stop: Stop | None) -> None:
        try:
            async with self.registry.hold(task.id, self.worker) as lease:
                stop = None
                await self._work(lease, work)
        except (TaskEnded, UnknownTask):
            return
        except EngineUnavailable as error:
            _log.warning("a task was left to other workers after its lease: %s", error)
        finally:
            if stop is not None:
                stop()

    async def _work(self, lease: TaskLease, work: Work) -> None:
        working = create_task(_outcome(work, lease.task))
        over = create_task(lease.over.wait())
        try:
            await wait([working, over], return_when=FIRST_COMPLETED)
            if not working.done():
                working.cancel()
                await wait([working])
        except CancelledError:
            working.cancel()
            await wait([working], timeout=_GRACE)
            if not working.done() or working.cancelled():
                await self._let_go(lease)
                raise
        finally:
            over.cancel()
        await self._end(lease, None if working.cancelled() else working.result())

    async def _end(self, lease: TaskLease, outcome: Outcome | None) -> None:
        """Take the last step of a task; without an outcome, it was cancelled."""
        now = self.registry.clock()

        def step(task: Task) -> Task:
            return lifecycle.cancel(task, now) if outcome is None else outcome.of(task, now)

        with suppress(TaskEnded, UnknownTask, LeaseLost):
            while True:
                try:
                    await lease.change(step)
                    return
                except EngineUnavailable as error:
                    # If that takes too long, the lease is lost.
                    _log.warning("the end of a task could not be stored yet: %s", error)
                    await sleep(_PAUSE)

    async def _let_go(self, lease: TaskLease) -> None:
        if lease.task.cancel_asked:
            await self._end(lease, None)
        elif not lease.task.again:
            await self._end(lease, _SHUT_DOWN)

    def sweep(self) -> None:
        if self._sweeping is None:
            self._sweeping = self._tasks.start(self._sweep())

    async def _sweep(self) -> None:
        while True:
            try:
                async for task in self.registry.orphans():
                    await self.adopt(task)
            except EngineUnavailable as error:
                _log.warning("tasks without a worker cannot be resumed now: %s", error)
            except Exception:
                # An error of one task must not affect the others.
                _log.exception("resuming tasks without a worker failed")
            await sleep(self.registry.options.lease / 2)

    async def adopt(self, task: Task) -> None:
        if task.again and not task.cancel_asked:
            self._begin(task, self._again)
            return
        with suppress(TaskEnded, UnknownTask):
            async with self.registry.hold(task.id, self.worker) as lease:
                await self._end(lease, None if task.cancel_asked else _GONE)

    async def close(self, within: float) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        if self._running:
            _, left = await wait(self._running, timeout=within)
            for task in left:
                task.cancel()
            if left:
                await wait(left)


async def _outcome(work: Work, task: Task) -> Outcome:
    try:
        return await work(task)
    except Exception:
        _log.exception("the work of a task failed")
        return Outcome.failure("Internal error")
