"""A connection driven by asyncio: calls are awaited, and what the peer sends is handled.

All requests of the peer take the same way: a connection understands one, the limits are checked,
and a job has it served and answered. Where messages come one after the other, `Endpoint.receive`
starts a task for each job, so that a slow or failing one harms no other and may call back to the
peer that waits for it. Where each message brings a way for its answer along, as over HTTP,
`Endpoint.attend` answers it in the task of the caller. Either way a job counts for the same limit,
and can be cancelled. Notifications are handled in the order in which they came, and before the
answers that came after them.

The peer learns that a handler failed, never what failed: texts of exceptions hold secrets. What is
to be known of a fault is in our own log.
"""

from asyncio import (
    FIRST_COMPLETED,
    CancelledError,
    Task,
    current_task,
    get_running_loop,
    timeout,
    wait,
)
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from logging import getLogger
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from ..connection import Cancelled, Connection, Ended, Event, Failure, Ignored, Progressed, Refusal
from ..core.connection_errors import Disconnected, MissingClientCapability
from ..core.errors import (
    INTERNAL_ERROR,
    InvalidAnswer,
    InvalidParams,
    InvalidRequest,
    LocalError,
    McpError,
    MethodNotFound,
    MissingCapability,
    ProtocolError,
    RemoteError,
    RequestId,
    Untranslatable,
)
from ..core.options import CallOptions, Options
from ..core.spec import Capability, NotificationSpec, RequestSpec
from ..core.tasks import Signal, Tasks, together
from ..core.throttle import Throttle
from ..messages.jsonrpc import Batch, Parsed, answered
from ..messages.method_table import Error, Notification, Request, Result
from ..rules import capabilities
from .outgoing import PendingCalls
from .send_queue import MessageSink, SendQueue

P = TypeVar("P")
R = TypeVar("R")

_log: Final = getLogger(__name__)


def _fault(message: str, data: Any = None) -> ProtocolError:
    return ProtocolError(message, code=INTERNAL_ERROR, data=data)


_BUSY: Final = _fault("Too many requests at once")
_STOPPED: Final = _fault("The server is shutting down")

# The answers that a handler may choose; any other exception is a fault whose text stays here.
_CHOSEN: Final = (
    McpError,
    Untranslatable,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    MissingClientCapability,
)

# How long the last answers may take to be written at least, in seconds.
_GRACE: Final = 1.0


class Reply(Protocol):
    """A way back for the answer to one request."""

    @property
    def beside(self) -> MessageSink:
        """The sink for what belongs to the request and comes before its answer."""
        ...

    @property
    def principal(self) -> str | None:
        """The id of whoever made the request, where this differs from request to request."""
        ...

    def awaits(self, id: RequestId, /) -> bool:
        """Return whether the peer still waits for the answer."""
        ...

    async def answer(self, data: bytes, code: int | None, /) -> None:
        """Take the answer, an error if it has a `code`; raise `Disconnected`."""
        ...

    def skip(self) -> None: ...

    async def release(self) -> None: ...


@dataclass(eq=False, slots=True)
class Job:
    """A request of the peer, and where its answer goes."""

    request: Request[Any]
    reply: Reply
    open: bool = True
    """Whether there is still an answer to give."""
    cancelled: bool = False
    """Whether its task was cancelled for it."""
    task: Task[Any] | None = None


Work: TypeAlias = Coroutine[Any, Any, None]

Serve: TypeAlias = Callable[[Job], Awaitable[Any]]
"""Gives the result of a request."""


