"""Tasks of 2025-11-25 on the wire, and the answers to its methods."""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from ...core.errors import INVALID_PARAMS, InvalidParams, McpError, ProtocolError
from ...core.json import JSONObject
from ...messages.envelope import meta_in
from ...rules.task_kinds import RELATED_TASK, TaskKind
from ...rules.task_methods import CANCEL, GET, LIST, RESULT
from . import lifecycle
from .lifecycle import error_object, error_of
from .on_wire import wire_task
from .registry import TaskOptions, TaskRegistry, UnknownTask
from .task import Task

IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"

PAGE_SIZE: Final = 100


class TasksRequest(NamedTuple):
    """A request for tasks of a principal, with the id of a task at `id_member`."""

    registry: TaskRegistry
    wire: Mapping[str, Any]
    owner: str | None
    id_member: str

    async def task(self, kind: TaskKind = "core") -> Task:
        try:
            return await self.registry.get(self.wire[self.id_member], kind, self.owner)
        except UnknownTask:
            raise UnknownTask(f"/params/{self.id_member}") from None

    def write(self, task: Task) -> JSONObject:
        return wire_task(task, self.id_member)


def creation_result(task: Task, id_member: str, response: str | None = None) -> JSONObject:
    """Return the result that names a request's task, with an optional text for the model."""
    meta = related_meta(task.id)
    if response is not None:
        meta[IMMEDIATE_RESPONSE] = response
    return {"task": wire_task(task, id_member), "_meta": meta}


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


def already_ended(id_member: str) -> InvalidParams:
    why = "The task cannot be cancelled: it has ended"
    return InvalidParams(why, [(f"/params/{id_member}", "The task has ended")])


async def _get(request: TasksRequest) -> JSONObject:
    return request.write(await request.task())


async def _list(request: TasksRequest) -> JSONObject:
    given = request.wire.get("cursor")
    tasks, cursor = await request.registry.page(request.owner, given, PAGE_SIZE)
    more = {} if cursor is None else {"nextCursor": cursor}
    return {"tasks": [*map(request.write, tasks)], **more}


async def _cancel(request: TasksRequest) -> JSONObject:
    task, registry = await request.task(), request.registry
    why = "The task was cancelled by request"
    step = partial(lifecycle.cancel, now=registry.clock(), message=why)
    try:
        return request.write(await registry.change(task.id, step))
    except lifecycle.TaskEnded:
        raise already_ended(request.id_member) from None


async def _result(request: TasksRequest) -> JSONObject:
    return outcome(await request.registry.wait_for_end(await request.task()))


Answer: TypeAlias = Callable[[TasksRequest], Awaitable[JSONObject]]

ANSWERS: Final[Mapping[str, Answer]] = {GET: _get, LIST: _list, CANCEL: _cancel, RESULT: _result}
"""`tasks/result` waits for the end, without asking the client."""
