"""Requests of the peer: handled side by side, a bounded number of them, the others in turn."""

from asyncio import FIRST_COMPLETED, Task, current_task, get_running_loop, wait
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from logging import getLogger
from typing import Any, Final, NamedTuple, Protocol

from .connection import Connection
from .dispatch import Request
from .errors import RequestId
from .outbox import MessageSink, Outbox
from .tasks import Bell, Tasks

_log: Final = getLogger(__name__)


class Reply(Protocol):
    """Where the answer to one request goes."""

    @property
    def beside(self) -> MessageSink:
        """Where that goes which belongs to the request and comes before its answer."""
        ...

    @property
    def principal(self) -> str | None:
        """Who made the request, where this differs from request to request."""
        ...

    def awaits(self, id: RequestId, /) -> bool:
        """Whether the peer still waits for the answer."""
        ...

    async def answer(self, data: bytes, code: int | None, /) -> None:
        """Take the answer, an error if it has a `code`; raises `Disconnected`."""
        ...

    def skip(self) -> None:
        """There will be no answer."""
        ...

    async def release(self) -> None:
        """Let go of the connection, where the answer can be had over another one later."""
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

    __slots__ = ("_jobs", "awaits", "beside")

    principal: str | None = None

    def __init__(self, connection: Connection, outbox: MessageSink, jobs: "Jobs") -> None:
        self.awaits = connection.is_open
        self.beside = outbox
        self._jobs = jobs

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """See `Reply.answer`."""
        way = self.beside
        if self._jobs.working == 1 and isinstance(way, Outbox):
            await way.send_now(data)
        else:
            await way.send(data)

    def skip(self) -> None:
        """Nothing has to be known about an answer that does not come."""

    async def release(self) -> None:
        """See `Reply.release`."""


class Batch:
    """The way back for the members of a batch: one array, once all answers are there.

    JSON-RPC 2.0, section 6. If no member is to be answered, nothing is sent.
    """

    __slots__ = ("_answers", "_missing", "awaits", "beside")

    principal: str | None = None

    def __init__(self, connection: Connection, outbox: MessageSink, size: int) -> None:
        self.awaits = connection.is_open
        self.beside = outbox
        self._missing = size
        self._answers: list[bytes] = []

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """Keep an answer, or send all of them if it is the last one."""
        self._answers.append(data)
        self._missing -= 1
        if not self._missing:
            await self.beside.send(b"[%b]" % b",".join(self._answers))

    def skip(self) -> None:
        """One answer less to wait for."""
        self._missing -= 1
        if not self._missing and self._answers:
            self.beside.put(b"[%b]" % b",".join(self._answers))

    async def release(self) -> None:
        """See `Reply.release`."""


class Gathered:
    """The way back for the members of a batch whose answers are waited for by the same task."""

    __slots__ = ("_answers", "awaits", "beside", "principal")

    def __init__(self, connection: Connection, reply: Reply) -> None:
        self.awaits = connection.is_open
        self.beside = reply.beside
        self.principal = reply.principal
        self._answers: list[bytes] = []

    async def answer(self, data: bytes, _code: int | None, /) -> None:
        """Keep an answer."""
        self._answers.append(data)

    def skip(self) -> None:
        """There is one answer less."""

    async def release(self) -> None:
        """See `Reply.release`."""

    async def pass_on(self, reply: Reply) -> None:
        """Give all answers to `reply`, as one array; raises `Disconnected`."""
        if self._answers:
            await reply.answer(b"[%b]" % b",".join(self._answers), None)
        else:
            reply.skip()


class Jobs:
    """Runs `handle` for each job as a task of its own, at most `max_running` of them at a time.

    Long-lived requests, such as listen streams, do not count: they wait rather than work.
    """

    __slots__ = (
        "_beside",
        "_cancelled",
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
        self._running: dict[RequestId, Task[Any]] = {}
        self._cancelled: set[RequestId] | None = None
        self._working = 0
        self._beside: set[Task[None]] | None = None
        # Seldom used and never long, and there may be many connections.
        self._waiting: list[Job] = []
        self._room = Bell()

    @property
    def working(self) -> int:
        """How many are worked on."""
        return self._working

    @property
    def waiting(self) -> int:
        """How many wait for their turn, and what else is to be done before more should come."""
        return len(self._waiting) + len(self._beside or ())

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
        if self._cancelled is not None:
            self._cancelled.discard(job.request.id)
        self._working -= counts
        if task.cancelled():
            job.reply.skip()
        self._room.ring()
        if self._waiting and self._working < self._max_running:
            self.start(self._waiting.pop(0))

    @property
    def running(self) -> list[RequestId]:
        """The requests that are worked on."""
        return list(self._running)

    @property
    def busy(self) -> bool:
        """Whether as many are worked on as may be."""
        return self._working >= self._max_running

    def begin(self, request: Request[Any]) -> None:
        """The task that calls this handles a request."""
        task = current_task()
        assert task is not None
        self._running[request.id] = task
        self._working += "long_lived" not in request.spec.traits

    def was_cancelled(self, id: RequestId) -> bool:
        """Whether `cancel` has cancelled the task of the request `id`, which still runs."""
        return self._cancelled is not None and id in self._cancelled

    def end(self, request: Request[Any]) -> None:
        """The task that calls this has handled a request that it has begun with."""
        task = self._running.pop(request.id)
        self._working -= "long_lived" not in request.spec.traits
        if self._cancelled is not None and request.id in self._cancelled:
            self._cancelled.discard(request.id)
            task.uncancel()

    def beside(self, work: Awaitable[None], method: str) -> None:
        """Run the handler of a notification, `work`, beside the requests."""
        self._beside = set() if self._beside is None else self._beside
        self._beside.add(self._tasks.start(_notified(work, method), self._one_less))

    @property
    def notification_tasks(self) -> frozenset[Task[None]]:
        """The tasks in which handlers of notifications run."""
        return frozenset(self._beside or ())

    def _one_less(self, task: Task[None]) -> None:
        if self._beside is not None:
            self._beside.discard(task)
        self._room.ring()

    def cancel(self, id: RequestId) -> None:
        """Cancel the job of the request `id`, whether it runs or waits."""
        task = self._running.get(id)
        if task is not None:
            self._cancelled = self._cancelled or set()
            self._cancelled.add(id)
            task.cancel()
            return
        for job in self._waiting:
            if job.request.id == id:
                self._waiting.remove(job)
                job.reply.skip()
                break
        self._room.ring()

    async def room(self, limit: int, reading_helps: Callable[[], bool]) -> None:
        """Wait while `limit` jobs or more have to wait, unless only reading would let one end."""
        while self.waiting >= limit and not reading_helps():
            await self._room.heard()

    def wake(self) -> None:
        """Look again whether reading helps."""
        self._room.ring()

    async def close(self, within: float) -> list[RequestId]:
        """Wait for all jobs, at most `within` seconds; the ids of those that have not ended."""
        loop = get_running_loop()
        until = loop.time() + within
        while self._running and (left := until - loop.time()) > 0:
            await wait(self._running.values(), timeout=left, return_when=FIRST_COMPLETED)
        unfinished = [*self._running, *(job.request.id for job in self._waiting)]
        self._waiting.clear()
        return unfinished


async def _notified(work: Awaitable[None], method: str) -> None:
    try:
        await work
    except Exception:
        _log.exception("the handler of %.100r failed", method)