class Jobs:
    """The jobs of one connection, of which at most `limit` run at a time.

    Long-lived requests, such as listen streams, wait rather than work, and do not count.
    """

    __slots__ = (
        "_connection",
        "_limit",
        "_log",
        "_serve",
        "_tasks",
        "_turns",
        "changed",
        "ended",
        "notification_tasks",
        "running",
        "waiting",
        "working",
    )

    def __init__(
        self,
        connection: Connection,
        serve: Serve,
        limit: int,
        tasks: Tasks,
        log: Throttle,
    ) -> None:
        self._connection = connection
        self._serve = serve
        self._limit = limit
        self._tasks = tasks
        self._log = log
        # Seldom used and never long, and there may be many connections.
        self._turns: list[Job] = []
        self.changed = Signal()
        """Rings when fewer wait, or there is another reason to look whether to read on."""
        self.ended = False
        """Whether no more jobs are begun."""
        self.running: set[Job] = set()
        self.working = 0
        """The jobs that run and count."""
        self.waiting = 0
        """The jobs that wait, and handlers of notifications."""
        self.notification_tasks: frozenset[Task[None]] = frozenset()
        """The tasks of handlers of notifications."""

    @property
    def busy(self) -> bool:
        """Return whether as many jobs run as may, or no more are begun."""
        return self.ended or self.working >= self._limit

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
        """Run a job, and what comes `before` it, in the task of the caller.

        One too many is refused. The caller goes on when the job was cancelled, and gets the
        exceptions of `before`.
        """
        if self.busy:
            if before is not None:
                before.close()
            await _answer(job.reply, self._connection.refuse(job.request, _BUSY), _BUSY)
            return
        task = job.task = current_task()
        assert task is not None
        self.working += "long_lived" not in job.request.spec.traits
        self.running.add(job)
        try:
            if before is not None:
                await before
            await self._handle(job)
        except BaseException as error:
            ended = isinstance(error, CancelledError) and job.cancelled and task.cancelling() <= 1
            if not ended:
                self._connection.discard(job.request.id)
                raise
        finally:
            self._end(job)
            if job.cancelled:
                task.uncancel()

    def _end(self, job: Job, task: Task[None] | None = None) -> None:
        self.running.discard(job)
        self.working -= "long_lived" not in job.request.spec.traits
        if task is not None and task.cancelled() and job.open:
            job.reply.skip()
        if self._turns and self.working < self._limit:
            self.waiting -= 1
            self.start(self._turns.pop(0))
            self.changed.ring()

    async def _handle(self, job: Job) -> None:
        """Answer a request, whatever becomes of its handler; cancelling ends the handler."""
        request, connection, error, data = job.request, self._connection, None, None
        method = request.spec.method
        try:
            result = await self._serve(job)
            try:
                if job.open:
                    data = connection.answer(request, result)
            except LocalError as unsent:
                error = self._error_of_result(unsent, method)
        except (Exception, CancelledError) as raised:
            # Where nobody has cancelled the task, it was something that the handler waited for.
            task = current_task()
            if isinstance(raised, CancelledError) and (task is None or task.cancelling()):
                raise
            error = self._error_of_handler(raised, method)
        if not job.open:
            # Whoever closed it has seen to its answer.
            return
        job.open = False
        if error is not None:
            data = connection.refuse(request, error)
        await self._give(job, data, error)

    def _error_of_handler(self, error: BaseException, method: str) -> ProtocolError:
        if isinstance(error, _CHOSEN):
            return error
        peer = self._connection.peer
        if isinstance(error, MissingCapability) and error.role == peer:
            # The handler counted on what the peer does not do.
            required = capabilities.declare([Capability(peer, error.steps)])
            if self._connection.table.era.names_missing_capabilities:
                return MissingClientCapability(str(error), required)
            return _fault(str(error), {"requiredCapabilities": required})
        if isinstance(error, (RemoteError, Disconnected)):
            # The peer, who was asked something meanwhile, is at fault, and no handler.
            self._log.warning("%.100r was not answered: %r", method, str(error))
        else:
            _log.error("the handler of %.100r failed", method, exc_info=error)
        return _fault("Internal error")

    def _error_of_result(self, error: LocalError, method: str) -> ProtocolError:
        if isinstance(error, Untranslatable):
            self._log.warning("the answer to %.100r cannot be sent: %s", method, error)
            return _fault(str(error))
        _log.error("the handler of %.100r returned what cannot be sent", method, exc_info=error)
        return _fault("Internal error")

    async def _give(self, job: Job, data: bytes | None, error: ProtocolError | None) -> None:
        try:
            await _answer(job.reply, data, error)
        except Disconnected:
            method = job.request.spec.method
            self._log.info("nobody is left to read the answer to %.100r", method)

    def find(self, id: RequestId) -> Job | None:
        jobs = (*self.running, *self._turns)
        return next((job for job in jobs if job.request.id == id), None)

    def cancel(self, job: Job | None) -> None:
        """End the handler of a job, if there is one, whose answer nobody waits for any more."""
        # An answer that is on its way is not cut short.
        if job is not None and job.open:
            job.open = False
            self._connection.discard(job.request.id)
            job.reply.skip()
            self.abort(job)

    def abort(self, job: Job) -> None:
        """End the handler of a job, whatever becomes of the answer."""
        if job in self.running and job.task is not None:
            job.cancelled = True
            job.task.cancel()
        elif job in self._turns:
            self._turns.remove(job)
            self.waiting -= 1
            self.changed.ring()

    def run_beside(self, work: Awaitable[None], method: str) -> None:
        """Run the handler of a notification, `work`, beside the requests."""
        self.notification_tasks |= {self._tasks.start(_notified(work, method), self._ended_beside)}
        self.waiting += 1

    def _ended_beside(self, task: Task[None]) -> None:
        self.notification_tasks -= {task}
        self.waiting -= 1
        self.changed.ring()

    async def close(self, within: float, single: Reply) -> None:
        """Do as `Endpoint.close`; errors that go to `single` do not wait until they are written."""
        self.ended = True
        loop = get_running_loop()
        until = loop.time() + within
        while self.running and (left := until - loop.time()) > 0:
            tasks = [job.task for job in self.running if job.task is not None]
            await wait(tasks, timeout=left, return_when=FIRST_COMPLETED)
        # The answer to one that is not open is on its way already.
        unfinished = [job for job in (*self.running, *self._turns) if job.open]
        self.waiting -= len(self._turns)
        self._turns.clear()
        answers: list[Work] = []
        for job in unfinished:
            job.open = False
            data = self._connection.refuse(job.request, _STOPPED)
            if data is not None and job.reply is single:
                single.beside.put(data)
            else:
                answers.append(self._give(job, data, _STOPPED))
        if answers:
            with suppress(TimeoutError):
                async with timeout(max(within, _GRACE)):
                    await together(answers)
        for job in unfinished:
            self.abort(job)


