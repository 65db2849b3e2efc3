"""Tasks on the wire: requests and results are translated, tasks themselves are not."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ...core.json import JSONObject, is_object
from ...core.models.base import has_failed
from ...core.spec import CALL_TOOL, LIST_TOOLS, Role
from ...messages.method_table import MethodTable
from ...rules.task_kinds import TASK_MEMBERS, TaskKind, task_kind, tasks_declared, without_tasks
from ...rules.wire_features import NOTHING, Untranslated
from .lifecycle import beginning_of
from .task import Status, Task

_TASK: Final = "task"

# Only core tasks have these members.
_OTHERWISE: Final = Untranslated(unlost={CALL_TOOL: _TASK, LIST_TOOLS: "execution"})

_DURATIONS: Final[Mapping[TaskKind, tuple[str, str]]] = {
    "core": ("ttl", "pollInterval"),
    "extension": ("ttlMs", "pollIntervalMs"),
}
_SAME: Final = ("status", "statusMessage", "createdAt", "lastUpdatedAt")


class TasksOnWire:
    """`core` has the members of 2025-11-25 only."""

    extension = "tasks"
    members = TASK_MEMBERS

    def __init__(self, role: Role, core: Untranslated) -> None:
        self._role: Final[Role] = role
        self._core = core

    def without(self, declared: JSONObject, wire: MethodTable) -> JSONObject:
        return declared if task_kind(wire) is None else without_tasks(declared, self._role)

    def capabilities_on(self, wire: MethodTable) -> JSONObject:
        return tasks_declared(wire, self._role)

    def untranslated_members(self, wire: MethodTable) -> Untranslated:
        if (kind := task_kind(wire)) is None:
            return NOTHING
        return self._core if kind == "core" else _OTHERWISE


class ServersTasks(TasksOnWire):
    """`support` returns a tool's `taskSupport` in 2025-11-25; None for "forbidden"."""

    def __init__(self, support: Callable[[str], str | None]) -> None:
        def supporting(tool: JSONObject) -> JSONObject:
            if (said := support(tool["name"])) is None:
                return tool
            return {**tool, "execution": {**tool.get("execution", {}), "taskSupport": said}}

        def add_support(result: JSONObject) -> JSONObject:
            return {**result, "tools": [supporting(tool) for tool in result["tools"]]}

        super().__init__("server", _OTHERWISE._replace(written={LIST_TOOLS: add_support}))


class ClientsTasks(TasksOnWire):
    """`note_tools` gets the tools of servers as they came."""

    def __init__(self, note_tools: Callable[[Sequence[Any]], object]) -> None:
        def read(result: JSONObject) -> object:
            return note_tools(result["tools"])

        kept = {CALL_TOOL: frozenset({_TASK}), "ServerCapabilities": frozenset({"tasks"})}
        super().__init__("client", _OTHERWISE._replace(kept=kept, read={LIST_TOOLS: read}))


def wire_task(task: Task, id_member: str) -> JSONObject:
    """Return a task for messages: times in ISO 8601, durations in milliseconds."""
    ttl, poll_interval = _DURATIONS[task.form]
    message = {} if task.status_message is None else {"statusMessage": task.status_message}
    return {
        id_member: task.id,
        "status": task.status.value,
        **message,
        "createdAt": _date(task.created_at),
        "lastUpdatedAt": _date(task.updated_at),
        ttl: None if task.ttl is None else round(task.ttl * 1000),
        poll_interval: round(task.poll_interval * 1000),
    }


def to_core(task: Mapping[str, Any]) -> JSONObject:
    """Return a task of the extension, without its id, as one of 2025-11-25.

    There, a tool result with `isError` is a failure ("Task Execution Errors").
    """
    core = _translate(task, "extension", "core")
    result, error = task.get("result"), task.get("error")
    said: Any = None
    if is_object(result) and has_failed(result):
        core["status"], said = Status.FAILED.value, beginning_of(result)
    elif is_object(error):
        said = error.get("message")
    return core if said is None else {"statusMessage": said, **core}


def to_extension(task: Mapping[str, Any]) -> JSONObject:
    return _translate(task, "core", "extension")


def _translate(task: Mapping[str, Any], of: TaskKind, kind: TaskKind) -> JSONObject:
    names = zip((*_SAME, *_DURATIONS[of]), (*_SAME, *_DURATIONS[kind]), strict=True)
    return {theirs: task[ours] for ours, theirs in names if ours in task}


def _date(seconds: float) -> str:
    date = datetime.fromtimestamp(seconds, UTC)
    return date.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"
