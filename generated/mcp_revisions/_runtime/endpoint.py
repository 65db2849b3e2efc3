"""A connection driven by asyncio: calls are awaited, and what the peer sends is handled.

Every request of the peer runs as a task of its own, so that a slow or failing one harms no other
and may call back to the peer that waits for it. Notifications are handled in the order in which
they came, and before the answers that came after them.
"""

from asyncio import CancelledError, Task, get_running_loop
from collections.abc import Awaitable, Callable, Mapping, Sequence
from logging import getLogger
from typing import Any, Final, TypeVar

from .answering import Serve, answer_to, fault
from .calls import Calls
from .connection import Connection
from .dispatch import Error, Notification, Request, Result
from .envelope import meta_of, params_of
from .errors import Disconnected, ProtocolError, RemoteError, RequestId
from .events import Cancelled, Ended, Event, Failure, Ignored, Progressed, Refusal
from .jobs import Alone, Batch, Gathered, Job, Jobs, Reply
from .jsonvalue import is_array
from .options import CallOptions, Options
from .outbox import MessageSink
from .spec import NotificationSpec, RequestSpec
from .tasks import Bell, Tasks, together
from .throttle import Throttle
from .translation.losses import Untranslatable

P = TypeVar("P")
R = TypeVar("R")

_log: Final = getLogger(__name__)

_BUSY: Final = fault("Too many requests at once")
_STOPPED: Final = fault("The server is shutting down")