async def _notified(work: Awaitable[None], method: str) -> None:
    try:
        await work
    except Exception:
        _log.exception("the handler of %.100r failed", method)


async def _answer(reply: Reply, data: bytes | None, error: ProtocolError | None = None) -> None:
    """Give an answer, which is `error` if it is one; None if there is nothing to answer."""
    if data is None:
        reply.skip()
    else:
        await reply.answer(data, None if error is None else error.code)


# Ways back.


class SingleReply:
    """The way back for all requests that came by themselves."""

    __slots__ = ("_jobs", "awaits", "beside")

    principal = None

    def __init__(self, connection: Connection, sink: MessageSink, jobs: Jobs) -> None:
        self.awaits = connection.is_open
        self.beside = sink
        self._jobs = jobs

    async def answer(self, data: bytes, code: int | None, /) -> None:
        sink = self.beside
        # Of many answers, those that are ready at the same time go out together.
        if self._jobs.working == 1 and isinstance(sink, SendQueue):
            await sink.send_now(data)
        else:
            await sink.send(data)

    def skip(self) -> None: ...

    async def release(self) -> None: ...


class GatheredReply:
    """The way back for the members of a batch that one task waits for."""

    __slots__ = ("answers", "awaits", "beside", "principal")

    def __init__(self, reply: Reply) -> None:
        self.awaits = reply.awaits
        self.beside = reply.beside
        self.principal = reply.principal
        self.answers: list[bytes] = []

    @property
    def array(self) -> bytes:
        return b"[%b]" % b",".join(self.answers)

    async def answer(self, data: bytes, code: int | None, /) -> None:
        self.answers.append(data)

    def skip(self) -> None: ...

    async def release(self) -> None: ...


