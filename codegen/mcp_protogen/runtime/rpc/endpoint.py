"""A connection driven by asyncio: awaits calls, and handles messages of the peer.

If messages come one after another, `Endpoint.receive` starts a task for each request: a slow or
failing handler does not affect others, and may itself send requests. If each message has its own
channel for the answer, as over HTTP, `Endpoint.attend` answers it in the task of the caller.
Notifications are handled in order, before answers that came later.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ..connection import (
    Cancellation,
    Connection,
    Ended,
    Event,
    Failure,
    Ignored,
    Progressed,
    Refusal,
)
from ..core.connection_errors import Disconnected
from ..core.errors import InvalidAnswer, ParseError, RemoteError, RequestId, Untranslatable
from ..core.options import Options
from ..core.spec import NotificationSpec, P
from ..core.tasks import Signal, Tasks, together
from ..core.throttle import Throttle
from ..messages.codec import Error, Notification, Request, Result
from ..messages.jsonrpc import Parsed
from ..messages.reading import Batch, answered_id
from .jobs import BUSY, Job, Jobs, Reply, Serve, SingleReply, Work
from .outgoing import PendingCalls
from .send_queue import MessageSink

if TYPE_CHECKING:
    from ..core.http_request import Principal


OnNotification: TypeAlias = Callable[[Notification[Any]], Awaitable[None] | None]


class Endpoint:
    __slots__ = (
        *("_aborted", "_on_notification", "_single", "calls", "connection", "jobs", "log"),
        *("options", "principal", "request", "sink", "tasks"),
    )

    def __init__(
        self,
        connection: Connection,
        sink: MessageSink,
        tasks: Tasks,
        options: Options,
        serve: Serve,
        on_notification: OnNotification,
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.tasks = tasks
        self.options = options
        self.log = Throttle(__name__)
        self.principal: Principal | None = None
        """The sender of the latest request, if the transport has authenticated it."""
        self._on_notification = on_notification
        self.jobs = Jobs(connection, serve, options.max_in_flight, tasks, self.log)
        # Once we have sent a request, a handler may wait for reading to go on.
        self.calls = PendingCalls(connection, sink, options, tasks, self.jobs.changed.notify_all)
        self.request = self.calls.request
        self._single = SingleReply(connection, sink, self.jobs)
        self._aborted = Signal()

    async def notify(
        self,
        spec: NotificationSpec[P],
        params: P | None,
        *,
        meta: bytes | None = None,
        via: MessageSink | None = None,
        about: Request[Any] | None = None,
    ) -> None:
        """Send a notification like `Connection.notify`, or report it as lost in translation.

        Raise `LocalError` and `Disconnected`.
        """
        try:
            data = self.connection.notify(spec, params, meta=meta, about=about)
        except Untranslatable as error:
            self.connection.table.lost(spec.method, error)
            return
        await (self.sink if via is None else via).send(data)

    def receive(self, message: Parsed | Batch, reply: Reply | None = None) -> None:
        if isinstance(message, Batch):
            self._receive_batch(message)
            return
        reply = self._single if reply is None else reply
        event = self.connection.take(message, self.jobs.loop.time())
        if not isinstance(event, Request):
            self._answer_soon(self._handle_event(event), reply)
        elif self.jobs.ended:
            reply.skip()
        elif self.jobs.waiting >= self.options.max_waiting:
            self._answer_soon(self.connection.refuse(event, BUSY), reply)
        else:
            self.jobs.start(Job(event, reply))

    def _receive_batch(self, batch: Batch) -> None:
        try:
            self.check_batch(batch)
        except RemoteError as error:
            self._answer_soon(self._handle_event(Refusal(None, error)), self._single)
            return
        from .batches import BatchReply

        reply = BatchReply(self._single, len(batch.members))
        for member in batch.members:
            self.receive(member, reply)

    def check_batch(self, batch: Batch) -> None:
        """Raise `RemoteError` for an invalid batch, after failing the calls it tries to answer."""
        try:
            self.connection.check_batch(batch)
        except RemoteError as error:
            for member in batch.values:
                if (id := answered_id(member)) is not None:
                    wrong = f"an array is not an answer: {error.message}"
                    self.calls.fail(id, InvalidAnswer(wrong, id=id))
            raise

    def _handle_event(self, event: Event) -> bytes | None:
        """Handle a message other than a request; return the error to send, if any."""
        if isinstance(event, Refusal):
            connection = self.connection
            if connection.role == "client" and isinstance(event.error, ParseError):
                self.log.warning("the server sent text that is not a message: %s", event.error)
            else:
                self.log.info("refused a message: %r", str(event.error))
            # A server's stray output is not a request, and in revisions without server requests a
            # client never answers (2026-07-28, basic/transports/stdio, "Sending Messages").
            if connection.role == "server" or (
                event.id is not None and connection.table.rules.server_requests
            ):
                return connection.reject(event.id, event.error)
        elif isinstance(event, (Result, Error, Failure)):
            self.calls.take_answer(event)
        elif isinstance(event, Ignored):
            error = event.error
            # Late answers are usual. Only the log reports an invalid answer without an id.
            is_unreported = error.id is None and isinstance(error, (InvalidAnswer, ParseError))
            log = self.log.warning if is_unreported else self.log.info
            log("ignored a message: %s", error)
        elif isinstance(event, Notification):
            self.handle_notification(event)
        elif isinstance(event, (Progressed, Ended, Cancellation)):
            if isinstance(event, Progressed):
                self.calls.take_progress(event)
            elif isinstance(event, Ended):
                self.calls.take_end(event)
            else:
                self.log.info("request %r was cancelled", event.id)
                self.jobs.cancel(self.jobs.find(event.id))
            self.handle_notification(event.notification)
        return None

    def handle_notification(self, notification: Notification[Any]) -> None:
        if (work := self._on_notification(notification)) is not None:
            self.jobs.run_beside(work, notification.spec.method)

    def _answer_soon(self, data: bytes | None, reply: Reply) -> None:
        if data is None:
            reply.skip()
        elif reply is self._single:
            self.sink.put(data)
        else:
            self.tasks.start(reply.answer(data, None))

    def attend(self, message: Parsed | Batch, reply: Reply, before: Work | None = None) -> Work:
        """Take in a message, and return the work that answers it; batch members run concurrently.

        `before` runs before the handler of a request. The work raises its errors, and `RemoteError`
        for an invalid batch.
        """
        if isinstance(message, Batch):
            return self._attend_batch(message, reply)
        event = self.connection.take(message, self.jobs.loop.time())
        if isinstance(event, Request):
            return self.jobs.run(Job(event, reply), before)
        if before is not None:
            before.close()
        data = self._handle_event(event)
        return self.jobs.deliver(reply, data, event.error if isinstance(event, Refusal) else None)

    async def _attend_batch(self, batch: Batch, reply: Reply) -> None:
        self.check_batch(batch)
        from .batches import GatheredReply

        gathered = GatheredReply(reply)

        async def attend(member: Parsed) -> None:
            # Not earlier: a member may cancel the one before it.
            await self.attend(member, gathered)

        await together(map(attend, batch.members))
        await self.jobs.deliver(reply, gathered.array if gathered.answers else None)

    def cancel_all(self) -> None:
        self.jobs.ended = True
        for job in list(self.jobs.running):
            self.jobs.cancel(job)

    def break_cycle(self) -> None:
        # If each request has its own connection, reference cycles would keep the collector busy.
        del self._on_notification, self.jobs, self._single

    def time_left(self, id: RequestId) -> float:
        return self.connection.time_left(id, self.jobs.loop.time())

    @property
    def broken(self) -> Disconnected | None:
        """The reason why the peer will send nothing more."""
        return self.calls.broken

    @property
    def crowded(self) -> bool:
        return self.sink.flooded or self.jobs.waiting >= self.options.max_waiting

    async def room(self) -> None:
        """Wait until reading may go on."""
        await self.sink.room()
        jobs, limit = self.jobs, self.options.max_waiting
        # A handler that asks the peer something can only end if reading goes on for a while.
        while jobs.waiting >= limit * (10 if self.connection.awaits else 1):
            await jobs.changed.wait()

    def abort(self, error: Disconnected) -> None:
        """Fail the calls that wait for the peer, which will send nothing more."""
        self.calls.abort(error)
        self.jobs.changed.notify_all()
        self._aborted.notify_all()

    async def until_aborted(self) -> None:
        while self.broken is None:
            await self._aborted.wait()

    def close(self, within: float) -> Work:
        """Start no more requests; answer those open after `within` seconds with errors."""
        # Not a coroutine function: `break_cycle` may be called before the work begins.
        return self.jobs.close(within, self._single)
