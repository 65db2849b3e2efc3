"""A connection driven by asyncio: calls are awaited, and what the peer sends is handled.

Every request of the peer runs as a task of its own, so that a slow or failing one harms no other
and may call back to the peer that waits for it. Notifications are handled in the order in which
they came, and before the answers that came after them.
"""

import asyncio
from asyncio import get_running_loop
from collections.abc import Awaitable, Callable, Mapping
from logging import getLogger
from typing import Any, Final, TypeVar

from . import gate
from .calls import Calls
from .connection import Connection
from .dispatch import Error, Notification, Request, Result
from .envelope import meta_of, params_of
from .errors import (
    INTERNAL_ERROR,
    Disconnected,
    InvalidParams,
    InvalidRequest,
    LocalError,
    McpError,
    MethodNotFound,
    MissingCapability,
    MissingClientCapability,
    ProtocolError,
    RemoteError,
)
from .events import Cancelled, Ended, Event, Failure, Ignored, Progressed, Refusal
from .jobs import Alone, Batch, Job, Jobs, Reply
from .jsonvalue import is_array
from .options import CallOptions, Options
from .outbox import Outbox
from .spec import Capability, NotificationSpec, RequestSpec
from .tasks import Tasks
from .translation.losses import Untranslatable

P = TypeVar("P")
R = TypeVar("R")

_log: Final = getLogger(__name__)

# The answers that a handler may choose; any other exception is a fault whose text stays here.
_ANSWERS: Final = (
    McpError,
    Untranslatable,
    InvalidRequest,
    MethodNotFound,
    InvalidParams,
    MissingClientCapability,
)


