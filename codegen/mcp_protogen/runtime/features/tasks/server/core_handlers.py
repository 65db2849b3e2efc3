"""Tasks of 2025-11-25 on a server (basic/utilities/tasks): the handlers of its methods."""

from asyncio import FIRST_COMPLETED, create_task, wait
from asyncio import Task as Running
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Final, TypeAlias

from ....core.connection_errors import Disconnected
from ....core.errors import LocalError, ProtocolError
from ....core.json import JSONObject
from ....core.models.base import WireModel, validator_of
from ....core.options import NO_END
from ....messages.envelope import members
from ....rules.handlers import Handler
from ....rules.task_methods import CORE_CHANGED, RESULT
from ....server.base import SessionBase
from ....server.context import RequestContext
from ....storage.engine import EngineUnavailable
from .. import core_wire
from ..lifecycle import TaskEnded, add_answers, has_ended
from ..on_wire import wire_task
from ..registry import TaskRegistry, UnknownTask
from ..task import Task
from .hosting import result_of, tasks_request

Ask: TypeAlias = Callable[[JSONObject], Awaitable[JSONObject]]


async def until_ended(registry: TaskRegistry, task: Task, session: str, ask: Ask) -> Task:
    """Put a task's questions to its client until it has ended; return it.

    A client may wait for the task on several streams and workers: one of them asks. Several
    sessions are all asked, and the first answer counts.
    """
    asking = dict[str, Running[None]]()
    try:
        while not has_ended(task):
            for key in [question for question in task.questions if question not in asking]:
                asking[key] = create_task(_ask_one(registry, task, key, session, ask))
            for key in asking.keys() - task.questions.keys():
                # Keys are never reused.
                asking[key].cancel()
            unfinished = [running for running in asking.values() if not running.done()]
            task = await _wait_for_change(registry, task, unfinished)
    finally:
        for running in asking.values():
            running.cancel()
        if asking:
            await wait(asking.values())
    return task


async def _wait_for_change(registry: TaskRegistry, task: Task, asking: list[Running[None]]) -> Task:
    changed = create_task(registry.wait_for_change(task))
    try:
        left = {changed, *asking}
        while not changed.done():
            done, left = await wait(left, return_when=FIRST_COMPLETED)
            for finished in done - {changed}:
                if not finished.cancelled():
                    finished.result()
        return changed.result()
    finally:
        changed.cancel()


async def _ask_one(registry: TaskRegistry, task: Task, key: str, session: str, ask: Ask) -> None:
    # The task may have ended meanwhile.
    with suppress(TaskEnded, UnknownTask):
        async with registry.exclusive(task, f"{key} {session}"):
            if (question := (await registry.find(task.id)).questions.get(key)) is not None:
                answers = {key: await ask(question)}
                await registry.change(
                    task.id, lambda one: add_answers(one, answers, registry.clock())
                )


async def _answer(method: str, session: SessionBase, params: WireModel) -> Any:
    return result_of(session, method, await core_wire.ANSWERS[method](tasks_request(session)))


async def result(session: SessionBase, params: WireModel) -> Any:
    """Answer `tasks/result`: wait for the end of a task, and put its questions."""
    context, asked = session.__mcp_runtime__, tasks_request(session)
    task = await asked.task()
    request = context.http_request
    # Without HTTP, there is only one client.
    session_id = "" if request is None else request.headers.get("mcp-session-id", "")
    task = await until_ended(asked.registry, task, session_id, partial(ask, context, task.id))
    return result_of(session, RESULT, core_wire.outcome(task))


async def ask(context: RequestContext, id: str, question: JSONObject) -> JSONObject:
    """Put a task's question to the client, on the stream of the request in `context`."""
    spec = context.spoken.wire.requests[question["method"]]
    given = question.get("params")
    params = None if given is None else validator_of(spec.params)(given)
    meta = members(core_wire.related_meta(id))
    try:
        # No timeout: it waits as long as its task, even if the stream ends before.
        answer: WireModel = await context.endpoint.request(
            spec, params, NO_END, meta, context.beside
        )
    except (LocalError, Disconnected):
        raise
    except ProtocolError as error:
        return core_wire.refusal(error)
    return answer.to_wire()


async def tell(context: RequestContext, registry: TaskRegistry, task: Task) -> None:
    """Notify the client of each task status, while its session lives."""
    endpoint, spoken = context.endpoint, context.spoken
    spec = spoken.spec_of(CORE_CHANGED)
    with suppress(UnknownTask, Disconnected, EngineUnavailable):
        while spec is not None and endpoint.broken is None and not has_ended(task):
            before, task = task, await registry.wait_for_change(task)
            if task.status != before.status:
                params: type[WireModel] = spec.params
                await endpoint.notify(spec, params.from_wire(wire_task(task, spoken.rules.task_id)))


HANDLERS: Final[Mapping[str, Handler]] = {
    **{method: partial(_answer, method) for method in core_wire.ANSWERS},
    RESULT: result,
}