class Endpoint:
    """One side of a connection in one revision.

    `serve` gives the result of a request; `on_notification` gives the work that a notification is,
    or None if there is no handler for it.
    """

    __slots__ = (
        "_aborted",
        "_alone",
        "_calls",
        "_ended",
        "_gone",
        "_jobs",
        "_loop",
        "_on_notification",
        "_serve",
        "connection",
        "log",
        "options",
        "outbox",
        "principal",
        "tasks",
    )

    def __init__(
        self,
        connection: Connection,
        outbox: MessageSink,
        tasks: Tasks,
        options: Options,
        serve: Serve,
        on_notification: Callable[[Notification[Any], Mapping[str, Any]], Awaitable[None] | None],
    ) -> None:
        self.connection = connection
        self.outbox = outbox
        self.tasks = tasks
        self.options = options
        self.log = Throttle(_log)
        """For what the peer may do without end."""
        self.principal: str | None = None
        """Whom the transport has authenticated, if it does."""
        self._serve = serve
        self._on_notification = on_notification
        self._loop = get_running_loop()
        self._calls = Calls(connection, outbox, options, tasks)
        self._jobs = Jobs(self._respond, options.max_in_flight, tasks)
        self._alone = Alone(connection, outbox, self._jobs)
        self._ended = False
        self._gone = False
        self._aborted = Bell()

    def now(self) -> float:
        """The time, in seconds of a clock that does not go back."""
        return self._loop.time()

    # What this side sends.

    async def request(
        self,
        spec: RequestSpec[P, R],
        params: P | None,
        options: CallOptions,
        via: MessageSink | None = None,
    ) -> R:
        """Send a request and wait for its result; see `Calls.request`."""
        # From now on reading may be what a handler waits for.
        self._jobs.wake()
        return await self._calls.request(spec, params, options, via)

    async def notify(
        self,
        spec: NotificationSpec[P],
        params: P | None,
        *,
        meta: bytes | None = None,
        via: MessageSink | None = None,
    ) -> None:
        """Send a notification, by another way than the usual if one is given.

        One that the peer's revision has no words for is not sent, and reported as lost. Raises
        `LocalError` and `Disconnected`.
        """
        try:
            data = self.connection.notify(spec, params, meta=meta)
        except Untranslatable as error:
            self.connection.table.lost(spec.method, error)
            return
        await (self.outbox if via is None else via).send(data)

    # What comes.

    def receive(self, message: object) -> None:
        """Take in one decoded message, or one batch."""
        if is_array(message):
            self._receive_batch(message)
        else:
            self._react(self._take(message), message, self._alone)

    def _receive_batch(self, value: Sequence[Any]) -> None:
        try:
            members = self._members(value)
        except RemoteError as error:
            self._refuse(Refusal(None, error), self._alone)
            return
        events = [(self._take(member), member) for member in members]
        answered = sum(isinstance(event, (Request, Refusal)) for event, _ in events)
        batch = Batch(self.connection, self.outbox, answered)
        for event, member in events:
            self._react(event, member, batch)

    def _members(self, batch: Sequence[Any]) -> Sequence[Any]:
        """The messages of a batch; raises `RemoteError`, and then what it was to answer fails."""
        try:
            return self.connection.table.members(batch) or []
        except RemoteError as error:
            self._calls.fail_all(batch, error)
            raise

    def _take(self, message: object) -> Event:
        return self.connection.take(message, self._loop.time())

    def _react(self, event: Event, message: Any, reply: Reply) -> None:
        if isinstance(event, Request):
            self._start(Job(event, params_of(message), reply))
        elif isinstance(event, (Result, Error, Failure)):
            self._calls.settle(event)
        elif isinstance(event, Notification):
            self._notified(event, message)
        elif isinstance(event, Refusal):
            self._refuse(event, reply)
        else:
            self._react_to_others(event, message)

    def _react_to_others(
        self, event: Ignored | Progressed | Cancelled | Ended, message: Any
    ) -> None:
        if isinstance(event, Progressed):
            self._calls.progressed(event)
            self._notified(event.notification, message)
        elif isinstance(event, Cancelled):
            self.log.info("request %r was cancelled", event.id)
            self._jobs.cancel(event.id)
            self._notified(event.notification, message)
        elif isinstance(event, Ended):
            self._calls.ended(event)
            self._notified(event.notification, message)
        else:
            self.log.info("ignored a message: %s", event.error)

    def _start(self, job: Job) -> None:
        if self._ended:
            job.reply.skip()
        elif self._jobs.waiting >= self.options.max_waiting:
            self._answer_now(self.connection.refuse(job.request.id, _BUSY), job.reply)
        else:
            self._jobs.start(job)

    def _refuse(self, refusal: Refusal, reply: Reply) -> None:
        self.log.info("refused a message: %r", str(refusal.error))
        if self._is_to_be_answered(refusal):
            self._answer_now(self.connection.refuse(refusal.id, refusal.error), reply)
        else:
            reply.skip()

    # What comes, where every message brings a way for its answer along.

    @property
    def busy(self) -> bool:
        """Whether as many requests of the peer are worked on as may be."""
        return self._jobs.busy

    @property
    def notification_tasks(self) -> frozenset[Task[None]]:
        """The tasks in which notifications of the peer are handled."""
        return self._jobs.notification_tasks

    def attend(self, message: object, reply: Reply) -> Awaitable[None]:
        """Take in a message, and deal with it in the task of the caller, until it is answered."""
        return self._attend(self._take(message), message, reply)

    async def attend_batch(self, batch: list[Any], reply: Reply) -> None:
        """The same for a batch, whose members are dealt with side by side; raises `RemoteError`."""
        events = [(self._take(member), member) for member in self._members(batch)]
        gathered = Gathered(self.connection, reply)
        await together([self._attend(event, member, gathered) for event, member in events])
        await gathered.pass_on(reply)

    async def _attend(self, event: Event, message: Any, reply: Reply) -> None:
        if type(event) is not Request:
            await self._attend_to_others(event, message, reply)
            return
        id, jobs = event.id, self._jobs
        if jobs.busy or self._ended:
            await self._deny(id, _BUSY, reply)
            return
        jobs.begin(event)
        try:
            job = Job(event, params_of(message), reply)
            answer = await answer_to(job, self._serve, self.connection, self.log)
            if answer.data is None:
                reply.skip()
            else:
                await reply.answer(answer.data, answer.code)
        except CancelledError:
            if not jobs.was_cancelled(id):
                self.connection.discard(id)
                raise
            reply.skip()
        finally:
            jobs.end(event)

    async def _attend_to_others(self, event: Event, message: Any, reply: Reply) -> None:
        if isinstance(event, Refusal):
            self.log.info("refused a message: %r", str(event.error))
            await self._deny(event.id, event.error, reply)
        else:
            self._react(event, message, reply)
            reply.skip()

    async def _deny(self, id: RequestId | None, error: ProtocolError, reply: Reply) -> None:
        data = self.connection.refuse(id, error)
        if data is None:
            reply.skip()
        else:
            await reply.answer(data, error.code)

    def cancel(self, id: RequestId) -> None:
        """Nobody waits for the answer to the request `id` of the peer any more: end its handler."""
        # An answer that is on its way is not cut short.
        if self.connection.is_open(id):
            self.connection.discard(id)
            self._jobs.cancel(id)

    def cancel_all(self) -> None:
        """End all handlers, and begin no more."""
        self._ended = True
        for id in self._jobs.running:
            self.cancel(id)

    def break_cycle(self) -> None:
        """Break the ring of references that a connection is; it is not used any more.

        Where each request has a connection of its own, rings would keep the collector busy.
        """
        del self._serve, self._on_notification, self._jobs, self._alone

    def fail(self, id: RequestId, error: Exception) -> None:
        """No answer will come to our request `id`, for the reason that `error` gives."""
        self._calls.fail(id, error)

    def _is_to_be_answered(self, refusal: Refusal) -> bool:
        if self.connection.role == "server":
            return True
        # A server's stray output is no request, and where servers have no requests a client never
        # answers (2026-07-28, basic/transports/stdio, "Sending Messages").
        return refusal.id is not None and self.connection.table.rules.server_requests

    def _answer_now(self, data: bytes | None, reply: Reply) -> None:
        if data is None:
            reply.skip()
        elif reply is self._alone:
            self.outbox.put(data)
        else:
            self.tasks.start(reply.answer(data, None))

    async def _respond(self, job: Job) -> None:
        answer = await answer_to(job, self._serve, self.connection, self.log)
        if answer.data is None:
            job.reply.skip()
            return
        try:
            await job.reply.answer(answer.data, answer.code)
        except Disconnected:
            self.log.info("nobody is left to read the answer to %.100r", job.request.spec.method)

    def _notified(self, notification: Notification[Any], message: Any) -> None:
        work = self._on_notification(notification, meta_of(message))
        if work is not None:
            self._jobs.beside(work, notification.spec.method)

    # How it ends.

    @property
    def crowded(self) -> bool:
        """Whether so much is to be done already that nothing more should be read."""
        return self.outbox.flooded or self._jobs.waiting >= self.options.max_waiting

    async def room(self) -> None:
        """Wait until it is right to read on."""
        await self.outbox.room()
        await self._jobs.room(self.options.max_waiting, lambda: self.connection.awaits)

    def abort(self, error: Disconnected) -> None:
        """The peer will send nothing more: calls that wait for it fail."""
        self._calls.abort(error)
        self._jobs.wake()
        self._gone = True
        self._aborted.ring()

    async def until_aborted(self) -> None:
        """Wait until the peer will send nothing more."""
        while not self._gone:
            await self._aborted.heard()

    async def close(self, within: float) -> None:
        """Answer what is open: with results for `within` seconds, then with errors."""
        self._ended = True
        for id in await self._jobs.close(within):
            # The answer to one that is not open is on its way already.
            data = self.connection.refuse(id, _STOPPED) if self.connection.is_open(id) else None
            if data is not None:
                self.outbox.put(data)
