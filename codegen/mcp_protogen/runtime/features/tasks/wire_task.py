"""A task as messages show it: both forms name its durations differently."""

from datetime import UTC, datetime

from ...core.json import JSONObject
from .task import Task


def wire_task(task: Task, *, ttl: str, poll_interval: str) -> JSONObject:
    """Return what messages say of a task: times in ISO 8601, durations in milliseconds."""
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


def _date(seconds: float) -> str:
    date = datetime.fromtimestamp(seconds, UTC)
    return date.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
