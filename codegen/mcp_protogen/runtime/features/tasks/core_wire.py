"""Tasks of 2025-11-25 on the wire, and the answers to its methods."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from ...core.errors import INVALID_PARAMS, InvalidParams, McpError, ProtocolError
from ...core.json import JSONObject
from ...messages.envelope import meta_in
from ...rules.task_kinds import RELATED_TASK
from ...rules.task_methods import CANCEL, GET, LIST, RESULT
from . import lifecycle
from .lifecycle import error_object, error_of
from .on_wire import wire_task
from .registry import TaskOptions, TaskRegistry
from .task import Task

IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"

PAGE_SIZE: Final = 100

_STOPPED: Final = "The task was cancelled by request"

Answer: TypeAlias = Callable[[TaskRegistry, Mapping[str, Any], str | None], Awaitable[JSONObject]]


def creation_result(task: Task, immediate_response: str | None = None) -> JSONObject:
    """Return the result that names a request's task, with an optional text for the model."""
    meta = related_meta(task.id)
    if immediate_response is not None:
        meta[IMMEDIATE_RESPONSE] = immediate_response
    return {"task": wire_task(task), "_meta": meta}


def related_meta(id: str) -> JSONObject:
    return {RELATED_TASK: {"taskId": id}}


def with_related(message: Mapping[str, Any], id: str) -> JSONObject:
    return {**message, "_meta": {**meta_in(message), **related_meta(id)}}


def ttl_asked(metadata: Mapping[str, Any], options: TaskOptions) -> float:
    """Return the seconds to keep a task, long enough to ask for it."""
    asked: float | None = metadata.get("ttl")
    if asked is None:
        return options.ttl
    return min(max(asked / 1000, options.poll_interval), options.max_ttl)


def outcome(task: Task) -> JSONObject:
    """Return the result of the task's request; raise its error."""
    if task.error is not None:
        raise error_of(task.error)
    if task.result is None:
        raise McpError(INVALID_PARAMS, f"The task has no result: it is {task.status}")
    return with_related(task.result, task.id)


def refusal(error: ProtocolError) -> JSONObject:
    """Return the stored answer for an error; results never look like it."""
    return {"error": error_object(error)}


def answer_of(kept: JSONObject) -> JSONObject:
    if kept.keys() != {"error"}:
        return kept
    raise error_of(kept["error"])


def already_ended() -> InvalidParams:
    why = "The task cannot be cancelled: it has ended"
    return InvalidParams(why, [("/params/taskId", "The task has ended")])


async def _get(registry: TaskRegistry, wire: Mapping[str, Any], owner: str | None) -> JSONObject:
    return wire_task(await registry.get(wire["taskId"], "core", owner))


async def _list(registry: TaskRegistry, wire: Mapping[str, Any], owner: str | None) -> JSONObject:
    page = await registry.page(owner, wire.get("cursor"), PAGE_SIZE)
    more = {} if page.cursor is None else {"nextCursor": page.cursor}
    return {"tasks": [*map(wire_task, page.tasks)], **more}


async def _cancel(registry: TaskRegistry, wire: Mapping[str, Any], owner: str | None) -> JSONObject:
    task = await registry.get(wire["taskId"], "core", owner)
    step = partial(lifecycle.cancel, now=registry.clock(), message=_STOPPED)
    try:
        return wire_task(await registry.change(task.id, step))
    except lifecycle.TaskEnded:
        raise already_ended() from None


async def _result(registry: TaskRegistry, wire: Mapping[str, Any], owner: str | None) -> JSONObject:
    task = await registry.get(wire["taskId"], "core", owner)
    return outcome(await registry.wait_for_end(task))


ANSWERS: Final[Mapping[str, Answer]] = {GET: _get, LIST: _list, CANCEL: _cancel, RESULT: _result}
"""`tasks/result` waits for the end, without asking the client."""
