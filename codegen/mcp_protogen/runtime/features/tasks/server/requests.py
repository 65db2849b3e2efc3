"""Requests that become tasks.

In 2025-11-25 a request asks for a task; in the extension it declares that its sender supports them.
"""

from asyncio import (
    FIRST_COMPLETED,
    CancelledError,
    Future,
    Lock,
    create_task,
    get_running_loop,
    wait,
)
from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from logging import getLogger
from typing import Any, Final

from ....connection import ResultText
from ....core.errors import INTERNAL_ERROR, METHOD_NOT_FOUND, McpError
from ....core.json import JSONObject, is_object, json_text, without
from ....core.spec import CALL_TOOL
from ....messages.codec import Request
from ....messages.envelope import client_capabilities
from ....messages.method_table import MethodTable
from ....rpc.jobs import Job
from ....rules.handlers import Handler
from ....rules.task_kinds import (
    TaskKind,
    has_tasks,
    needs_extension,
    task_kind,
    tasks_declared,
)
from ....rules.task_methods import LIST, TASK_METHODS
from ....server.connection import ServerConnection, ServerState
from ....server.context import RequestContext
from ....server.layers import Follow, Following, Layer
from ....server.waiting_strategies import in_tasks
from ....storage.engine import EngineUnavailable
from ....toolkit.request_items import find_items
from ....toolkit.task_options import TaskMode
from ....toolkit.toolkit_runtime import ToolkitRuntime
from ..core_wire import creation_result, ttl_asked
from ..lifecycle import Outcome
from ..on_wire import ServersTasks, wire_task
from ..registry import UnknownTask
from ..task import Task
from . import core_handlers, extension_wire
from .hosting import answer_request, begin, check_tasks, outcome_of
from .task_context import TaskConnection, TaskReply

_log: Final = getLogger(__name__)

_HANDLERS: Final[Mapping[TaskKind | None, Mapping[str, Handler]]] = {
    "core": core_handlers.HANDLERS,
    "extension": extension_wire.HANDLERS,
    None: {},
}


class TaskRequests(Layer):
    def __init__(self, runtime: ToolkitRuntime, table: MethodTable, tells_apart: bool) -> None:
        self._runtime = runtime
        self.hidden = frozenset[str]() if tells_apart else frozenset({LIST})
        self._wire = table.wire
        self._kind: Final = task_kind(table.wire)
        handled = runtime.handled_methods(table.revision)
        above = _HANDLERS[self._kind].items()
        self.handlers = {name: run for name, run in above if table.name_of(name) not in handled}

    def extend_capabilities(self, declared: JSONObject) -> JSONObject:
        tasks = declared.get("tasks")
        if not self.hidden or not is_object(tasks):
            return declared
        # Callers that cannot be told apart must not list tasks (2025-11-25, basic/utilities/tasks,
        # "Task Isolation and Access Control").
        return {**declared, "tasks": without(tasks, "list")}

    async def serve(self, connection: ServerConnection, job: Job) -> Any:
        request = job.request
        if request.spec.known_as in self.handlers:
            # Another worker may have begun all tasks so far.
            begin(connection.state)
            with _report_unavailable(request):
                return await connection.answer_to(job)
        if request.spec.known_as != CALL_TOOL:
            return await connection.answer_to(job)
        context = connection.context(request, job.reply)
        tools = find_items(self._runtime.catalogue, CALL_TOOL, request.raw, context.session())
        tool = await anext(tools, None)
        mode, form = None if tool is None else tool.task, self._kind_of(request)
        if tool is not None:
            self._check(mode, form, request)
        if mode is None or form is None:
            return await connection.answer_to(job)
        call = TaskCall(connection, context, request, form, mode)
        with _report_unavailable(request):
            if mode.choice == "deferred" and form == "extension":
                return await call.begin()
            return await call.start()

    async def find_following(
        self, connection: ServerConnection, request: Request[Any], ids: Collection[str]
    ) -> Following:
        found = dict[str, Follow]()
        if self._kind != "extension":
            return found
        if self._kind_of(request) is None:
            raise needs_extension("Tasks need the extension")
        registry = begin(connection.state).registry
        principal = RequestContext(connection, request).principal_id
        describe = partial(extension_wire.with_details, id_member=self._wire.rules.task_id)
        follow = partial(extension_wire.follow, connection, request)
        for id in sorted(ids):
            with suppress(UnknownTask):
                task = await registry.get(id, "extension", principal)
                found[id] = partial(follow, task, describe, registry.wait_for_change)
        return found

    def _kind_of(self, request: Request[Any]) -> TaskKind | None:
        if self._kind == "core":
            return self._kind if is_object(request.raw.get("task")) else None
        declared = client_capabilities(request.meta)
        return self._kind if has_tasks(self._wire, declared) else None

    def _check(self, mode: TaskMode | None, wanted: TaskKind | None, request: Request[Any]) -> None:
        name = request.raw.get("name")
        if wanted == "core" and mode is None:
            # 2025-11-25, basic/utilities/tasks, "Tool-Level Negotiation".
            raise McpError(METHOD_NOT_FOUND, f"{name} cannot be run as a task")
        if wanted or mode is None or mode.choice != "required":
            return
        if self._kind == "extension":
            raise needs_extension(f"{name} can only be run as a task")
        why = "" if self._kind == "core" else ", and this revision has none"
        raise McpError(METHOD_NOT_FOUND, f"{name} can only be run as a task{why}")


