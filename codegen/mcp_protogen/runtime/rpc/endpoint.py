"""A connection driven by asyncio: calls are awaited, and what the peer sends is handled.

Where messages come one after the other, `Endpoint.receive` starts a task for each request, so that
a slow or failing one harms no other and may call the peer that waits for it. Where each message has
a way for its answer, as over HTTP, `Endpoint.attend` answers it in the task of the caller.
Notifications are handled in order, before the answers that came after them.
"""

from collections.abc import Awaitable, Callable
from logging import getLogger
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar

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
from ..core.spec import NotificationSpec
from ..core.tasks import Signal, Tasks, together
from ..core.throttle import Throttle
from ..messages.codec import Error, Notification, Request, Result
from ..messages.jsonrpc import Parsed
from ..messages.reading import Batch, answered_id
from .jobs import (
    BUSY,
    BatchReply,
    GatheredReply,
    Job,
    Jobs,
    Reply,
    Serve,
    SingleReply,
    Work,
    deliver,
)
from .outgoing import PendingCalls
from .send_queue import MessageSink

if TYPE_CHECKING:
    from ..core.http_request import Principal

P = TypeVar("P")
R = TypeVar("R")

OnNotification: TypeAlias = Callable[[Notification[Any]], Awaitable[None] | None]
"""Gives the work that a notification makes; None without a handler."""

_log: Final = getLogger(__name__)


