"""A tool call that its server runs as a task.

Tasks of the extension are polled, and requests of the client answer their questions. In 2025-11-25
one request waits for the result, and the server sends questions as requests. A notification
replaces the next poll; nothing relies on it.
"""

from asyncio import Lock, create_task, shield
from asyncio import Task as Running
from collections.abc import AsyncIterator, Mapping
from logging import getLogger
from math import inf
from time import monotonic, time
from types import SimpleNamespace
from typing import Any, Final, TypeVar, overload
from weakref import WeakValueDictionary

from ....client.base import ClientBase, ClientConnection, ReadAs, Work, unfit_question
from ....client.checked_results import CheckedResults, find_known_tools
from ....client.tool_results import reader
from ....core.connection_errors import Disconnected, RequestTimeout
from ....core.errors import INTERNAL_ERROR, InvalidAnswer, LocalError, McpError, ProtocolError
from ....core.json import JSONObject, is_array, is_object
from ....core.models.base import ToolResult, WireModel, validator_of
from ....core.options import NO_END, CallOptions
from ....core.spec import CALL_TOOL, AnyRequest
from ....core.tasks import Signal, together
from ....messages.method_table import MethodTable
from ....rules.task_kinds import task_kind
from ....rules.task_methods import CANCEL, GET, RESULT, UPDATE
from ....transports.base import wait_within
from ..remote_tasks import TaskCancelled, TaskState, confirm_cancel, payload, state_of
from ..task import Status

T = TypeVar("T")

_log: Final = getLogger(__name__)

# Seconds between polls: the default (2025-11-25, basic/utilities/tasks, gives no number), and the
# least.
_INTERVAL: Final = 1.0
_LEAST: Final = 0.05
# The most consecutive temporary failures.
_MOST_FAILURES: Final = 30


class TaskWire:
    def __init__(self, client: ClientBase, connection: ClientConnection) -> None:
        self.client: Final = client
        self.connection: Final = connection
        self.table: Final[MethodTable] = connection.view.table
        self.kind: Final = task_kind(self.table.wire)
        self.id_member: Final = self.table.rules.task_id
        self.spec: Final[AnyRequest] = client.TABLE.spec_of(CALL_TOOL)
        self.handles: Final = WeakValueDictionary[str, Any]()

    async def ask(
        self, method: str, id: str | None, options: CallOptions | None = None, /, **members: Any
    ) -> Any:
        if (spec := self.table.wire.spec_of(method)) is None:
            raise LocalError(f"{method} is not a request of {self.table.revision}")
        params = spec.params(**{self.id_member: id}, **members)
        return await self.client.request_once(spec, params, **(options or {}))

    def read(self, result: Any) -> Any:
        """Return a tool result, checked like an immediate one."""
        found = self.table.read_result(self.table.spec_of(CALL_TOOL), result)
        if not isinstance(found, self.spec.results[0]):
            problem = ("/result/result", "no result")
            raise InvalidAnswer("the task's result is not a tool result", [problem])
        return found

    def on_notification(self, task: JSONObject) -> None:
        if (handle := self.handles.get(task[self.id_member])) is not None:
            handle.note_change(task)


