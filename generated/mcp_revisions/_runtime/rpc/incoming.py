"""Requests of the peer that are worked on: side by side, a bounded number, the others in turn.

A job runs in a task of its own, or in the task of whoever brought it and waits until it is done.
Either way it counts for the same limit, and can be cancelled.
"""

from asyncio import FIRST_COMPLETED, CancelledError, Task, current_task, get_running_loop, wait
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from logging import getLogger
from typing import Any, Final, TypeAlias

from ..core.errors import RequestId
from ..core.tasks import Signal, Tasks
from ..messages.parsed import Request
from .replies import Reply

_log: Final = getLogger(__name__)


class Job:
    """A request of the peer, and where its answer goes."""

    __slots__ = ("cancelled", "open", "reply", "request", "task")

    def __init__(self, request: Request[Any], reply: Reply) -> None:
        self.request = request
        self.reply = reply
        self.open = True
        """Whether there is still an answer to give."""
        self.cancelled = False
        """Whether its task was cancelled for it."""
        self.task: Task[Any] | None = None


Work: TypeAlias = Coroutine[Any, Any, None]

Serve: TypeAlias = Callable[[Job], Awaitable[Any]]
"""Gives the result of a request."""


class Jobs:
    """The jobs of one connection; `handle` is run for each, at most `limit` of them at a time.

    Long-lived requests, such as listen streams, do not count: they wait rather than work. `discard`
    gives the id back of a request that ends without an answer.
    """

    __slots__ = (
        "_beside",
        "_discard",
        "_handle",
        "_limit",
        "_room",
        "_tasks",
        "_turns",
        "running",
        "waiting",
        "working",
    )

    def __init__(
        self,
        handle: Callable[[Job], Work],
        discard: Callable[[RequestId], None],
        limit: int,
        tasks: Tasks,
    ) -> None:
        self._handle = handle
        self._discard = discard
        self._limit = limit
        self._tasks = tasks
        self._beside: set[Task[None]] | None = None
        # Seldom used and never long, and there may be many connections.
        self._turns: list[Job] = []
        self._room = Signal()
        self.running: set[Job] = set()
        self.working = 0
        """The number of jobs that run and count."""
        self.waiting = 0
        """The number of jobs that wait, and of other things to do before more should come."""

    @property
    def busy(self) -> bool:
        """Return whether as many jobs run as may."""
        return self.working >= self._limit

    def start(self, job: Job) -> None:
        """Run a job in a task of its own, now or in its turn."""
        if "long_lived" not in job.request.spec.traits:
            if self.working >= self._limit:
                self._turns.append(job)
                self.waiting += 1
                return
            self.working += 1
        self.running.add(job)
        job.task = self._tasks.start(self._handle(job), partial(self._end, job))

    async def run(self, job: Job, before: Work | None = None) -> None:
        """Run a job in the task of the caller, who goes on when it has ended or was cancelled.

        What is to be done `before` belongs to the job; its exceptions are the caller's.
        """
        task = job.task = current_task()
        assert task is not None
        self.working += "long_lived" not in job.request.spec.traits
        self.running.add(job)
        try:
            if before is not None:
                await before
            await self._handle(job)
        except CancelledError:
            if not job.cancelled or task.cancelling() > 1:
                self._discard(job.request.id)
                raise
            job.reply.skip()
        except BaseException:
            self._discard(job.request.id)
            raise
        finally:
            self._end(job)
            if job.cancelled:
                task.uncancel()

    def _end(self, job: Job, task: Task[None] | None = None) -> None:
        self.running.discard(job)
        self.working -= "long_lived" not in job.request.spec.traits
        if task is not None and task.cancelled():
            job.reply.skip()
        if self._turns and self.working < self._limit:
            self.waiting -= 1
            self.start(self._turns.pop(0))
            self._room.ring()

    def find(self, id: RequestId) -> Job | None:
        """Return the job of the request `id`, whether it runs or waits."""
        return next((job for job in (*self.running, *self._turns) if job.request.id == id), None)

    def cancel(self, job: Job) -> None:
        """Cancel a job, whether it runs or waits, unless it was answered."""
        if not job.open:
            return
        job.open = False
        if job in self.running and job.task is not None:
            job.cancelled = True
            job.task.cancel()
        elif job in self._turns:
            self._turns.remove(job)
            self.waiting -= 1
            job.reply.skip()
            self._room.ring()

    def run_beside(self, work: Awaitable[None], method: str) -> None:
        """Run the handler of a notification, `work`, beside the requests."""
        self._beside = set() if self._beside is None else self._beside
        self._beside.add(self._tasks.start(_notified(work, method), self._ended_beside))
        self.waiting += 1

    def _ended_beside(self, task: Task[None]) -> None:
        if self._beside is not None:
            self._beside.discard(task)
        self.waiting -= 1
        self._room.ring()

    @property
    def notification_tasks(self) -> frozenset[Task[None]]:
        """The tasks in which handlers of notifications run."""
        return frozenset(self._beside or ())

    async def room(self, limit: int, reading_helps: Callable[[], bool]) -> None:
        """Wait while `limit` jobs or more have to wait, unless only reading would let one end."""
        while self.waiting >= limit and not reading_helps():
            await self._room.heard()

    def wake(self) -> None:
        """Look again whether reading helps."""
        self._room.ring()

    async def close(self, within: float) -> list[Job]:
        """Wait for all jobs, at most `within` seconds, and return those that have not ended."""
        loop = get_running_loop()
        until = loop.time() + within
        while self.running and (left := until - loop.time()) > 0:
            tasks = [job.task for job in self.running if job.task is not None]
            await wait(tasks, timeout=left, return_when=FIRST_COMPLETED)
        unfinished = [*self.running, *self._turns]
        self.waiting -= len(self._turns)
        self._turns.clear()
        return unfinished


async def _notified(work: Awaitable[None], method: str) -> None:
    try:
        await work
    except Exception:
        _log.exception("the handler of %.100r failed", method)
