"""Tasks on listen streams, in the form of the extension: whose, and what is sent of their changes.

Extension `io.modelcontextprotocol/tasks`, "Task Status Notifications". Nothing else is sent of a
task: there is neither progress nor a log of it.
"""

from collections.abc import Collection
from functools import partial
from typing import Any

from ....core.models.base import validator_of
from ....messages.codec import Request
from ....messages.envelope import SUBSCRIPTION_ID, members
from ....rules.task_methods import CHANGED
from ....server.connection import ServerConnection
from ....server.context import RequestContext
from ....server.layers import Follow, Following
from ..board import TaskBoard, UnknownTask
from ..lifecycle import has_ended
from ..task import Task
from .extension_form import detailed
from .hosting import begin


async def _follow(
    connection: ServerConnection, request: Request[Any], board: TaskBoard, task: Task
) -> None:
    """Send where a task stands, and again whenever that changes, to its end."""
    endpoint, meta = connection.endpoint, members({SUBSCRIPTION_ID: request.id})
    spec = endpoint.connection.table.notifications[CHANGED]
    while True:
        # By its status, a task is of one class or another.
        params = validator_of(spec.params)(detailed(task))
        await endpoint.notify(spec, params, meta=meta, about=request)
        if has_ended(task):
            return
        try:
            task = await board.changed(task)
        except UnknownTask:  # It has lapsed.
            return


async def followed(
    connection: ServerConnection, request: Request[Any], ids: Collection[str]
) -> Following:
    """Return what follows those of some tasks that the sender of a listen request may hear of."""
    board, found = begin(connection.state).board, dict[str, Follow]()
    principal = RequestContext(connection, request).principal_id
    for id in sorted(ids):
        try:
            task = await board.get(id, "extension", principal)
        except UnknownTask:
            continue
        found[id] = partial(_follow, connection, request, board, task)
    return found
