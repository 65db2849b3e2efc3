"""The one board and runner of an application, and who may see which task."""

from typing import Any

from ...core.errors import InvalidParams
from ...rpc.tasks.board import TaskBoard, UnknownTask
from ...rpc.tasks.options import TaskOptions
from ...rpc.tasks.task import Form, Task
from ...sharing.engine import TaskStore
from ...sharing.memory_tasks import MemoryTaskStore
from ..base import SessionBase
from ..connection import ServerState
from .runner import TaskRunner


def runner_of(state: ServerState) -> TaskRunner:
    """Return the runner of an application, which is made when it is first needed.

    Raise `TypeError` for options of tasks that are none.
    """
    runner = state.task_host.runner
    if runner is None:
        board = TaskBoard(_store_of(state), _options_of(state))
        runner = state.task_host.runner = TaskRunner(board, state.tasks)
    assert isinstance(runner, TaskRunner)
    return runner


def _options_of(state: ServerState) -> TaskOptions:
    given = state.options.tasks
    if given is None:
        return TaskOptions()
    if not isinstance(given, TaskOptions):
        raise TypeError(f"Options(tasks=…) are TaskOptions, and no {type(given).__name__}")
    return given


def _store_of(state: ServerState) -> TaskStore:
    store = _options_of(state).store
    if store is None and state.relay is not None:
        store = getattr(state.relay.engine, "tasks", None)
    return MemoryTaskStore() if store is None else store


def runner_in(session: SessionBase) -> TaskRunner:
    """Return the runner of the application that serves a session."""
    connection: Any = session.__mcp_runtime__.connection
    return runner_of(connection.state)


def board_of(session: SessionBase) -> TaskBoard:
    """Return the tasks of the application that serves a session."""
    return runner_in(session).board


async def known_task(session: SessionBase, form: Form) -> Task:
    """Return the task that a request names; raise `InvalidParams` if its sender has none such.

    A task of somebody else is as unknown as one that never was (both forms, "Security").
    """
    context = session.__mcp_runtime__
    try:
        return await board_of(session).get(context.raw["taskId"], form, context.principal_id)
    except UnknownTask:
        raise InvalidParams("Unknown task") from None
