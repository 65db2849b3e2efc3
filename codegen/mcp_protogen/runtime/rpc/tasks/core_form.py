"""Tasks as 2025-11-25 has them: how they look on the wire, and what a receiver answers.

Either side may be the receiver, so nothing here knows which it is (2025-11-25,
basic/utilities/tasks). Results are JSON objects; the models of the wire read them.
"""

from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from ...core.errors import INTERNAL_ERROR, INVALID_PARAMS, InvalidParams, McpError, ProtocolError
from ...core.json import JSONObject, is_array, is_object
from . import lifecycle
from .board import TaskBoard, UnknownTask
from .options import TaskOptions
from .task import Task

GET: Final = "tasks/get"
LIST: Final = "tasks/list"
CANCEL: Final = "tasks/cancel"
RESULT: Final = "tasks/result"
STATUS: Final = "notifications/tasks/status"

RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"

PAGE_SIZE: Final = 100
"""The number of tasks in one page of a list."""

_STOPPED: Final = "The task was cancelled by request"

# How much of a text goes into a status message, in characters.
_LONGEST: Final = 500

Answer: TypeAlias = Callable[[TaskBoard, Mapping[str, Any], str | None], Awaitable[JSONObject]]
"""Gives the result of a method of tasks: on a board, from its params, to a principal."""


# How tasks look.


def members(task: Task) -> JSONObject:
    """Return a task as a JSON object: times in ISO 8601, durations in milliseconds."""
    said = {} if task.status_message is None else {"statusMessage": task.status_message}
    return {
        "taskId": task.id,
        "status": str(task.status),
        **said,
        "createdAt": _date(task.created_at),
        "lastUpdatedAt": _date(task.updated_at),
        "ttl": None if task.ttl is None else round(task.ttl * 1000),
        "pollInterval": round(task.poll_interval * 1000),
    }


def _date(seconds: float) -> str:
    date = datetime.fromtimestamp(seconds, UTC)
    return date.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def created(task: Task, immediate_response: str | None = None) -> JSONObject:
    """Return the result that says which task a request has become.

    `immediate_response` is what a model may be told meanwhile ("Creating Tasks").
    """
    result: JSONObject = {"task": members(task)}
    meta = related(task.id)
    if immediate_response is not None:
        meta[IMMEDIATE_RESPONSE] = immediate_response
    return {**result, "_meta": meta}


def related(id: str) -> JSONObject:
    """Return the member of `_meta` that says to which task a message belongs."""
    return {RELATED_TASK: {"taskId": id}}


def with_related(message: Mapping[str, Any], id: str) -> JSONObject:
    """Return params or a result with the task that they belong to in their `_meta`."""
    meta = message.get("_meta")
    return {**message, "_meta": {**(meta if is_object(meta) else {}), **related(id)}}


def ttl_asked(metadata: Mapping[str, Any], options: TaskOptions) -> float:
    """Return for how many seconds a task is kept, whose request has `metadata` in `task`.

    What lapses before it can be asked for, or is kept for too long, is replaced.
    """
    asked: float | None = metadata.get("ttl")
    if asked is None:
        return options.ttl
    return min(max(asked / 1000, options.poll_interval), options.max_ttl)


# How tasks end.


def with_result(task: Task, result: JSONObject, now: float) -> Task:
    """Return a task that has ended with the result of its request; raise `TaskEnded`.

    A result of a tool that is an error is a failure ("Task Execution Errors").
    """
    if result.get("isError") is not True:
        return lifecycle.completed(task, result, now)
    return lifecycle.failed(task, now, result=result, message=text_of(result))


def with_error(task: Task, error: ProtocolError, now: float) -> Task:
    """Return a task whose request was answered with an error; raise `TaskEnded`."""
    said: JSONObject = {"code": error.code, "message": error.message}
    if error.data is not None:
        said["data"] = error.data
    return lifecycle.failed(task, now, error=said, message=error.message[:_LONGEST])


def text_of(result: JSONObject) -> str | None:
    """Return the beginning of what the result of a tool says in text."""
    content = result.get("content")
    blocks: list[Any] = content if is_array(content) else []
    texts = [one["text"] for one in blocks if is_object(one) and isinstance(one.get("text"), str)]
    return "\n".join(texts)[:_LONGEST] or None


def outcome(task: Task) -> JSONObject:
    """Return exactly what the request of a task that has ended would have returned.

    Raise `McpError`: the same error, or that a cancelled task has no result.
    """
    if task.error is not None:
        raise McpError(task.error["code"], task.error["message"], task.error.get("data"))
    if task.result is None:
        raise McpError(INVALID_PARAMS, f"The task has no result: it is {task.status}")
    return with_related(task.result, task.id)


# What is asked in a task.


def refusal(error: ProtocolError) -> JSONObject:
    """Return the answer to a question that stands for an error; no result looks like it."""
    return {"error": {"code": error.code, "message": error.message, "data": error.data}}


def answer_of(kept: JSONObject) -> JSONObject:
    """Return an answer that was kept; raise `McpError` for one that stands for an error."""
    if kept.keys() != {"error"}:
        return kept
    error: JSONObject = kept["error"]
    raise McpError(error["code"], error["message"], error.get("data"))


# What a receiver answers.


async def found(board: TaskBoard, params: Mapping[str, Any], principal_id: str | None) -> Task:
    """Return the task that params name; raise `InvalidParams` for one that is not to be seen."""
    try:
        return await board.get(params["taskId"], "core", principal_id)
    except UnknownTask:
        raise unknown() from None


def unknown() -> InvalidParams:
    """Return the error for a task that there is not, that has lapsed, or is somebody else's."""
    return InvalidParams("Task not found", [("/params/taskId", "No such task, or it has expired")])


async def _get(board: TaskBoard, params: Mapping[str, Any], principal_id: str | None) -> JSONObject:
    return members(await found(board, params, principal_id))


async def _list(
    board: TaskBoard, params: Mapping[str, Any], principal_id: str | None
) -> JSONObject:
    page = await board.page(principal_id, params.get("cursor"), PAGE_SIZE)
    more = {} if page.cursor is None else {"nextCursor": page.cursor}
    return {"tasks": [members(one) for one in page.tasks], **more}


async def _cancel(
    board: TaskBoard, params: Mapping[str, Any], principal_id: str | None
) -> JSONObject:
    task = await found(board, params, principal_id)
    step = partial(lifecycle.cancelled, now=board.clock(), message=_STOPPED)
    try:
        return members(await board.change(task.id, step))
    except UnknownTask:
        raise unknown() from None
    except lifecycle.TaskEnded:
        why = "The task cannot be cancelled: it has ended"
        raise InvalidParams(why, [("/params/taskId", "The task has ended")]) from None


async def _result(
    board: TaskBoard, params: Mapping[str, Any], principal_id: str | None
) -> JSONObject:
    task = await found(board, params, principal_id)
    try:
        return outcome(await board.ended(task))
    except UnknownTask:
        raise unknown() from None


ANSWERS: Final[Mapping[str, Answer]] = MappingProxyType(
    {GET: _get, LIST: _list, CANCEL: _cancel, RESULT: _result}
)
"""What a receiver answers, by method; `tasks/result` waits for the end, and asks nothing."""


def too_many() -> McpError:
    """Return the error for a principal that has as many tasks as it may have."""
    return McpError(INTERNAL_ERROR, "Too many tasks")