class Endpoint:
    """One side of a connection in one revision.

    `serve` answers a request, given its params as they came; `heed` is told of notifications
    and gives None if nobody is interested.
    """

    __slots__ = (
        "_abandoned",
        "_alone",
        "_calls",
        "_ended",
        "_heed",
        "_jobs",
        "_loop",
        "_serve",
        "connection",
        "options",
        "outbox",
        "principal",
        "tasks",
    )

    def __init__(
        self,
        connection: Connection,
        outbox: Outbox,
        tasks: Tasks,
        options: Options,
        serve: Callable[[Request[Any], Mapping[str, Any]], Awaitable[Any]],
        heed: Callable[[Notification[Any], Mapping[str, Any]], Awaitable[None] | None],
    ) -> None:
        self.connection = connection
        self.outbox = outbox
        self.tasks = tasks
        self.options = options
        self.principal: str | None = None
        """Whom the transport has authenticated, if it does."""
        self._serve = serve
        self._heed = heed
        self._loop = get_running_loop()
        self._calls = Calls(connection, outbox, options, tasks)
        self._jobs = Jobs(self._respond, options.max_in_flight, tasks)
        self._alone = Alone(outbox, self._jobs)
        self._ended = False
        self._abandoned = asyncio.Event()

    def now(self) -> float:
        """The time, in seconds of a clock that does not go back."""
        return self._loop.time()

    # What this side sends.

    async def request(self, spec: RequestSpec[P, R], params: P | None, options: CallOptions) -> R:
        """Send a request and wait for its result; see `Calls.request`."""
        # From now on reading may be what a handler waits for.
        self._jobs.wake()
        return await self._calls.request(spec, params, options)

    async def notify(
        self, spec: NotificationSpec[P], params: P | None, *, meta: bytes | None = None
    ) -> None:
        """Send a notification; raises `LocalError` and `Disconnected`.

        One that the peer's revision has no words for is not sent, and reported as lost.
        """
        try:
            data = self.connection.notify(spec, params, meta=meta)
        except Untranslatable as error:
            self.connection.table.lost(spec.method, error)
            return
        await self.outbox.send(data)

    # What comes.

    def receive(self, message: object) -> None:
        """Take in one decoded message, or one batch."""
        if is_array(message):
            self._receive_batch(message)
        else:
            self._react(self._take(message), message, self._alone)

    def _receive_batch(self, value: object) -> None:
        try:
            members = self.connection.table.members(value) or []
        except RemoteError as error:
            self._refuse(Refusal(None, error), self._alone)
            return
        events = [(self._take(member), member) for member in members]
        answered = sum(isinstance(event, (Request, Refusal)) for event, _ in events)
        batch = Batch(self.outbox, answered)
        for event, member in events:
            self._react(event, member, batch)

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
            _log.info("request %r was cancelled", event.id)
            self._jobs.stop(event.id)
            self._notified(event.notification, message)
        elif isinstance(event, Ended):
            self._calls.ended(event)
            self._notified(event.notification, message)
        else:
            _log.info("ignored a message: %s", event.error)

    def _start(self, job: Job) -> None:
        if self._ended:
            job.reply.skip()
        elif self._jobs.waiting >= self.options.max_waiting:
            busy = ProtocolError("Too many requests at once", code=INTERNAL_ERROR)
            self._answer_now(self.connection.refuse(job.request.id, busy), job.reply)
        else:
            self._jobs.start(job)

    def _refuse(self, refusal: Refusal, reply: Reply) -> None:
        _log.info("refused a message: %s", refusal.error)
        if self._is_to_be_answered(refusal):
            self._answer_now(self.connection.refuse(refusal.id, refusal.error), reply)
        else:
            reply.skip()

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
            self.tasks.start(reply.send(data))

    async def _respond(self, job: Job) -> None:
        data = await self._answer(job)
        if data is None:
            job.reply.skip()
            return
        try:
            await job.reply.send(data)
        except Disconnected:
            _log.info("nobody is left to read the answer to %s", job.request.spec.method)

    async def _answer(self, job: Job) -> bytes | None:
        request = job.request
        try:
            result = await self._serve(request, job.raw)
        except _ANSWERS as error:
            return self._refused(request, error)
        except MissingCapability as error:
            return self._refused(request, self._lacking(error))
        except (RemoteError, Disconnected) as error:
            # The peer, who was asked something meanwhile, is at fault, and no handler.
            _log.warning("%s was not answered: %s", request.spec.method, error)
            return self._refused(request, _fault("Internal error"))
        except Exception:
            # The peer learns that something failed, never what: texts of exceptions hold secrets.
            _log.exception("the handler of %s failed", request.spec.method)
            return self._refused(request, _fault("Internal error"))
        return self._written(request, result)

    def _written(self, request: Request[Any], result: Any) -> bytes | None:
        try:
            return self.connection.answer(request, result)
        except Untranslatable as error:
            _log.warning("the answer to %s cannot be sent: %s", request.spec.method, error)
            return self._refused(request, _fault(str(error)))
        except LocalError:
            _log.exception("the handler of %s returned what cannot be sent", request.spec.method)
            return self._refused(request, _fault("Internal error"))

    def _lacking(self, error: MissingCapability) -> ProtocolError:
        """What to say of a capability that a handler counted on."""
        if error.role != self.connection.peer:
            # This side forgot to declare it, which is nobody else's business.
            _log.error("a handler failed: %s", error)
            return _fault("Internal error")
        required = gate.declare([Capability(self.connection.peer, error.steps)])
        if self.connection.table.rules.era == "stateless":
            return MissingClientCapability(str(error), required)
        data = {"requiredCapabilities": required}
        return ProtocolError(str(error), code=INTERNAL_ERROR, data=data)

    def _refused(self, request: Request[Any], error: ProtocolError) -> bytes | None:
        open = self.connection.is_open(request.id)
        return self.connection.refuse(request.id, error) if open else None

    def _notified(self, notification: Notification[Any], message: Any) -> None:
        work = self._heed(notification, meta_of(message))
        if work is not None:
            self._jobs.beside(_heeded(work, notification.spec.method))

    # How it ends.

    @property
    def crowded(self) -> bool:
        """Whether so much is to be done already that nothing more should be read."""
        return self.outbox.flooded or self._jobs.waiting >= self.options.max_waiting

    async def room(self) -> None:
        """Wait until it is right to read on."""
        await self.outbox.room()
        await self._jobs.room(self.options.max_waiting, lambda: self.connection.awaits)

    def abandon(self, error: Disconnected) -> None:
        """The peer will send nothing more: calls that wait for it fail."""
        self._calls.abandon(error)
        self._jobs.wake()
        self._abandoned.set()

    async def until_abandoned(self) -> None:
        """Wait until the peer will send nothing more."""
        await self._abandoned.wait()

    async def finish(self, within: float) -> None:
        """Answer what is open: with results for `within` seconds, then with errors."""
        self._ended = True
        stopped = ProtocolError("The server is shutting down", code=INTERNAL_ERROR)
        for id in await self._jobs.finish(within):
            data = self.connection.refuse(id, stopped)
            if data is not None:
                self.outbox.put(data)


def _fault(message: str) -> ProtocolError:
    return ProtocolError(message, code=INTERNAL_ERROR)


async def _heeded(work: Awaitable[None], method: str) -> None:
    try:
        await work
    except Exception:
        _log.exception("the handler of %s failed", method)
