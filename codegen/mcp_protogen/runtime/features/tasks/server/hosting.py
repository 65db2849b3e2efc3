"""The one runner of an application, what it keeps tasks in, and how it runs one again."""

from ....core.http_request import Principal
from ....core.json import JSONObject
from ....core.revision import load_generated
from ....messages.envelope import meta_in
from ....messages.jsonrpc import Call
from ....messages.method_table import Request
from ....rpc.jobs import Job
from ....rules.handlers import Handlers, generated_class
from ....rules.task_forms import task_form
from ....server.connection import ServerState
from ....server.waiting_strategies import in_tasks
from ....storage.engine import TaskStore
from ....storage.memory_tasks import MemoryTaskStore
from ..board import TaskBoard
from ..options import TaskOptions
from ..outcome import Outcome
from ..task import Task
from .runner import TaskRunner
from .task_context import TaskConnection, TaskReply
from .working import outcome_of


def begin(state: ServerState) -> TaskRunner:
    """Return the runner of an application, which is made when it is first asked for.

    Raise `TypeError` for options of tasks that are none.
    """
    runner = state.host.runner
    if runner is not None:
        assert isinstance(runner, TaskRunner)
        return runner
    options = _options(state)
    store = _store(state, options)
    board = TaskBoard(MemoryTaskStore() if store is None else store, options)

    async def again(task: Task) -> Outcome:
        return await run_again(state, board, task)

    runner = state.host.runner = TaskRunner(board, state.tasks, again)
    if store is not None:
        # What is in the memory of this process ends with it.
        runner.sweep()
    return runner


def check_form(server: Handlers) -> None:
    """Raise `TypeError` for a server whose revision has tasks by an extension that it lacks."""
    made = load_generated(generated_class(type(server)).__module__.rpartition(".")[0])
    if task_form(server.TABLE) is None and made.__mcp_part__("tasks") is not None:
        name = type(server).__name__
        advice = f"write TasksServer before the other bases of {name}"
        raise TypeError(f"{name}: tools with task=… need the extension for tasks: {advice}")


def _options(state: ServerState) -> TaskOptions:
    given = state.options.tasks
    if given is None:
        return TaskOptions()
    if not isinstance(given, TaskOptions):
        raise TypeError(f"Options(tasks=…) are TaskOptions, and no {type(given).__name__}")
    return given


def _store(state: ServerState, options: TaskOptions) -> TaskStore | None:
    """Return what keeps tasks beyond this process: what was said, else what workers share."""
    if options.store is not None or state.host.engine is None:
        return options.store
    shared: TaskStore = state.host.engine().tasks
    return shared


async def run_again(state: ServerState, board: TaskBoard, task: Task) -> Outcome:
    """Run the request of a task from its beginning; what it has asked before is answered."""
    bound_server = state.bound_server(task.revision)
    connection = TaskConnection(bound_server, state, declared=dict(task.declared))
    connection.strategies = in_tasks(connection.server.TABLE, bound_server.view.table)
    principal = None
    if task.principal_id is not None:
        principal = Principal(task.principal_id, frozenset(task.scopes))
    request, reply = _request(connection, task), TaskReply(principal)
    connection.for_request(request, reply, board).began(task)
    return await outcome_of(connection, Job(request, reply))


def _request(connection: TaskConnection, task: Task) -> Request[object]:
    message: JSONObject = {"jsonrpc": "2.0", "id": task.id, "method": task.method}
    message["params"] = task.params
    call = Call(task.id, task.method, task.params, meta_in(task.params), message)
    found = connection.endpoint.connection.table.interpret(call, "client")
    if not isinstance(found, Request):
        raise ValueError(f"{task.method} of {task.revision} is not understood any more")
    return found