class Endpoint:
    """One end of a connection in one revision."""

    __slots__ = (
        "_aborted",
        "_calls",
        "_on_notification",
        "_single",
        "connection",
        "jobs",
        "log",
        "options",
        "principal",
        "request",
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
        on_notification: OnNotification,
    ) -> None:
        self.connection = connection
        self.sink = sink
        self.tasks = tasks
        self.options = options
        self.log = Throttle(_log)
        self.principal: Principal | None = None
        """Who made the latest request, as the transport has authenticated them, if it does."""
        self._on_notification = on_notification
        self.jobs = Jobs(connection, serve, options.max_in_flight, tasks, self.log)
        """The requests of the peer that are worked on."""
        # From a request of ours on, reading may be what a handler waits for.
        self._calls = PendingCalls(connection, sink, options, tasks, self.jobs.changed.notify_all)
        self.request = self._calls.request
        self._single = SingleReply(connection, sink, self.jobs)
        self._aborted = Signal()

    # What is sent.

    async def notify(
        self,
        spec: NotificationSpec[P],
        params: P | None,
        *,
        meta: bytes | None = None,
        via: MessageSink | None = None,
        about: Request[Any] | None = None,
    ) -> None:
        """Send a notification, as `Connection.notify`, or report it as lost in translation.

        Raise `LocalError` and `Disconnected`.
        """
        try:
            data = self.connection.notify(spec, params, meta=meta, about=about)
        except Untranslatable as error:
            self.connection.table.lost(spec.method, error)
            return
        await (self.sink if via is None else via).send(data)

    # What comes.

    def take(self, message: Parsed) -> Event:
        return self.connection.take(message, self.jobs.loop.time())

    def receive(self, message: Parsed | Batch, reply: Reply | None = None) -> None:
        """Take in a message, or a batch, and deal with it in tasks of its own."""
        if isinstance(message, Batch):
            self._receive_batch(message)
            return
        reply = self._single if reply is None else reply
        event = self.connection.take(message, self.jobs.loop.time())
        if not isinstance(event, Request):
            data = self._take_note(event)
            if data is not None or reply is not self._single:
                self._answer_soon(data, reply)
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
            self._answer_soon(self._take_note(Refusal(None, error)), self._single)
            return
        reply = BatchReply(self._single, len(batch.members))
        for member in batch.members:
            self.receive(member, reply)

    def check_batch(self, batch: Batch) -> None:
        """Raise `RemoteError` for a batch that may not be; answers in it are none."""
        try:
            self.connection.check_batch(batch)
        except RemoteError as error:
            for member in batch.values:
                if (id := answered_id(member)) is not None:
                    self.fail(id, InvalidAnswer(f"an array is no answer: {error.message}", id=id))
            raise

    def _take_note(self, event: Event) -> bytes | None:
        """Deal with what is no request; return the error that answers it, if one does."""
        if isinstance(event, Refusal):
            connection = self.connection
            if connection.role == "client" and isinstance(event.error, ParseError):
                self.log.warning("the server sent a text that is not a message: %s", event.error)
            else:
                self.log.info("refused a message: %r", str(event.error))
            # A server's stray output is no request, and where servers have no requests a client
            # never answers (2026-07-28, basic/transports/stdio, "Sending Messages").
            if connection.role == "server" or (
                event.id is not None and connection.table.rules.server_requests
            ):
                return connection.reject(event.id, event.error)
        elif isinstance(event, (Result, Error, Failure)):
            self._calls.take_answer(event)
        elif isinstance(event, Ignored):
            error = event.error
            # A late answer is usual, but nothing else may tell of one without an id.
            is_lost = error.id is None and isinstance(error, (InvalidAnswer, ParseError))
            log = self.log.warning if is_lost else self.log.info
            log("ignored a message: %s", error)
        elif isinstance(event, Notification):
            self.handle_notification(event)
        elif isinstance(event, Progressed):
            self._calls.take_progress(event)
            self.handle_notification(event.notification)
        elif isinstance(event, Ended):
            self._calls.take_end(event)
            self.handle_notification(event.notification)
        elif isinstance(event, Cancellation):
            self.log.info("request %r was cancelled", event.id)
            self.jobs.cancel(self.jobs.find(event.id))
            self.handle_notification(event.notification)
        return None

    def handle_notification(self, notification: Notification[Any]) -> None:
        """Have a notification handled beside the requests."""
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

    def attend(self, message: Parsed | Batch, reply: Reply, before: Work | None = None) -> Work:
        """Take in a message, and return what answers it; the members of a batch all at once.

        That raises `RemoteError` for a batch that may not be, and what `before` a request raises.
        """
        if isinstance(message, Batch):
            return self._attend_batch(message, reply)
        event = self.connection.take(message, self.jobs.loop.time())
        if isinstance(event, Request):
            return self.jobs.run(Job(event, reply), before)
        if before is not None:
            before.close()
        data = self._take_note(event)
        return deliver(reply, data, event.error if isinstance(event, Refusal) else None)

    async def _attend_batch(self, batch: Batch, reply: Reply) -> None:
        self.check_batch(batch)
        gathered = GatheredReply(reply)

        async def attend(member: Parsed) -> None:
            # Not before its turn: a member may cancel the one before it.
            await self.attend(member, gathered)

        await together(map(attend, batch.members))
        await deliver(reply, gathered.array if gathered.answers else None)

    def cancel_all(self) -> None:
        """End all handlers, without answers, and begin no more."""
        self.jobs.ended = True
        for job in list(self.jobs.running):
            self.jobs.cancel(job)

    def break_cycle(self) -> None:
        # Where each request has a connection of its own, rings would keep the collector busy.
        del self._on_notification, self.jobs, self._single

    def fail(self, id: RequestId, error: Exception) -> None:
        self._calls.fail(id, error)

    def set_paused(self, id: RequestId, held: bool) -> None:
        """Count the time of a request of ours no more, or anew."""
        self._calls.set_paused(id, held)

    def time_left(self, id: RequestId) -> float:
        return self.connection.time_left(id, self.jobs.loop.time())

    # How it ends.

    @property
    def broken(self) -> Disconnected | None:
        """The reason why the peer will send nothing more."""
        return self._calls.broken

    @property
    def crowded(self) -> bool:
        return self.sink.flooded or self.jobs.waiting >= self.options.max_waiting

    async def room(self) -> None:
        """Wait until it is right to read on."""
        await self.sink.room()
        jobs, limit = self.jobs, self.options.max_waiting
        # Only reading may let the handler end that asks the peer something.
        while jobs.waiting >= limit and not self.connection.awaits:
            await jobs.changed.wait()

    def abort(self, error: Disconnected) -> None:
        """Fail the calls that wait for the peer, which will send nothing more."""
        self._calls.abort(error)
        self.jobs.changed.notify_all()
        self._aborted.notify_all()

    async def until_aborted(self) -> None:
        """Wait until the peer will send nothing more."""
        while self.broken is None:
            await self._aborted.wait()

    def close(self, within: float) -> Work:
        """Begin no more; answer what is open: with results for `within` seconds, then errors."""
        # A connection of one request may be taken apart before this has begun, or ended.
        return self.jobs.close(within, self._single)
