"""Our own requests: sent, awaited with a timeout, cancelled, answered.

One timer serves all calls of a connection, set for the earliest known deadline.
"""

from asyncio import CancelledError, Future, TimerHandle, get_running_loop
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from logging import getLogger
from math import inf
from typing import Any, Final, TypeAlias

from ..connection import Connection, Ended, Failure, Progressed
from ..core.connection_errors import Disconnected, RequestTimeout, Unsent, explain_error
from ..core.errors import McpError, RequestId
from ..core.models.base import declared_member
from ..core.options import CallOptions, Options, Patience, Progress
from ..core.spec import AnyRequest, P, R, RequestSpec
from ..core.tasks import Tasks
from ..messages.codec import Error, Result
from .send_queue import MessageSink, send_soon

_log: Final = getLogger(__name__)

# The time for an answer after the peer has ended the request, in seconds.
_GRACE: Final = 1.0

# The most tasks whose progress is reported at the same time.
_MOST_TASKS: Final = 100

OnProgress: TypeAlias = Callable[[Progress], object]
OnBegin: TypeAlias = Callable[[RequestId], object]

_NO_REPORTS: Final[Mapping[RequestId, OnProgress]] = {}


@dataclass(eq=False, repr=False, slots=True)
class _Call:
    answer: Future[Any]
    on_progress: OnProgress | None
    sink: MessageSink
    sent: bool = False

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class PendingCalls:
    __slots__ = (
        *("_announce", "_calls", "_connection", "_loop", "_options", "_reports", "_sink", "_tasks"),
        *("_timer", "_timer_at", "_usual", "broken"),
    )

    def __init__(
        self,
        connection: Connection,
        sink: MessageSink,
        options: Options,
        tasks: Tasks,
        announce: Callable[[], object],
    ) -> None:
        self._connection = connection
        self._sink = sink
        self._options = options
        self._usual: dict[AnyRequest, Patience] = {}
        self._tasks = tasks
        self._announce = announce
        self._loop = get_running_loop()
        self._calls: dict[RequestId, _Call] = {}
        self._reports: Mapping[RequestId, OnProgress] = _NO_REPORTS
        self.broken: Disconnected | None = None
        self._timer: TimerHandle | None = None
        self._timer_at = inf

    async def request(
        self,
        spec: RequestSpec[P, Any, R],
        params: P | None,
        options: CallOptions,
        meta: bytes | None = None,
        via: MessageSink | None = None,
        on_begin: OnBegin | None = None,
    ) -> R:
        """Send a request and await its answer; see `Peer.request_once` and `Connection.request`."""
        if self.broken is not None:
            raise Unsent(self._connection.strays.explain(str(self.broken)))
        self._announce()
        on_progress = options.get("on_progress")
        patience = None if options else self._usual.get(spec)
        if patience is None:
            patience = self._options.patience(spec, options)
            if not options:
                self._usual[spec] = patience
        progress, now = on_progress is not None, self._loop.time()
        id, data = self._connection.request(
            spec, params, patience, now, progress=progress, meta=meta
        )
        if on_begin is not None:
            on_begin(id)
        answer: Future[R] = self._loop.create_future()
        sink = self._sink if via is None else via
        call = self._calls[id] = _Call(answer, on_progress, sink)
        try:
            if self._connection.latest_due < self._timer_at:
                self._watch(self._connection.latest_due)
            await send_soon(sink, data, alone=len(self._calls) <= 1, unless=answer)
            call.sent = True
            return await answer
        except BaseException as error:
            if isinstance(error, CancelledError):
                self._cancel(id, "cancelled by the caller")
            self._connection.forget(id)
            raise
        finally:
            del self._calls[id]
            # The traceback of an error would keep this frame.
            del call, answer

    def _cancel(self, id: RequestId, reason: str) -> None:
        data = self._connection.cancel(id, reason)
        # An unsent request needs no cancellation.
        call = self._calls[id]
        if data is not None and call.sent:
            call.sink.put(data)

    def take_answer(self, event: Result[Any] | Error | Failure) -> None:
        call = None if event.id is None else self._calls.get(event.id)
        if call is None or call.answer.done():
            return
        if isinstance(event, Result):
            if call.on_progress is not None and declared_member(event.value, "task") is not None:
                self._report_on(event.id, call.on_progress)
            call.answer.set_result(event.value)
        elif isinstance(event, Error):
            call.fail(McpError(event.code, event.message, event.data))
        else:
            call.fail(event.error)

    def _report_on(self, id: RequestId, on_progress: OnProgress) -> None:
        """Report progress as long as the task lives (2025-11-25, basic/utilities/tasks)."""
        # Nothing here learns when a task ends.
        latest = [*self._reports.items()][1 - _MOST_TASKS :]
        self._reports = self._connection.reported = {**dict(latest), id: on_progress}

    def fail(self, id: RequestId, error: Exception) -> None:
        self._connection.forget(id)
        if (call := self._calls.get(id)) is not None:
            call.fail(explain_error(error, self._connection.strays, id))

    def set_paused(self, id: RequestId, paused: bool) -> None:
        """Pause the timeout of a request, or restart it."""
        self._connection.set_paused(id, paused, self._loop.time())
        self._watch(self._connection.deadline())

    def take_progress(self, event: Progressed) -> None:
        call = self._calls.get(event.id)
        on_progress = self._reports.get(event.id) if call is None else call.on_progress
        if on_progress is None:
            return
        params = event.notification.params
        # The first revision has no message here.
        progress = Progress(params.progress, params.total, declared_member(params, "message"))
        try:
            work = on_progress(progress)
        except Exception:
            _log.exception("the progress callback failed")
            return
        if isawaitable(work):
            self._tasks.start(_await_callback(work))

    def take_end(self, event: Ended) -> None:
        if (call := self._calls.get(event.id)) is not None:
            self._loop.call_later(_GRACE, call.fail, Disconnected("the peer ended the request"))

    def abort(self, error: Disconnected) -> None:
        self.broken = self.broken or error
        if self._timer is not None:
            self._timer.cancel()
        for id in self._calls:
            self.fail(id, Disconnected(*self.broken.args))

    def _watch(self, due: float) -> None:
        if due < self._timer_at:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = due
            self._timer = self._loop.call_at(due, self._expire)

    def _expire(self) -> None:
        for id, pending in self._connection.overdue(self._loop.time()):
            seconds = pending.seconds
            self._cancel(id, f"no answer within {seconds:g} s")
            strays = self._connection.strays
            self._calls[id].fail(RequestTimeout(pending.spec.method, seconds, strays, id))
        self._timer, self._timer_at = None, inf
        self._watch(self._connection.deadline())


async def _await_callback(work: Awaitable[object]) -> None:
    await work