class TaskHandle:
    """A tool call as a task: `await handle.result()`.

    Made by `start_task`, and by `task` from the value of `to_json`, also in another process.
    Several may be awaited side by side.
    """

    def __init__(
        self,
        wire: TaskWire,
        tool: str,
        *,
        id: str | None = None,
        began: float | None = None,
        task: JSONObject | None = None,
        plain: JSONObject | None = None,
    ) -> None:
        self.id: Final = id
        """The id of the task; None if the server answered without one."""
        self.tool: Final = tool
        self._wire = wire
        now = time()
        self._began = now if began is None else began
        # In monotonic time, because the wall clock may be set.
        self._began_at = monotonic() + self._began - now
        self._task = task
        self._plain = plain
        """The result, if the server answered without a task."""
        self._changed = Signal()
        self.has_news = False
        """Whether a notification came after the last look."""
        self._answers: dict[str, JSONObject] = {}
        self._answered: set[str] = set()
        self._answering = Lock()
        self._failures = 0
        if id is not None:
            wire.handles[id] = self

    async def status(self) -> TaskState:
        """Ask for the state of the task; raise `McpError` if the server does not know it."""
        if self.id is None:
            return TaskState(status=Status.COMPLETED)
        return state_of(await self._look())

    @overload
    async def result(
        self, *, check: bool | None = ..., max_timeout: float | None = ...
    ) -> ToolResult: ...
    @overload
    async def result(
        self, *, as_: ReadAs[T], check: bool | None = ..., max_timeout: float | None = ...
    ) -> T: ...
    async def result(
        self, *, as_: Any = None, check: bool | None = None, max_timeout: float | None = None
    ) -> Any:
        """Wait for the tool's result, and answer the task's questions meanwhile.

        `as_` and `check` are those of `call_tool`. Raise `McpError` if the call failed,
        `TaskCancelled`, and `RequestTimeout` after `max_timeout` seconds, or when the server stops
        keeping the task. Giving up does not cancel it.
        """
        spec = self._wire.spec
        read = reader(spec, as_, check) if as_ is not None or check else None
        seconds = inf if max_timeout is None else max_timeout
        result = await self.outcome(monotonic() + seconds, seconds)
        if isinstance(self._wire.client, CheckedResults):
            known = find_known_tools(self._wire.client)
            call, is_new = await known.begin(self.tool, {})
            await known.check_result(self.tool, result, None if is_new else call)
        return read(result) if read else result

    async def cancel(self) -> None:
        """Ask the server to cancel the task, which may still end otherwise.

        An ended task stays as it is. Raise `McpError` for an unknown one.
        """
        if self.id is not None:
            await confirm_cancel(self._wire.ask(CANCEL, self.id), self._look)

    async def __aiter__(self) -> AsyncIterator[TaskState]:
        """Yield the task's state at each new status or message, until its end.

        Its questions are answered meanwhile. Raise `McpError` if the server does not know it.
        """
        if self.id is None:
            yield await self.status()
            return
        last: TaskState | None = None
        fetching: Running[Any] | None = None
        try:
            while True:
                task = await self._next()
                state = state_of(task)
                if last is None or (state.status, state.message) != (last.status, last.message):
                    yield state
                if state.has_ended:
                    return
                if state.status is Status.INPUT_REQUIRED:
                    if self._wire.kind == "extension":
                        await self._answer(task["inputRequests"])
                    elif fetching is None or fetching.done():
                        # So that questions come (2025-11-25). The state is polled, so the
                        # outcome does not matter.
                        fetching = create_task(self._wire.ask(RESULT, self.id, NO_END))
                        fetching.add_done_callback(lambda end: end.cancelled() or end.exception())
                last = state
                await self._pause(state, inf)
        finally:
            if fetching is not None:
                fetching.cancel()

    def to_json(self) -> JSONObject:
        """Return a JSON object for `task` of a client; its only secret is the id."""
        value: JSONObject = {"tool": self.tool, "began": self._began, "form": self._wire.kind}
        if self.id is None:
            return {**value, "result": self._plain}
        return {**value, "taskId": self.id, "answered": sorted(self._answered)}

    @classmethod
    def restore(cls, wire: TaskWire, value: Mapping[str, Any]) -> "TaskHandle":
        tool, began, id = value.get("tool"), value.get("began"), value.get("taskId")
        answered, result = value.get("answered", []), value.get("result")
        unfit = LocalError("expected a value of TaskHandle.to_json")
        if not isinstance(tool, str) or not isinstance(began, (int, float)):
            raise unfit
        if id is None and is_object(result):
            return cls(wire, tool, plain=result)
        if not isinstance(id, str) or not is_array(answered):
            raise unfit
        if value.get("form") != wire.kind:
            reason = f"another kind of tasks than {wire.table.revision}"
            raise LocalError(f"the task comes from a revision with {reason}")
        handle = cls(wire, tool, id=id, began=began)
        handle._answered.update(map(str, answered))
        return handle

    def note_change(self, task: JSONObject) -> None:
        self._task, self.has_news = task, True
        self._changed.notify_all()

    async def outcome(self, due: float, seconds: float) -> Any:
        """Return the result; give up at `due`, and report `seconds` then."""
        if self.id is None:
            return self._wire.read(self._plain)
        if self._wire.kind == "core":
            return await self._fetch_result(self.id, due, seconds)
        task = await self._wait_for_end(due, seconds)
        if task["status"] == Status.CANCELLED:
            raise TaskCancelled(self.id, task.get("statusMessage"))
        if task["status"] == Status.FAILED:
            error: JSONObject = task["error"]
            came, method = (error["code"], error.get("data")), self._wire.spec.method
            code, data = self._wire.table.error_that_came(method, came)
            raise McpError(code, error["message"], data)
        return self._wire.read(task["result"])

    async def cancel_quietly(self) -> None:
        try:
            await self._wire.ask(CANCEL, self.id)
        except (ProtocolError, Disconnected) as error:
            _log.info("a task was not cancelled: %s", error)

    async def _fetch_result(self, id: str, due: float, seconds: float) -> Any:
        while True:
            left = min(due, self._lapses()) - monotonic()
            options = CallOptions(timeout=left, max_timeout=left)
            try:
                asking = self._wire.ask(RESULT, id, options)
                return await payload(asking, self._wire.read, id, self._look)
            except RequestTimeout:
                reported = seconds if due <= self._lapses() else left
                raise RequestTimeout(self._wire.spec.method, reported) from None
            except McpError as error:
                # Do not repeat the request for the task's own error.
                state = None if self._task is None else state_of(self._task)
                if state is None or state.has_ended or not self._may_come_later(error):
                    raise
            await self._pause(state, min(due, self._lapses()))

    async def _wait_for_end(self, due: float, seconds: float) -> JSONObject:
        task = self._task
        if task is None or task["status"] != Status.WORKING:
            task = await self._next()
        while True:
            state = state_of(task)
            if state.has_ended:
                return task
            if state.status is Status.INPUT_REQUIRED:
                await self._answer(task["inputRequests"])
            # By this clock only: the server's may differ.
            lapses = self._lapses()
            if monotonic() >= min(due, lapses):
                reported = seconds if due <= lapses else state.ttl or 0
                raise RequestTimeout(self._wire.spec.method, reported)
            await self._pause(state, min(due, lapses))
            task = await self._next()

    async def _next(self) -> JSONObject:
        before = self._task
        if self.has_news and before is not None:
            self.has_news = False
            return before
        try:
            task = await self._look()
        except RequestTimeout:
            if before is None:
                raise
            _log.info("the server did not answer in time; asking again")
            return before
        except McpError as error:
            if before is None or not self._may_come_later(error):
                raise
            return before
        if task["status"] != Status.INPUT_REQUIRED:
            self._failures = 0
        return task

    def _may_come_later(self, error: McpError) -> bool:
        """Return whether to ask again after an error: the task store may be unavailable."""
        self._failures += 1
        if error.code != INTERNAL_ERROR or self._failures >= _MOST_FAILURES:
            return False
        _log.info("the server cannot answer now: %s; asking again", error)
        return True

    async def _look(self) -> JSONObject:
        # Tasks are not cancelled by notification, so let the request finish.
        result: WireModel = await shield(self._wire.ask(GET, self.id))
        self._task, self.has_news = result.to_wire(), False
        return self._task

    async def _pause(self, state: TaskState, due: float) -> None:
        interval = _INTERVAL if state.poll_interval is None else state.poll_interval
        if not self.has_news:
            least = max(min(interval, due - monotonic()), _LEAST)
            await wait_within(least, self._changed.wait())

    def _lapses(self) -> float:
        """Return when the task expires, in monotonic time."""
        ttl = None if self._task is None else state_of(self._task).ttl
        return inf if ttl is None else self._began_at + ttl

    async def _answer(self, questions: Mapping[str, JSONObject]) -> None:
        async with self._answering:
            new = [key for key in questions if key not in self._answered]
            # Check all questions before answering any.
            unasked = [key for key in new if key not in self._answers]
            works = [self._prepare_question(key, questions[key]) for key in unasked]
            await together(map(self._ask_user, unasked, works))
            answers = {key: self._answers[key] for key in new}
            if answers:
                try:
                    await self._wire.ask(UPDATE, self.id, inputResponses=answers)
                except McpError as error:
                    if not self._may_come_later(error):
                        raise
                    return  # Sent after the next look.
                self._answered |= answers.keys()
                self._failures = 0
            self._answers.clear()

    def _prepare_question(self, key: str, asked: JSONObject) -> Work:
        method = asked["method"]
        if (spec := self._wire.table.wire.input_requests.get(method)) is None:
            raise unfit_question(key, f"{method} is not a question")
        params = validator_of(spec.params)(asked["params"]) if "params" in asked else None
        question = SimpleNamespace(method=method, params=params)
        connection = self._wire.connection
        if connection.view.adapters is None:
            return connection.prepare(key, question)
        work: Work = connection.view.adapters.prepare_native(connection, key, question)
        return work

    async def _ask_user(self, key: str, work: Work) -> None:
        # Keep the user's answer, even if it is not sent now.
        answer: WireModel = await work()
        self._answers[key] = answer.to_wire()
