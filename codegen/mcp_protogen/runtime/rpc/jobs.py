"""The requests of a peer that are being handled, and the channels for their answers.

The peer learns that a handler failed, but not why: texts of exceptions, which may have secrets,
only go to our log.
"""

from asyncio import (
    FIRST_COMPLETED,
    CancelledError,
    Task,
    current_task,
    get_running_loop,
    sleep,
    wait,
)
from collections.abc import Awaitable, Callable, Coroutine
from contextvars import Context, copy_context
from dataclasses import dataclass
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ..connection import Connection
from ..core.connection_errors import CHOSEN, Disconnected, MissingClientCapability
from ..core.errors import (
    INTERNAL_ERROR,
    LocalError,
    MissingCapability,
    ProtocolError,
    RemoteError,
    RequestId,
    Untranslatable,
)
from ..core.sendable import Unsendable
from ..core.spec import Capability
from ..core.tasks import Signal, Tasks, together
from ..core.throttle import Throttle
from ..messages.codec import Request
from ..rules import capabilities
from ..transports.base import wait_within
from .send_queue import MessageSink, send_soon

if TYPE_CHECKING:
    from ..core.http_request import HttpRequest, Principal

_log: Final = getLogger(__name__)


def _fault(message: str, data: Any = None) -> ProtocolError:
    return ProtocolError(message, code=INTERNAL_ERROR, data=data)


BUSY: Final = _fault("Too many requests at once; try again later")
_STOPPED: Final = _fault("The server is shutting down")

_NO_TASKS: Final = frozenset[Task[None]]()

# The least time to write the last answers, in seconds.
_GRACE: Final = 1.0

Work: TypeAlias = Coroutine[Any, Any, None]


class Reply(Protocol):
    """The channel for the answer to one request."""

    @property
    def beside(self) -> MessageSink:
        """The sink for messages before the answer."""
        ...

    @property
    def principal(self) -> "Principal | None": ...
    @property
    def http_request(self) -> "HttpRequest | None": ...

    def awaits(self, id: RequestId, /) -> bool: ...

    def answer(self, data: bytes, error: ProtocolError | None, /) -> Work:
        """Send the answer, which may be an `error`; raise `Disconnected`."""
        ...

    def skip(self) -> None: ...

    async def release(self) -> None:
        """Complete the HTTP response, if the client can reconnect for later messages."""


@dataclass(eq=False, slots=True)
class Job:
    request: Request[Any]
    reply: Reply
    open: bool = True
    """Whether it still needs an answer."""
    cancelled: bool = False
    """Whether its task was cancelled, or must not begin."""
    task: Task[Any] | None = None


Serve: TypeAlias = Callable[[Job], Awaitable[Any]]


