"""Who may see which task."""

from typing import Any

from ...core.errors import InvalidParams
from ...rpc.tasks.board import TaskBoard, UnknownTask
from ...rpc.tasks.task import Form, Task
from ..base import SessionBase
from .runner import TaskRunner


def board_of(session: SessionBase) -> TaskBoard:
    """Return the tasks of the application that serves a session."""
    connection: Any = session.__mcp_runtime__.connection
    runner = connection.state.task_host.runner
    assert isinstance(runner, TaskRunner)
    return runner.board


async def known_task(session: SessionBase, form: Form) -> Task:
    """Return the task that a request names; raise `InvalidParams` if its sender has none such.

    A task of somebody else is as unknown as one that never was (both forms, "Security").
    """
    context = session.__mcp_runtime__
    try:
        return await board_of(session).get(context.raw["taskId"], form, context.principal_id)
    except UnknownTask:
        raise InvalidParams("Unknown task") from None
