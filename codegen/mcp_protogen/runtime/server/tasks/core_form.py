"""Tasks in the form of 2025-11-25 (basic/utilities/tasks): what is said of a task."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from ...core.json import JSONObject
from ...rpc.tasks.task import Task
from .wire_values import iso, milliseconds


def members_of(task: Task) -> JSONObject:
    """Return a task as on the wire."""
    members: JSONObject = {
        "taskId": task.id,
        "status": task.status.value,
        "createdAt": iso(task.created_at),
        "lastUpdatedAt": iso(task.updated_at),
        "ttl": None if task.ttl is None else milliseconds(task.ttl),
        "pollInterval": milliseconds(task.poll_interval),
    }
    if task.status_message is not None:
        members["statusMessage"] = task.status_message
    return members


def created(task: Task) -> JSONObject:
    """Return the result that stands for a new task ("Creating Tasks")."""
    return {"task": members_of(task)}


HANDLERS: Final[Mapping[str, Callable[[Any, Any], Awaitable[Any]]]] = {}
"""What answers the methods of this form, by wire name."""
