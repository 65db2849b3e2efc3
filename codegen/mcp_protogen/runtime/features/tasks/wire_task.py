"""A task as messages show it: both forms name its durations differently.

2025-11-25, basic/utilities/tasks, "Data Types"; extension `io.modelcontextprotocol/tasks`.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from ...core.json import JSONObject, is_object
from ...rules.task_forms import TaskForm
from .lifecycle import text_of
from .task import Status, Task

_DURATIONS: Final[Mapping[TaskForm, tuple[str, str]]] = {
    "core": ("ttl", "pollInterval"),
    "extension": ("ttlMs", "pollIntervalMs"),
}
_SAME: Final = ("taskId", "status", "statusMessage", "createdAt", "lastUpdatedAt")


def wire_task(task: Task) -> JSONObject:
    """Return what messages say of a task: times in ISO 8601, durations in milliseconds."""
    ttl, poll_interval = _DURATIONS[task.form]
    said = {} if task.status_message is None else {"statusMessage": task.status_message}
    return {
        "taskId": task.id,
        "status": task.status.value,
        **said,
        "createdAt": _date(task.created_at),
        "lastUpdatedAt": _date(task.updated_at),
        ttl: None if task.ttl is None else round(task.ttl * 1000),
        poll_interval: round(task.poll_interval * 1000),
    }


def to_core(task: Mapping[str, Any]) -> JSONObject:
    """Return a task of the extension as 2025-11-25 writes it.

    There, a result of a tool that is an error is a failure ("Task Execution Errors").
    """
    core = _translated(task, "extension", "core")
    result, error = task.get("result"), task.get("error")
    said: Any = None
    if is_object(result) and result.get("isError") is True:
        core["status"], said = Status.FAILED.value, text_of(result)
    elif is_object(error):
        said = error.get("message")
    return core if said is None else {"statusMessage": said, **core}


def to_extension(task: Mapping[str, Any]) -> JSONObject:
    return _translated(task, "core", "extension")


def _translated(task: Mapping[str, Any], of: TaskForm, form: TaskForm) -> JSONObject:
    names = zip((*_SAME, *_DURATIONS[of]), (*_SAME, *_DURATIONS[form]), strict=True)
    return {theirs: task[ours] for ours, theirs in names if ours in task}


def _date(seconds: float) -> str:
    date = datetime.fromtimestamp(seconds, UTC)
    return date.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
