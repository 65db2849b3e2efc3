"""Requests of the peer: handled side by side, a bounded number of them, the others in turn."""

from asyncio import FIRST_COMPLETED, Event, Task, get_running_loop, wait
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

from .dispatch import Request
from .errors import RequestId
from .outbox import Outbox
from .tasks import Tasks


class Reply(Protocol):
    """Where the answer to one request goes."""

    async def send(self, data: bytes, /) -> None:
        """Take the answer; raises `Disconnected`."""
        ...

    def skip(self) -> None:
        """There will be no answer."""
        ...


class Job(NamedTuple):
    """A request to handle, its params as they came, and where its answer goes."""

    request: Request[Any]
    raw: Mapping[str, Any]
    reply: Reply


class Alone:
    """The way back for a request that came by itself.

    The only answer there is to give goes out at once; of many, those that are ready at the same
    time go out together.
    """

    __slots__ = ("_jobs", "_outbox")

    def __init__(self, outbox: Outbox, jobs: "Jobs") -> None:
        self._outbox = outbox
        self._jobs = jobs

    async def send(self, data: bytes, /) -> None:
        """Send the answer; raises `Disconnected`."""
        if self._jobs.working == 1:
            await self._outbox.send_now(data)
        else:
            await self._outbox.send(data)

    def skip(self) -> None:
        """Nothing has to be known about an answer that does not come."""


class Batch:
    """The way back for the members of a batch: one array, once all answers are there.

    JSON-RPC 2.0, section 6. If no member is to be answered, nothing is sent.
    """

    __slots__ = ("_answers", "_missing", "_outbox")

    def __init__(self, outbox: Outbox, size: int) -> None:
        self._outbox = outbox
        self._missing = size
        self._answers: list[bytes] = []

    async def send(self, data: bytes) -> None:
        """Keep an answer, or send all of them if it is the last one."""
        self._answers.append(data)
        self._missing -= 1
        if not self._missing:
            await self._outbox.send(b"[%b]" % b",".join(self._answers))

    def skip(self) -> None:
        """One answer less to wait for."""
        self._missing -= 1
        if not self._missing and self._answers:
            self._outbox.put(b"[%b]" % b",".join(self._answers))


class Jobs:
    """Runs `handle` for each job as a task of its own, at most `max_running` of them at a time.

    Long-lived requests, such as listen streams, do not count: they wait rather than work.
    """

    __slots__ = (
        "_beside",
        "_handle",
        "_max_running",
        "_room",
        "_running",
        "_tasks",
        "_waiting",
        "_working",
    )

    def __init__(
        self, handle: Callable[[Job], Coroutine[Any, Any, None]], max_running: int, tasks: Tasks
    ) -> None:
        self._handle = handle
        self._max_running = max_running
        self._tasks = tasks
        self._running: dict[RequestId, Task[None]] = {}
        self._working = 0
        self._beside = 0
        self._waiting: deque[Job] = deque()
        self._room = Event()

    @property
    def working(self) -> int:
        """How many are worked on."""
        return self._working

    @property
    def waiting(self) -> int:
        """How many wait for their turn, and what else is to be done before more should come."""
        return len(self._waiting) + self._beside

    def start(self, job: Job) -> None:
        """Handle a job, now or in its turn."""
        counts = "long_lived" not in job.request.spec.traits
        if counts and self._working >= self._max_running:
            self._waiting.append(job)
            return
        self._working += counts
        ended = partial(self._ended, job, counts)
        self._running[job.request.id] = self._tasks.start(self._handle(job), ended)

    def _ended(self, job: Job, counts: bool, task: Task[None]) -> None:
        del self._running[job.request.id]
        self._working -= counts
        if task.cancelled():
            job.reply.skip()
        self._room.set()
        if self._waiting and self._working < self._max_running:
            self.start(self._waiting.popleft())

    def beside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do what belongs to no request, such as heeding a notification."""
        self._beside += 1
        self._tasks.start(work, self._one_less)

    def _one_less(self, _: Task[None]) -> None:
        self._beside -= 1
        self._room.set()

    def stop(self, id: RequestId) -> None:
        """Cancel the job of the request `id`, whether it runs or waits."""
        task = self._running.get(id)
        if task is not None:
            task.cancel()
            return
        for job in self._waiting:
            if job.request.id == id:
                self._waiting.remove(job)
                job.reply.skip()
                break
        self._room.set()

    async def room(self, limit: int, reading_helps: Callable[[], bool]) -> None:
        """Wait while `limit` jobs or more have to wait, unless only reading would let one end."""
        while self.waiting >= limit and not reading_helps():
            self._room.clear()
            await self._room.wait()

    def wake(self) -> None:
        """Look again whether reading helps."""
        self._room.set()

    async def finish(self, within: float) -> list[RequestId]:
        """Wait for all jobs, at most `within` seconds; the ids of those that have not ended."""
        loop = get_running_loop()
        until = loop.time() + within
        while self._running and (left := until - loop.time()) > 0:
            await wait(self._running.values(), timeout=left, return_when=FIRST_COMPLETED)
        unfinished = [*self._running, *(job.request.id for job in self._waiting)]
        self._waiting.clear()
        return unfinished
