"""The task runner of an application, its store, and repeated runs."""

from asyncio import CancelledError, current_task
from collections.abc import Awaitable
from functools import partial
from typing import Any

from ....core.errors import LocalError
from ....core.http_request import Principal
from ....core.json import JSONObject, read_json
from ....core.revision import load_generated
from ....messages.codec import Request
from ....messages.envelope import meta_in
from ....messages.jsonrpc import Call
from ....rpc.jobs import Job
from ....rules.handlers import Handlers, generated_class
from ....rules.task_kinds import task_kind
from ....server.base import SessionBase
from ....server.connection import ServerState
from ....server.serve import enter_lifespans
from ....server.waiting_strategies import in_tasks
from ....storage.memory_tasks import MemoryTaskStore
from ..core_wire import TasksRequest
from ..lifecycle import Outcome
from ..registry import TaskOptions, TaskRegistry
from ..task import Task
from .runner import TaskRunner
from .task_context import TaskConnection, TaskReply


async def answer_request(connection: TaskConnection, job: Job) -> Any:
    try:
        connection.begin()
        # The session may end before the task, with its server's lifespan.
        async with enter_lifespans([connection.server]):
            return await connection.answer_to(job)
    finally:
        connection.unregister()


async def outcome_of(
    connection: TaskConnection, job: Job, working: Awaitable[Any] | None = None
) -> Outcome:
    """Return the outcome of a request, as on the wire, from `working` if it already runs."""
    request, wire, jobs = job.request, connection.endpoint.connection, connection.endpoint.jobs
    method = request.spec.method
    try:
        result = await (answer_request(connection, job) if working is None else working)
    except (Exception, CancelledError) as raised:
        running = current_task()
        if isinstance(raised, CancelledError) and (running is None or running.cancelling()):
            raise
        error = jobs.error_of_handler(raised, method)
    else:
        try:
            data = wire.answer(request, result)
            assert data is not None
            return Outcome(result=read_json(data)["result"])
        except LocalError as unsent:
            error = jobs.error_of_result(unsent, method)
    data = wire.reject(request.id, error, method, request.params)
    assert data is not None
    return Outcome(error=read_json(data)["error"])


def begin(state: ServerState) -> TaskRunner:
    """Return the runner of an application, created at the first use."""
    runner = state.host.runner
    if runner is not None:
        assert isinstance(runner, TaskRunner)
        return runner
    options = TaskOptions() if state.options.tasks is None else state.options.tasks
    if not isinstance(options, TaskOptions):
        raise TypeError(f"Options(tasks=…) must be TaskOptions, got {type(options).__name__}")
    # A store beyond this process: the given one, or the shared one.
    store = options.store
    if store is None and state.host.engine is not None:
        store = state.host.engine().tasks
    registry = TaskRegistry(MemoryTaskStore() if store is None else store, options)
    again = partial(run_again, state, registry)
    runner = state.host.runner = TaskRunner(registry, state.tasks, again)
    if store is not None:
        # Tasks in memory end with this process.
        runner.sweep()
    return runner


def tasks_request(session: SessionBase) -> TasksRequest:
    context = session.__mcp_runtime__
    connection: Any = context.connection
    registry, id_member = begin(connection.state).registry, context.spoken.rules.task_id
    return TasksRequest(registry, context.raw, context.principal_id, id_member)


def result_of(session: SessionBase, method: str, members: JSONObject) -> Any:
    wire = session.__mcp_runtime__.spoken.wire
    return wire.read_result(wire.spec_of(method), members)


def check_tasks(server: Handlers) -> None:
    """Raise `TypeError` if the server lacks the extension that its revision needs for tasks."""
    made = load_generated(generated_class(type(server)).__module__.rpartition(".")[0])
    if task_kind(server.TABLE) is None and made.__mcp_part__("tasks") is not None:
        name = type(server).__name__
        advice = f"write TasksServer before the other bases of {name}"
        raise TypeError(f"{name}: tools with task=… need the extension for tasks: {advice}")


async def run_again(state: ServerState, registry: TaskRegistry, task: Task) -> Outcome:
    """Run a task's request again from its beginning; earlier questions are answered."""
    bound_server = state.bound_server(task.revision)
    connection = TaskConnection(bound_server, state, declared=dict(task.declared))
    connection.strategies = in_tasks(connection.server.TABLE, bound_server.view.table)
    principal = None
    if task.principal_id is not None:
        principal = Principal(task.principal_id, frozenset(task.scopes))
    request, reply = _request(connection, task), TaskReply(principal)
    connection.for_request(request, reply, registry).began(task)
    return await outcome_of(connection, Job(request, reply))


def _request(connection: TaskConnection, task: Task) -> Request[object]:
    message: JSONObject = {"jsonrpc": "2.0", "id": task.id, "method": task.method}
    message["params"] = task.params
    call = Call(task.id, task.method, task.params, meta_in(task.params), message)
    found = connection.endpoint.connection.table.interpret(call, "client")
    if not isinstance(found, Request):
        raise ValueError(f"{task.method} of {task.revision} is no longer valid")
    return found
