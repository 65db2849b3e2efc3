"""Tasks in the form of the extension `io.modelcontextprotocol/tasks`: answers to its methods."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from ....core.errors import InvalidParams, Problem, escaped
from ....core.json import JSONObject
from ....rules.task_methods import CANCEL, GET, UPDATE
from ....server.base import SessionBase
from ....server.rounds import read_answer
from .. import lifecycle
from ..lifecycle import TaskEnded
from ..task import Status, Task
from ..wire_task import wire_task
from .access import board_of, known_task


def members(task: Task) -> JSONObject:
    return wire_task(task, ttl="ttlMs", poll_interval="pollIntervalMs")


def created(task: Task) -> JSONObject:
    return {"resultType": "task", **members(task)}


def detailed(task: Task) -> JSONObject:
    """Return a task with what it waits for, or has come to ("Task Polling")."""
    said = members(task)
    if task.status is Status.INPUT_REQUIRED:
        said["inputRequests"] = dict(task.questions)
    elif task.status is Status.COMPLETED:
        said["result"] = task.result
    elif task.status is Status.FAILED:
        said["error"] = task.error
    return said


async def get(session: SessionBase, params: Any) -> Any:
    task = await known_task(session, "extension")
    return _result(session, GET, detailed(task))


async def update(session: SessionBase, params: Any) -> Any:
    """Take the answers to what the task asks; others change nothing ("Task Update Requests")."""
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
    return _result(session, UPDATE, {})


async def cancel(session: SessionBase, params: Any) -> Any:
    """Ask the work to end, which it may have done by itself ("Task Cancellation")."""
    task, board = await known_task(session, "extension"), board_of(session)
    with suppress(TaskEnded):
        await board.change(task.id, lambda one: lifecycle.cancel_asked(one, board.clock()))
    return _result(session, CANCEL, {})


def _result(session: SessionBase, method: str, said: JSONObject) -> Any:
    wire = session.__mcp_runtime__.spoken.wire
    # By its status, a task is of one class or another.
    return wire.read_result(wire.requests[method], {"resultType": "complete", **said})


HANDLERS: Final[Mapping[str, Callable[[Any, Any], Awaitable[Any]]]] = {
    CANCEL: cancel,
    GET: get,
    UPDATE: update,
}
