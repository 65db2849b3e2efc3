"""Who may see which task."""

from typing import Any

from ....rules.task_forms import TaskForm
from ....server.base import SessionBase
from ..board import TaskBoard
from ..task import Task
from .runner import TaskRunner


def board_of(session: SessionBase) -> TaskBoard:
    connection: Any = session.__mcp_runtime__.connection
    runner: TaskRunner = connection.state.host.runner
    return runner.board


async def known_task(session: SessionBase, form: TaskForm) -> Task:
    """Return the task that a request names; raise `UnknownTask`, also for one of somebody else."""
    context = session.__mcp_runtime__
    return await board_of(session).get(context.raw["taskId"], form, context.principal_id)
