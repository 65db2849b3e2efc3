"""A request across a bridge: it lasts as long as the server works on it.

The client's request may end sooner, with a question to the client, and come back.
"""

from asyncio import CancelledError, Future, Task, TimerHandle, create_task, get_running_loop
from collections import deque
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from logging import getLogger
from typing import Any, Final, NamedTuple

from ...connection import PROGRESS
from ...core.connection_errors import Disconnected, Unsent
from ...core.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    LocalError,
    McpError,
    RemoteError,
    RequestId,
)
from ...core.options import Progress
from ...core.spec import AnyRequest
from ...core.tasks import Signal
from ...messages.envelope import PROGRESS_TOKEN
from ...server.context import RequestContext
from .forwarding import error_for, result_of

_log: Final = getLogger(__name__)

_MOST_REPORTS: Final = 1000
"""The most progress reports that wait for a slow client; the oldest are dropped."""


class _Question(NamedTuple):
    spec: AnyRequest
    params: Any
    answer: Future[Any]


_current: Final[ContextVar["ForwardedRequest | None"]] = ContextVar("forwarded", default=None)


def note_sent(id: RequestId) -> RequestId:
    """Note that the forwarded request of this task, if any, was sent under `id`; return `id`."""
    if (forwarded := _current.get()) is not None:
        forwarded.sent.add(id)
    return id


class ForwardedRequest:
    def __init__(self, method: str, work: Callable[[], Awaitable[Any]]) -> None:
        self._method, self._work = method, work
        self._task: Any = None
        self.sent: set[RequestId] = set()
        """The ids at the server, of all rounds."""
        self._questions: deque[_Question] = deque()
        self._answered: list[_Question] = []
        self._changed = Signal()
        self._expiry: TimerHandle | None = None
        self._busy = self.is_over = False
        self._unreported: deque[Progress] = deque(maxlen=_MOST_REPORTS)
        self._reporting: Task[None] | None = None
        self.context: RequestContext | None = None

    async def _run(self) -> Any:
        token = _current.set(self)
        try:
            return await result_of(self._work(), self._method)
        finally:
            _current.reset(token)
            self.is_over = True

    async def run(self, context: RequestContext) -> Any:
        """Return the result of a request that cannot come back."""
        self._busy, self.context = True, context
        try:
            return await self._run()
        except CancelledError:
            self._busy = False
            raise
        finally:
            if self._busy:
                # Progress must arrive before the answer.
                await self._wait_reported()

    def _on_end(self, task: Task[Any]) -> None:
        if not task.cancelled():
            task.exception()  # raised where the outcome is awaited
        for question in self._questions:
            question.answer.cancel()
        self._changed.notify_all()

    async def ask(self, spec: AnyRequest, params: Any) -> Any:
        question = _Question(spec, params, get_running_loop().create_future())
        self._questions.append(question)
        self._changed.notify_all()
        return await question.answer

    def report_progress(self, progress: Progress) -> None:
        """Forward progress; while the client is away, keep the newest."""
        if not self._busy:
            self._unreported.clear()
        self._unreported.append(progress)
        if self._busy and (self._reporting is None or self._reporting.done()):
            self._reporting = create_task(self._report())

    async def _report(self) -> None:
        while self._busy and self._unreported and self.context is not None:
            try:
                await _report(self.context, self._unreported.popleft())
            except Disconnected:
                _log.info("progress was not reported: the client is gone")

    async def _wait_reported(self) -> None:
        if self._reporting is not None:
            await self._reporting

    async def outcome(self, context: RequestContext) -> Any:
        if self._busy:
            raise McpError(INVALID_REQUEST, "The same request is being answered already")
        self._busy, self.context = True, context
        if self._expiry is not None:
            self._expiry.cancel()
        if self._task is None:
            self._task = create_task(self._run())
            self._task.add_done_callback(self._on_end)
        try:
            if self._unreported:
                self.report_progress(self._unreported.pop())
                await self._wait_reported()
            await self._questioning(context)
            # Progress must arrive before the answer.
            await self._wait_reported()
        except CancelledError:
            # The client is asked and comes back, or has given up.
            if context.questions.rounds is None or not context.questions.rounds.suspended:
                self.cancel()
            raise
        finally:
            self._busy = False
        if self._task.cancelled():
            # The connection to the server has ended.
            cause = Disconnected() if self.sent else Unsent()
            raise McpError(INTERNAL_ERROR, "The request was cancelled") from cause
        return self._task.result()

    async def _questioning(self, context: RequestContext) -> None:
        if context.questions.rounds is not None:
            # Questions of earlier rounds are repeated, to get their answers.
            for question in self._answered:
                await context.request_unchecked(question.spec, question.params, {})
        while not self._task.done():
            while self._questions:
                question = self._questions[0]
                await self._put(context, question)
                self._questions.popleft()
                if not question.answer.cancelled():
                    self._answered.append(question)
            if not self._task.done():
                await self._changed.wait()

    @staticmethod
    async def _put(context: RequestContext, question: _Question) -> None:
        spec, params, answer = question
        # The server may withdraw its question at any time.
        if answer.done():
            return
        try:
            result = await context.request_unchecked(spec, params, {})
        except (McpError, LocalError, RemoteError) as error:
            if not answer.done():
                answer.set_exception(error_for("server", spec.method, error))
        else:
            if not answer.done():
                answer.set_result(result)

    def expire(self, seconds: float, forget: Callable[[], object]) -> None:
        def give_up() -> None:
            self.cancel()
            forget()

        self._expiry = get_running_loop().call_later(seconds, give_up)

    def cancel(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
        self.is_over = True
        if self._task is not None:
            self._task.cancel()

    @property
    def waits(self) -> bool:
        return not self._busy and not self.is_over

    @property
    def is_open(self) -> bool:
        """Return whether the server works on it."""
        return bool(self.sent) and not self.is_over


async def _report(context: RequestContext, progress: Progress) -> None:
    # Not by the context's own reports, which leave out some of them.
    spec = context.table.notifications[PROGRESS]
    wire = {name: value for name, value in progress._asdict().items() if value is not None}
    wire["progress"] = wire.pop("done")
    params = spec.params.from_wire({"progressToken": context.meta[PROGRESS_TOKEN], **wire})
    await context.notify(spec, params)
