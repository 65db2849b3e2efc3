"""Tasks in the form of the extension: what is said of a task, and the answers to its methods.

The extension is `io.modelcontextprotocol/tasks` (ext-tasks, tasks.md).
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ...core.errors import InvalidParams
from ...core.json import JSONObject
from ...core.models.validation_errors import Problem, escaped
from ...rpc.tasks import lifecycle
from ...rpc.tasks.lifecycle import TaskEnded
from ...rpc.tasks.task import Status, Task
from ..base import SessionBase
from ..rounds import read_answer
from .access import board_of, known_task
from .wire_values import iso, milliseconds

_GET: Final = "tasks/get"
_UPDATE: Final = "tasks/update"
_CANCEL: Final = "tasks/cancel"


def members_of(task: Task) -> JSONObject:
    """Return what every message says of a task."""
    members: JSONObject = {
        "taskId": task.id,
        "status": task.status.value,
        "createdAt": iso(task.created_at),
        "lastUpdatedAt": iso(task.updated_at),
        "ttlMs": None if task.ttl is None else milliseconds(task.ttl),
        "pollIntervalMs": milliseconds(task.poll_interval),
    }
    if task.status_message is not None:
        members["statusMessage"] = task.status_message
    return members


def created(task: Task) -> JSONObject:
    """Return the result that stands for a new task ("Task Creation")."""
    return {"resultType": "task", **members_of(task)}


def detailed(task: Task) -> JSONObject:
    """Return a task with what it waits for, or has come to ("Task Polling")."""
    members = members_of(task)
    if task.status is Status.INPUT_REQUIRED:
        members["inputRequests"] = dict(task.questions)
    elif task.status is Status.COMPLETED:
        members["result"] = task.result
    elif task.status is Status.FAILED:
        members["error"] = task.error
    return members


async def get(session: SessionBase, params: Any) -> Any:
    """Answer `tasks/get`; raise `InvalidParams` for an unknown task."""
    task = await known_task(session, "extension")
    return _result(session, _GET, detailed(task))


async def update(session: SessionBase, params: Any) -> Any:
    """Answer `tasks/update`: take the answers to what the task asks.

    Answers to what it does not ask, or not any more, change nothing ("Task Update Requests").
    Raise `InvalidParams` for an unknown task, and for answers that do not fit their questions.
    """
    context = session.__mcp_runtime__
    task = await known_task(session, "extension")
    given: JSONObject = context.raw.get("inputResponses", {})
    specs, faults = context.spoken.wire.input_requests, list[Problem]()
    answers: dict[str, Any] = {}
    for key, question in task.questions.items():
        if key in given:
            kind = specs[question["method"]].results[0]
            at = f"/params/inputResponses/{escaped(key)}"
            read = read_answer(given[key], kind, question, at, faults)
            answers[key] = None if read is None else read.to_wire()
    if faults:
        raise InvalidParams("Invalid answers", faults)
    board = board_of(session)
    # Its questions are gone with a task that has ended.
    with suppress(TaskEnded):
        await board.change(task.id, lambda one: lifecycle.answered(one, answers, board.clock()))
    return _result(session, _UPDATE, {})


async def cancel(session: SessionBase, params: Any) -> Any:
    """Answer `tasks/cancel`: ask the work to end, which it may have done by itself.

    Raise `InvalidParams` for an unknown task ("Task Cancellation").
    """
    task, board = await known_task(session, "extension"), board_of(session)
    with suppress(TaskEnded):
        await board.change(task.id, lambda one: lifecycle.cancel_asked(one, board.clock()))
    return _result(session, _CANCEL, {})


def _result(session: SessionBase, method: str, members: JSONObject) -> Any:
    wire = session.__mcp_runtime__.spoken.wire
    # By its status, a task is of one class or another.
    return wire.read_result(wire.requests[method], {"resultType": "complete", **members})


HANDLERS: Final[Mapping[str, Callable[[Any, Any], Awaitable[Any]]]] = {
    _CANCEL: cancel,
    _GET: get,
    _UPDATE: update,
}
"""What answers the methods of this form, by wire name."""