class BatchReply(GatheredReply):
    """The way back for the `size` members of a batch: one array, once all answers are there.

    JSON-RPC 2.0, section 6. If no member is to be answered, nothing is sent.
    """

    __slots__ = ("_missing",)

    def __init__(self, reply: Reply, size: int) -> None:
        super().__init__(reply)
        self._missing = size

    async def answer(self, data: bytes, code: int | None, /) -> None:
        self.answers.append(data)
        self._missing -= 1
        if not self._missing:
            await self.beside.send(self.array)

    def skip(self) -> None:
        self._missing -= 1
        if not self._missing and self.answers:
            self.beside.put(self.array)


class Endpoint:
    """One end of a connection in one revision.

    `serve` gives the result of a request; `on_notification` gives the work that a notification
    makes, or None if there is no handler for it.
    """

    __slots__ = (
        "_aborted",
        "_calls",
        "_loop",
        "_on_notification",
        "_single",
        "connection",
        "jobs",
        "log",
        "options",
        "principal",
        "sink",
        "tasks",
    )

    def __init__(
        self,
        connection: Connection,
        sink: MessageSink,
        tasks: Tasks,
        options: Options,
        serve: Serve,
        on_notification: Callable[[Notification[Any]], Awaitable[None] | None],
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.tasks = tasks
        self.options = options
        self.log = Throttle(_log)
        """The log for what the peer may do without end."""
        self.principal: str | None = None
        """The id of the peer as the transport has authenticated it, if it does."""
        self._on_notification = on_notification
        self._loop = get_running_loop()
        self._calls = PendingCalls(connection, options, tasks)
        self.jobs = Jobs(connection, serve, options.max_in_flight, tasks, self.log)
        """The requests of the peer that are worked on."""
        self._single = SingleReply(connection, sink, self.jobs)
        self._aborted = Signal()

    # What is sent.

    async def request(
        self,
        spec: RequestSpec[P, R],
        params: P | None,
        options: CallOptions,
        via: MessageSink | None = None,
    ) -> R:
        # From now on reading may be what a handler waits for.
        self.jobs.changed.ring()
        sink = self.sink if via is None else via
        return await self._calls.request(spec, params, options, sink)

    async def notify(
        self,
        spec: NotificationSpec[P],
        params: P | None,
        *,
        meta: bytes | None = None,
        via: MessageSink | None = None,
    ) -> None:
        """Send a notification; report one as lost that the peer's revision does not have.

        Raise `LocalError` and `Disconnected`.
        """
        try:
            data = self.connection.notify(spec, params, meta=meta)
        except Untranslatable as error:
            self.connection.table.lost(spec.method, error)
            return
        await (self.sink if via is None else via).send(data)

    # What comes.

    def take(self, message: Parsed) -> Event:
        return self.connection.take(message, self._loop.time())

    def receive(self, message: Parsed | Batch, reply: Reply | None = None) -> None:
        """Take in a message, or a batch, and deal with it in tasks of its own."""
        if isinstance(message, Batch):
            self._receive_batch(message)
            return
        reply = self._single if reply is None else reply
        event = self.connection.take(message, self._loop.time())
        if not isinstance(event, Request):
            self._answer_soon(self._take_note(event), reply)
        elif self.jobs.ended:
            reply.skip()
        elif self.jobs.waiting >= self.options.max_waiting:
            self._answer_soon(self.connection.refuse(event, _BUSY), reply)
        else:
            self.jobs.start(Job(event, reply))

    def _receive_batch(self, batch: Batch) -> None:
        try:
            self._check_batch(batch)
        except RemoteError as error:
            self._answer_soon(self._take_note(Refusal(None, error)), self._single)
            return
        reply = BatchReply(self._single, len(batch.members))
        for member in batch.members:
            self.receive(member, reply)

    def _check_batch(self, batch: Batch) -> None:
        try:
            self.connection.check_batch(batch)
        except RemoteError as error:
            for member in batch.values:
                if (id := answered(member)) is not None:
                    self.fail(id, InvalidAnswer(f"an array is no answer: {error.message}", id=id))
            raise

    def _take_note(self, event: Event) -> bytes | None:
        """Deal with what is no request; return the error that answers it, if one does."""
        if isinstance(event, Refusal):
            self.log.info("refused a message: %r", str(event.error))
            connection = self.connection
            # A server's stray output is no request, and where servers have no requests a client
            # never answers (2026-07-28, basic/transports/stdio, "Sending Messages").
            if connection.role == "server" or (
                event.id is not None and connection.table.rules.server_requests
            ):
                return connection.reject(event.id, event.error)
        elif isinstance(event, (Result, Error, Failure)):
            self._calls.settle(event)
        elif isinstance(event, Ignored):
            self.log.info("ignored a message: %s", event.error)
        elif isinstance(event, Notification):
            self._notified(event)
        elif isinstance(event, Progressed):
            self._calls.progressed(event)
            self._notified(event.notification)
        elif isinstance(event, Ended):
            self._calls.ended(event)
            self._notified(event.notification)
        elif isinstance(event, Cancelled):
            self.log.info("request %r was cancelled", event.id)
            self.jobs.cancel(self.jobs.find(event.id))
            self._notified(event.notification)
        return None

    def _notified(self, notification: Notification[Any]) -> None:
        work = self._on_notification(notification)
        if work is not None:
            self.jobs.run_beside(work, notification.spec.method)

    def _answer_soon(self, data: bytes | None, reply: Reply) -> None:
        if data is None:
            reply.skip()
        elif reply is self._single:
            self.sink.put(data)
        else:
            self.tasks.start(reply.answer(data, None))

    # What comes, where every message brings a way for its answer along.

    async def attend(self, message: Parsed | Batch, reply: Reply) -> None:
        """Deal with a message until it is answered; the members of a batch all at once.

        Raise `RemoteError` if there may be no such batch.
        """
        if isinstance(message, Batch):
            await self._attend_batch(message, reply)
            return
        event = self.connection.take(message, self._loop.time())
        if isinstance(event, Request):
            await self.jobs.run(Job(event, reply))
        else:
            data = self._take_note(event)
            await _answer(reply, data, event.error if isinstance(event, Refusal) else None)

    async def _attend_batch(self, batch: Batch, reply: Reply) -> None:
        self._check_batch(batch)
        gathered = GatheredReply(reply)
        await together([self.attend(member, gathered) for member in batch.members])
        await _answer(reply, gathered.array if gathered.answers else None)

    def cancel_all(self) -> None:
        """End all handlers, without answers, and begin no more."""
        self.jobs.ended = True
        for job in list(self.jobs.running):
            self.jobs.cancel(job)

    def break_cycle(self) -> None:
        """Break the ring of references that a connection is; it is not used any more."""
        # Where each request has one of its own, rings would keep the collector busy.
        del self._on_notification, self.jobs, self._single

    def fail(self, id: RequestId, error: Exception) -> None:
        self._calls.fail(id, error)

    # How it ends.

    @property
    def crowded(self) -> bool:
        """Return whether there is so much to do that nothing more should be read."""
        return self.sink.flooded or self.jobs.waiting >= self.options.max_waiting

    async def room(self) -> None:
        """Wait until it is right to read on."""
        await self.sink.room()
        jobs, limit = self.jobs, self.options.max_waiting
        # Only reading may let the handler end that asks the peer something.
        while jobs.waiting >= limit and not self.connection.awaits:
            await jobs.changed.heard()

    def abort(self, error: Disconnected) -> None:
        """Fail the calls that wait for the peer, which will send nothing more."""
        self._calls.abort(error)
        self.jobs.changed.ring()
        self._aborted.ring()

    async def until_aborted(self) -> None:
        """Wait until the peer will send nothing more."""
        while self._calls.broken is None:
            await self._aborted.heard()

    def close(self, within: float) -> Work:
        """Begin no more; answer what is open: with results for `within` seconds, then errors."""
        # A connection of one request may be taken apart before this has begun, or ended.
        return self.jobs.close(within, self._single)