class Jobs:
    """The jobs of one connection; at most `limit` run at a time.

    Long-lived requests, such as listen streams, do not count.
    """

    __slots__ = (
        *("_connection", "_limit", "_log", "_queue", "_serve", "_tasks", "changed", "ended"),
        *("loop", "notification_tasks", "running", "waiting", "working"),
    )

    def __init__(
        self, connection: Connection, serve: Serve, limit: int, tasks: Tasks, log: Throttle
    ) -> None:
        self._connection = connection
        self._serve = serve
        self._limit = limit
        self._tasks = tasks
        self._log = log
        self.loop = get_running_loop()
        self._queue: list[tuple[Job, Context]] = []
        self.changed = Signal()
        """Signals that reading may go on."""
        self.ended = False
        # An empty set takes three times as much memory.
        self.running: dict[Job, None] = {}
        self.working = 0
        """The number of running jobs that count."""
        self.waiting = 0
        """The number of waiting jobs and of notification handlers."""
        self.notification_tasks = _NO_TASKS

    @property
    def busy(self) -> bool:
        return self.ended or self.working >= self._limit

    def start(self, job: Job) -> None:
        if self.working < self._limit or "long_lived" in job.request.spec.traits:
            task = self.loop.create_task(self._begin(job))
            # It may be done already (Python 3.12, "eager tasks").
            if not task.done():
                self._tasks.running.add(task)
        else:
            self._queue.append((job, copy_context()))
            self.waiting += 1

    def run(self, job: Job, before: Work | None = None) -> Work:
        """Return the running of a job, and of the work `before` it, for the task of the caller.

        Beyond the limit it is refused. Raises exceptions of `before`; a cancelled job raises none.
        """
        if self.busy:
            if before is not None:
                before.close()
            return self.deliver(job.reply, self._connection.refuse(job.request, BUSY), BUSY)
        return self._begin(job, before)

    def _begin(self, job: Job, before: Work | None = None) -> Work:
        self.running[job] = None
        self.working += "long_lived" not in job.request.spec.traits
        return self._work(job, before)

    async def _work(self, job: Job, before: Work | None = None) -> None:
        job.task = current_task(self.loop)
        assert job.task is not None
        try:
            if not job.cancelled:
                if before is not None:
                    await before
                await self._handle(job)
        except BaseException as error:
            was_cancelled = isinstance(error, CancelledError) and job.cancelled
            if not was_cancelled or job.task.cancelling() > 1:
                if job.open:
                    self._connection.discard(job.request.id)
                    job.reply.skip()
                raise
        finally:
            if job.cancelled:
                job.task.uncancel()
            self._tasks.running.discard(job.task)
            # The task may keep an error, and the error this frame.
            job.task = None
            del self.running[job]
            self.working -= "long_lived" not in job.request.spec.traits
            if self._queue and self.working < self._limit:
                self._start_next()

    def _start_next(self) -> None:
        self.waiting -= 1
        following, context = self._queue.pop(0)
        # It must not inherit the context of this job.
        context.run(self.start, following)
        self.changed.notify_all()

    async def _handle(self, job: Job) -> None:
        request, connection, error, data = job.request, self._connection, None, None
        method = request.spec.method
        try:
            result = await self._serve(job)
            try:
                if job.open:
                    data = connection.answer(request, result)
            except LocalError as unsent:
                error = self.error_of_result(unsent, method)
        except (Exception, CancelledError) as raised:
            # If the task was not cancelled itself, the handler awaited something that was.
            if isinstance(raised, CancelledError) and (job.task is None or job.task.cancelling()):
                raise
            error = self.error_of_handler(raised, method)
        if not job.open:
            return
        job.open = False
        if error is not None:
            data = connection.refuse(request, error)
        await self.deliver(job.reply, data, error)

    def error_of_handler(self, error: BaseException, method: str) -> ProtocolError:
        if isinstance(error, CHOSEN):
            # Its traceback would keep the frame that has it.
            return error.with_traceback(None)
        peer = self._connection.peer
        if isinstance(error, MissingCapability) and error.role == peer:
            # The handler relied on a capability that the peer lacks.
            required = capabilities.declare([Capability(peer, error.steps)])
            if self._connection.table.era.names_missing_capabilities:
                return MissingClientCapability(str(error), required)
            return _fault(str(error), {"requiredCapabilities": required})
        if isinstance(error, (RemoteError, Disconnected)):
            # The handler asked the peer for something, and the peer failed.
            self._log.warning("%.100r was not answered: %r", method, str(error))
        else:
            _log.error("the handler of %.100r failed", method, exc_info=error)
        return _fault("Internal error")

    def error_of_result(self, error: LocalError, method: str) -> ProtocolError:
        if isinstance(error, Untranslatable) or isinstance(error.__cause__, Unsendable):
            self._log.warning("the answer to %.100r cannot be sent: %s", method, error)
            return _fault(str(error))
        _log.error(
            "the handler of %.100r returned a value that cannot be sent", method, exc_info=error
        )
        return _fault("Internal error")

    async def deliver(
        self, reply: Reply, data: bytes | None, error: ProtocolError | None = None
    ) -> None:
        """Send an answer, with `error` if it is one; without data, skip it."""
        try:
            if data is None:
                reply.skip()
            else:
                await reply.answer(data, error)
        except Disconnected:
            self._log.info("the peer has gone: an answer was not sent")

    def find(self, id: RequestId) -> Job | None:
        return next((job for job in self._unfinished_jobs() if job.request.id == id), None)

    def _unfinished_jobs(self) -> list[Job]:
        return [*self.running, *(job for job, _ in self._queue)]

    def cancel(self, job: Job | None) -> None:
        """End a job, if there is one, whose answer is no longer wanted."""
        # An answer that is being sent is not cut short.
        if job is not None and job.open:
            job.open = False
            self._connection.discard(job.request.id)
            job.reply.skip()
            self.abort(job)

    def abort(self, job: Job) -> None:
        """End a job, whatever the state of its answer."""
        if job in self.running:
            job.cancelled = True
            if job.task is not None:
                job.task.cancel()
        else:
            queue = [entry for entry in self._queue if entry[0] is not job]
            self.waiting -= len(self._queue) - len(queue)
            self._queue = queue
            self.changed.notify_all()

    def run_beside(self, work: Awaitable[None], method: str) -> None:
        task = self._tasks.start(_run_notification(work, method))
        task.add_done_callback(self._on_notification_end)
        self.notification_tasks |= {task}
        self.waiting += 1

    def _on_notification_end(self, task: Task[None]) -> None:
        self.notification_tasks -= {task}
        self.waiting -= 1
        self.changed.notify_all()

    async def close(self, within: float, single: Reply) -> None:
        """Implements `Endpoint.close`; does not wait for errors sent through `single`."""
        self.ended = True
        until = self.loop.time() + within
        while self.running and (delay := until - self.loop.time()) > 0:
            if tasks := [job.task for job in self.running if job.task is not None]:
                await wait(tasks, timeout=delay, return_when=FIRST_COMPLETED)
            else:
                await sleep(0)
        # The answers of other jobs are being sent already.
        unfinished = [job for job in self._unfinished_jobs() if job.open]
        self.waiting -= len(self._queue)
        self._queue.clear()
        answers: list[Work] = []
        for job in unfinished:
            job.open = False
            data = self._connection.refuse(job.request, _STOPPED)
            if data is not None and job.reply is single:
                single.beside.put(data)
            else:
                answers.append(self.deliver(job.reply, data, _STOPPED))
        if answers:
            await wait_within(max(within, _GRACE), together(answers))
        for job in unfinished:
            self.abort(job)


async def _run_notification(work: Awaitable[None], method: str) -> None:
    try:
        await work
    except Exception:
        _log.exception("the handler of %.100r failed", method)


class SingleReply:
    """The channel for the answers of a stream, each sent by itself."""

    __slots__ = ("_connection", "_jobs", "beside")

    principal = http_request = None

    def __init__(self, connection: Connection, sink: MessageSink, jobs: Jobs) -> None:
        self._connection = connection
        self.beside = sink
        self._jobs = jobs

    def awaits(self, id: RequestId, /) -> bool:
        return self._connection.is_open(id)

    def answer(self, data: bytes, error: ProtocolError | None, /) -> Work:
        return send_soon(self.beside, data, alone=self._jobs.working <= 1)

    def skip(self) -> None: ...

    async def release(self) -> None: ...
