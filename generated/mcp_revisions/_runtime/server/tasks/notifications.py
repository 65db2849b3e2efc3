"""Tasks on listen streams, in the form of the extension: whose, and what is sent of their changes.

Extension `io.modelcontextprotocol/tasks`, "Task Status Notifications". Nothing else is sent of a
task: there is neither progress nor a log of it.
"""

from collections.abc import Collection
from typing import Any

from ...core.models.base import validator_of
from ...messages.envelope import SUBSCRIPTION_ID, members
from ...messages.method_table import Request
from ...rpc.tasks.board import TaskBoard, UnknownTask
from ...rpc.tasks.lifecycle import has_ended
from ...rpc.tasks.task import Task
from ...rules.task_methods import CHANGED
from ..connection import ServerConnection
from ..context import RequestContext
from .extension_form import detailed
from .hosting import begin


class FollowedTask:
    """A task that the listen stream of one request hears of."""

    def __init__(
        self, connection: ServerConnection, request: Request[Any], board: TaskBoard, task: Task
    ) -> None:
        self._connection = connection
        self._request = request
        self._meta = members({SUBSCRIPTION_ID: request.id})
        self._board = board
        self._task = task

    @property
    def id(self) -> str:
        return self._task.id

    async def follow(self) -> None:
        """Send where the task stands, and again whenever that changes, to its end."""
        endpoint = self._connection.endpoint
        table = endpoint.connection.table
        spec = table.notifications[CHANGED]
        while True:
            # By its status, a task is of one class or another.
            params = validator_of(spec.params)(detailed(self._task))
            await endpoint.notify(spec, params, meta=self._meta, about=self._request)
            if has_ended(self._task):
                return
            try:
                self._task = await self._board.changed(self._task)
            except UnknownTask:  # It has lapsed.
                return


async def followed(
    connection: ServerConnection, request: Request[Any], ids: Collection[str]
) -> list[FollowedTask]:
    """Return those of some tasks that the sender of a listen request may hear of."""
    board, found = begin(connection.state).board, list[FollowedTask]()
    principal = RequestContext(connection, request).principal_id
    for id in sorted(ids):
        try:
            task = await board.get(id, "extension", principal)
        except UnknownTask:
            continue
        found.append(FollowedTask(connection, request, board, task))
    return found
