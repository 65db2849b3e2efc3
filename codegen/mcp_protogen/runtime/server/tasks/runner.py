"""What runs the tasks of one application: it outlives the connections that asked for them.

Each task is kept before its work begins, so that whoever hears of it finds it. While the work runs,
its worker says from time to time that it is still there, and watches for somebody who wants it to
end.
"""

from asyncio import CancelledError, create_task, current_task, sleep, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable
from contextlib import suppress
from logging import getLogger
from secrets import token_urlsafe
from typing import Final, TypeAlias

from ...core.tasks import Tasks
from ...rpc.tasks import lifecycle
from ...rpc.tasks.board import TaskBoard, UnknownTask
from ...rpc.tasks.lifecycle import TaskEnded, has_ended
from ...rpc.tasks.task import Task
from ...sharing.engine import EngineUnavailable
from .outcome import Outcome
from .outstanding import OutstandingQuestions

Work: TypeAlias = Callable[[Task], Awaitable[Outcome]]
"""The work of a task; cancelling ends it."""

_log: Final = getLogger(__name__)

# So that one that is late, or lost, does no harm.
_BEATS: Final = 3


class TaskRunner:
    """Runs the tasks of one application in one worker."""

    def __init__(self, board: TaskBoard, tasks: Tasks) -> None:
        self.board: Final = board
        self.worker: Final = token_urlsafe(9)
        """The name of this worker, which no other one has."""
        self.questions: Final = OutstandingQuestions()
        """Those that go to clients as requests."""
        self._tasks = tasks
        self._running: dict[Running[None], str] = {}
        self._closing = False

    async def start(self, task: Task, work: Work) -> Task:
        """Keep a new task, and begin to work on it; raise `TooManyTasks`."""
        task = await self.board.create(lifecycle.held(task, self.worker, self._due()))
        self.run(task, work)
        return task

    def run(self, task: Task, work: Work) -> None:
        """Work on a task that this worker holds."""
        running = self._tasks.start(self._run(task, work))
        self._running[running] = task.id
        running.add_done_callback(lambda done: self._running.pop(done, None))

    def _due(self) -> float:
        return self.board.clock() + self.board.options.lease

    async def _run(self, task: Task, work: Work) -> None:
        working = create_task(_outcome(work, task))
        beside = [create_task(self._hold(task)), create_task(self._watch(task, working))]
        try:
            await wait([working])
        except CancelledError:
            # This worker is shut down.
            working.cancel()
            await wait([working])
            if working.cancelled():
                await self._let_go(task)
                raise
        finally:
            for one in beside:
                one.cancel()
        if working.cancelled():
            await self._end(task, None)
        else:
            await self._end(task, working.result())

    async def _end(self, task: Task, outcome: Outcome | None) -> None:
        """Take the last step of a task; without an outcome, its work was cancelled."""
        now = self.board.clock()

        def step(task: Task) -> Task:
            return lifecycle.cancelled(task, now) if outcome is None else outcome.of(task, now)

        await self._change(task, step)

    async def _let_go(self, task: Task) -> None:
        """Leave a task to other workers, if it may be run again; else it has failed."""
        now = self.board.clock()

        def step(task: Task) -> Task:
            if task.cancel_asked:
                return lifecycle.cancelled(task, now)
            if task.again:
                return lifecycle.held(task, None, now)
            return Outcome.failure("The server was shut down before the task ended").of(task, now)

        await self._change(task, step)

    async def _change(self, task: Task, step: Callable[[Task], Task]) -> None:
        # Somebody else may have ended it, and it may have lapsed.
        with suppress(TaskEnded, UnknownTask):
            try:
                await self.board.change(task.id, step)
            except EngineUnavailable as error:
                _log.error("the end of a task was not kept: %s", error)

    async def _hold(self, task: Task) -> None:
        """Say from time to time that this worker is still there."""
        while True:
            await sleep(self.board.options.lease / _BEATS)
            try:
                await self.board.change(
                    task.id, lambda task: lifecycle.held(task, self.worker, self._due())
                )
            except EngineUnavailable as error:
                _log.warning("a worker cannot say that it works on a task: %s", error)
            except (TaskEnded, UnknownTask):
                return

    async def _watch(self, task: Task, working: Running[Outcome]) -> None:
        """End the work of a task when somebody wants that, or the task is not there any more."""
        while not (task.cancel_asked or has_ended(task)):
            try:
                task = await self.board.changed(task)
            except UnknownTask:
                break
            except EngineUnavailable as error:
                _log.warning("a worker does not hear of changes of a task: %s", error)
                await sleep(1)
        working.cancel()

    async def close(self, within: float) -> None:
        """Wait for `within` seconds until all work has ended, then end it."""
        self._closing = True
        running = list(self._running)
        if running:
            _, left = await wait(running, timeout=within)
            for one in left:
                one.cancel()
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
