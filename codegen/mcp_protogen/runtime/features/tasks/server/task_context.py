"""The context of a request that runs as a task, and its connection.

The client may be gone, and polls the task. So questions are stored with the task until answered,
and reports are sent only for core tasks, while the session lives.
"""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from ....core.connection_errors import Disconnected
from ....core.http_request import HttpRequest, Principal
from ....core.json import JSONObject
from ....core.middleware import send_through
from ....core.options import CallOptions
from ....core.spec import NotificationSpec, RequestSpec
from ....messages.codec import Request
from ....messages.envelope import members
from ....rpc.jobs import Reply, Serve, Work
from ....rpc.null_sink import NullSink
from ....rpc.send_queue import MessageSink
from ....rules.lifecycle import check
from ....rules.task_kinds import TaskKind
from ....server.connection import BoundServer, ServerConnection, ServerState
from ....server.context import RequestContext, SessionSwitches
from ....server.rounds import QuestionKeys
from .. import core_wire, lifecycle
from ..leases import Step
from ..lifecycle import TaskEnded, has_ended
from ..registry import TaskRegistry, UnknownTask
from ..task import Task

P = TypeVar("P")
R = TypeVar("R")

_NOBODY: Final[MessageSink] = NullSink("a task has no connection of its own")


@dataclass(eq=False, slots=True)
class TaskReply:
    """The reply of a request that runs as a task; the request is already answered."""

    principal: Principal | None = None
    http_request: HttpRequest | None = None
    beside: MessageSink = _NOBODY

    def awaits(self, id: object, /) -> bool:
        return False

    def answer(self, data: bytes, error: object, /) -> Work:
        raise Disconnected("the request of this task is already answered")

    def skip(self) -> None: ...

    async def release(self) -> None: ...


class TaskConnection(ServerConnection):
    """A connection of one task, without a peer; it ends with the work."""

    __slots__ = ("_switched", "_task_context")

    def __init__(
        self,
        bound_server: BoundServer,
        state: ServerState,
        origin: RequestContext | None = None,
        declared: JSONObject | None = None,
    ) -> None:
        connection = bound_server.connection()
        connection.shared, connection.signature = True, None
        if origin is not None:
            asked = origin.endpoint.connection
            connection.table = asked.table
            connection.declared["client"] = asked.declared["client"]
            if "client" in asked.identity:
                connection.identity["client"] = asked.identity["client"]
        elif connection.table.era.remembers_client:
            unknown = {"name": "unknown", "version": "0"}
            bound_server.remember(connection, declared or {}, unknown)
        super().__init__(bound_server, connection, state, _NOBODY)
        self._switched: SessionSwitches = ()
        if origin is not None:
            self.level = origin.connection.level
            self._switched = self.server.__mcp_runtime__.switches_of(origin.connection)
        self._task_context: TaskContext | None = None

    def begin(self) -> None:
        """Apply the session's switches, until the connection is unregistered."""
        if self._switched:
            self.server.__mcp_runtime__.resume(self, self._switched)

    def outermost(self) -> Serve:
        return self.answer_to

    def for_request(
        self, request: Request[Any], reply: Reply, registry: TaskRegistry
    ) -> "TaskContext":
        self._task_context = TaskContext(self, request, reply, registry)
        return self._task_context

    def context(self, request: Request[Any], reply: Reply) -> RequestContext:
        return super().context(request, reply) if self._task_context is None else self._task_context


class TaskContext(RequestContext):
    """A request that runs as a task, or will if its handler asks for it."""

    __slots__ = ("_keys", "_registry", "become", "form", "id", "origin", "worker")

    def __init__(
        self,
        connection: TaskConnection,
        request: Request[Any],
        reply: Reply,
        registry: TaskRegistry,
    ) -> None:
        super().__init__(connection, request, reply)
        self._registry = registry
        self._keys = QuestionKeys()
        self.id: str | None = None
        self.form: TaskKind = "extension"
        self.origin: RequestContext | None = None
        """The original request, while its client can be reached."""
        self.become: Callable[[], Awaitable[Task]] | None = None
        self.worker: str | None = None

    def began(self, task: Task) -> None:
        self.id, self.form, self.worker = task.id, task.form, task.worker
        self.become = None
        questions = self.questions
        questions.once.done.update(task.done)
        questions.once.keep = self._keep
        if questions.begun is not None:
            self._keys = questions.begun.keys

    async def become_task(self) -> None:
        if self.become is not None:
            self.began(await self.become())

    def is_awaited(self) -> bool:
        origin = self.origin
        if origin is None:
            return False
        if self.id is None:
            return origin.is_awaited()
        return self.form == "core" and origin.endpoint.broken is None

    async def notify(self, spec: NotificationSpec[P], params: P | None) -> None:
        origin = self.origin
        if origin is None:
            raise Disconnected("the client of this task cannot be reached")
        if self.id is None:
            await origin.notify(spec, params)
        else:
            meta = members(core_wire.related_meta(self.id))
            await origin.endpoint.notify(spec, params, meta=meta, via=origin.beside)

    async def close_stream(self) -> None:
        if self.id is None and self.origin is not None:
            await self.origin.close_stream()

    async def request_unchecked(
        self, spec: RequestSpec[P, Any, R], params: P | None, options: CallOptions
    ) -> R:
        origin, spoken = self.origin, self.spoken
        if self.id is None:
            if origin is not None and spoken.rules.server_requests:
                return await origin.request_unchecked(spec, params, options)
            return await super().request_unchecked(spec, params, options)
        if spec.method == "ping":
            # The client has asked about its task.
            alive: R = spec.results[0]()
            return alive

        async def send(changed: Any) -> R:
            check(spec, "server", changed, {"client": self.peer_capabilities(), "server": {}})
            answer = await self._answer_to(spoken.write_question(spec, changed))
            return spoken.read_response(spec, answer)

        middleware = self.connection.middleware if spoken.rules.server_requests else ()
        answered: R = await send_through(middleware, send, spec, params, self.method_call)
        return answered

    async def _answer_to(self, question: JSONObject) -> JSONObject:
        assert self.id is not None
        registry, key = self._registry, self._keys.key(question)

        def ask(task: Task) -> Task:
            if key in task.questions or key in task.answers:
                # From an earlier run.
                return task
            return lifecycle.add_questions(task, {key: question}, registry.clock())

        task = await self._change(ask)
        while key not in task.answers:
            task = await registry.wait_for_change(task)
        return core_wire.answer_of(task.answers[key])

    async def _keep(self, key: str, result: Any) -> None:
        # Ended tasks do not run again.
        with suppress(TaskEnded, UnknownTask):
            await self._change(lambda task: lifecycle.note_result(task, key, result))

    async def _change(self, step: Step) -> Task:
        def ours(task: Task) -> Task:
            if not has_ended(task) and self.worker not in (None, task.worker):
                raise Disconnected("another worker runs the task")
            return step(task)

        assert self.id is not None
        return await self._registry.change(self.id, ours)
