"""What runs the tasks of one application: it outlives the connections that asked for them.

Each task is kept before its work begins, so that whoever hears of it finds it. Tasks whose workers
are gone are run again if they may be; else they have failed.
"""

from asyncio import FIRST_COMPLETED, CancelledError, create_task, current_task, sleep, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import getLogger
from secrets import token_urlsafe
from typing import Final, TypeAlias

from ....core.tasks import Tasks
from ....storage.engine import EngineUnavailable
from .. import lifecycle
from ..board import TaskBoard, UnknownTask
from ..holding import Holding, LeaseLost
from ..lifecycle import Outcome, TaskEnded
from ..task import Task

Work: TypeAlias = Callable[[Task], Awaitable[Outcome]]
Stop: TypeAlias = Callable[[], object]
"""Ends work that has begun before its task."""

_log: Final = getLogger(__name__)

_SHUT_DOWN: Final = Outcome.failure("The server was shut down before the task ended")
_GONE: Final = Outcome.failure("The worker that ran the task is gone")

# How long a handler may take to be cancelled when its worker is shut down, in seconds.
_GRACE: Final = 1.0
# How long to wait until what could not be kept is tried again, in seconds.
_PAUSE: Final = 0.5


class TaskRunner:
    """Runs the tasks of one application in one worker; `again` those that another one has begun."""

    def __init__(self, board: TaskBoard, tasks: Tasks, again: Work) -> None:
        self.board: Final = board
        self.worker: Final = token_urlsafe(9)
        self._tasks = tasks
        self._again = again
        self._running = set[Running[None]]()
        self._sweeping: Running[None] | None = None

    async def start(self, task: Task, work: Work, stop: Stop | None = None) -> Task:
        """Keep a new task, and begin to work on it; `stop` is called if that cannot begin."""
        created = await self.board.create(task)
        self._begin(created, work, stop)
        return created

    def _begin(self, task: Task, work: Work, stop: Stop | None = None) -> None:
        running = self._tasks.start(self._run(task, work, stop))
        self._running.add(running)
        running.add_done_callback(self._running.discard)

    async def _run(self, task: Task, work: Work, stop: Stop | None) -> None:
        try:
            async with self.board.holding(task.id, self.worker) as holding:
                stop = None
                await self._work(holding, work)
        except (TaskEnded, UnknownTask):
            return
        except EngineUnavailable as error:
            _log.warning("a task is left to whoever finds it after its lease: %s", error)
        finally:
            if stop is not None:
                stop()

    async def _work(self, holding: Holding, work: Work) -> None:
        working = create_task(_outcome(work, holding.task))
        over = create_task(holding.over.wait())
        try:
            await wait([working, over], return_when=FIRST_COMPLETED)
            if not working.done():
                working.cancel()
                await wait([working])
        except CancelledError:
            # This worker is shut down.
            working.cancel()
            await wait([working], timeout=_GRACE)
            if not working.done() or working.cancelled():
                await self._let_go(holding)
                raise
        finally:
            over.cancel()
        await self._end(holding, None if working.cancelled() else working.result())

    async def _end(self, holding: Holding, outcome: Outcome | None) -> None:
        """Take the last step of a task; without an outcome, its work was cancelled."""
        now = self.board.clock()

        def step(task: Task) -> Task:
            return lifecycle.cancel(task, now) if outcome is None else outcome.of(task, now)

        # Somebody else may have ended it, or may run it by now.
        with suppress(TaskEnded, UnknownTask, LeaseLost):
            while True:
                try:
                    await holding.change(step)
                    return
                except EngineUnavailable as error:
                    # The lease is lost if that takes too long.
                    _log.warning("the end of a task could not be kept yet: %s", error)
                    await sleep(_PAUSE)

    async def _let_go(self, holding: Holding) -> None:
        if holding.task.cancel_asked:
            await self._end(holding, None)
        elif not holding.task.again:
            await self._end(holding, _SHUT_DOWN)

    def sweep(self) -> None:
        if self._sweeping is None:
            self._sweeping = self._tasks.start(self._sweep())

    async def _sweep(self) -> None:
        while True:
            try:
                async for task in self.board.orphans():
                    await self.adopt(task)
            except EngineUnavailable as error:
                _log.warning("nobody looks after tasks whose workers are gone: %s", error)
            except Exception:
                # What is wrong with one task must not leave all others without a worker.
                _log.exception("looking after tasks whose workers are gone failed")
            await sleep(self.board.options.lease / 2)

    async def adopt(self, task: Task) -> None:
        if task.again and not task.cancel_asked:
            self._begin(task, self._again)
            return
        with suppress(TaskEnded, UnknownTask):
            async with self.board.holding(task.id, self.worker) as holding:
                await self._end(holding, None if task.cancel_asked else _GONE)

    async def close(self, within: float) -> None:
        if self._sweeping is not None:
            self._sweeping.cancel()
        running = list(self._running)
        if running:
            _, left = await wait(running, timeout=within)
            for task in left:
                task.cancel()
            if left:
                await wait(left)


async def _outcome(work: Work, task: Task) -> Outcome:
    try:
        return await work(task)
    except CancelledError:
        running = current_task()
        if running is not None and running.cancelling():
            raise
        _log.error("the work of a task was cancelled by itself")
    except Exception:
        _log.exception("the work of a task failed")
    return Outcome.failure("Internal error")