@contextmanager
def _report_unavailable(request: Request[Any]) -> Generator[None, None, None]:
    try:
        yield
    except EngineUnavailable as error:
        _log.warning("%s cannot be answered now: %s", request.spec.method, error)
        raise McpError(INTERNAL_ERROR, "Tasks cannot be reached now: ask again") from None


class TaskCall:
    def __init__(
        self,
        origin: ServerConnection,
        context: RequestContext,
        request: Request[Any],
        kind: TaskKind,
        mode: TaskMode,
    ) -> None:
        self._runner = begin(origin.state)
        self._origin = context
        self._request = request
        self._kind: Final = kind
        self._mode = mode
        self._connection = TaskConnection(origin.bound_server, origin.state, context)
        reply = TaskReply(context.principal, context.http_request)
        self._context = self._connection.for_request(request, reply, self._runner.registry)
        self._context.origin = context
        self._job = Job(request, reply)

    async def start(self) -> ResultText:
        self._connection.strategies = in_tasks(self._context.table, self._context.spoken)
        task = await self._runner.start(self._new_task(), self._work)
        if self._kind == "core":
            tell = core_handlers.tell(self._origin, self._runner.registry, task)
            self._origin.endpoint.tasks.start(tell)
        return self._write(task)

    def _write(self, task: Task) -> ResultText:
        id_member = self._origin.spoken.rules.task_id
        if self._kind == "core":
            result = creation_result(task, id_member, self._mode.immediate_response)
        else:
            result = {"resultType": "task", **wire_task(task, id_member)}
        return ResultText(json_text(result)[1:-1])

    def _new_task(self) -> Task:
        registry, request, origin = self._runner.registry, self._request, self._origin
        asked, principal = request.raw.get("task"), origin.principal
        ttl = registry.options.ttl
        if self._kind == "core" and is_object(asked):
            ttl = ttl_asked(asked, registry.options)
        return registry.new(
            self._kind,
            origin.spoken.revision,
            request.spec.method,
            ttl,
            params=dict(request.raw),
            declared=dict(origin.endpoint.connection.declared["client"]),
            principal_id=origin.principal_id,
            scopes=() if principal is None else sorted(principal.scopes),
            again=self._mode.again,
        )

    async def _work(self, task: Task) -> Outcome:
        self._context.began(task)
        return await outcome_of(self._connection, self._job)

    def _task_so_far(self) -> Task:
        questions = self._context.questions
        done, rounds = dict(questions.once.done), questions.begun
        answers = {} if rounds is None else dict(rounds.answers)
        return replace(self._new_task(), answers=answers, done=done)

    async def begin(self) -> Any:
        became: Future[Task] = get_running_loop().create_future()
        becoming = Lock()
        handling = create_task(answer_request(self._connection, self._job))

        async def rest(task: Task) -> Outcome:
            self._context.worker = task.worker
            return await outcome_of(self._connection, self._job, handling)

        async def become() -> Task:
            # Several calls of a handler may want a task at once.
            async with becoming:
                if not became.done():
                    task = self._task_so_far()
                    became.set_result(await self._runner.start(task, rest, handling.cancel))
            return became.result()

        self._context.become = become
        try:
            await wait([handling, became], return_when=FIRST_COMPLETED)
        except CancelledError:
            if not became.done():
                handling.cancel()
                await wait([handling])
            raise
        return self._write(became.result()) if became.done() else handling.result()


class ToolTasks(ServersTasks):
    methods = TASK_METHODS

    def __init__(self, runtime: ToolkitRuntime) -> None:
        super().__init__(self._support)
        self._runtime = runtime

    def begin(self, state: ServerState) -> None:
        """Start running tasks; raise `TypeError` for an unfit server or options."""
        if self._runtime.catalogue.makes_tasks():
            check_tasks(self._runtime.owner)
        begin(state)

    def declaration(self) -> JSONObject:
        # Required for the tools' own declarations to count (2025-11-25, basic/utilities/tasks).
        said: JSONObject = {"tasks": {"requests": {"tools": {"call": {}}}}}
        table = self._runtime.owner.TABLE
        return said if task_kind(table) == "core" else tasks_declared(table, "server")

    def layer(self, table: MethodTable, tells_apart: bool) -> TaskRequests:
        return TaskRequests(self._runtime, table, tells_apart)

    def _support(self, name: str) -> str | None:
        tool = self._runtime.catalogue.lists["tools"].get(name)
        return None if tool is None or tool.task is None else tool.task.support()


__mcp_tool_tasks__ = ToolTasks
