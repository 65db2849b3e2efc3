"""Tasks of the extension `io.modelcontextprotocol/tasks` on a server: its handlers."""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, Final, TypeVar

from ....core.errors import InvalidParams, McpError, Problem, escape_step
from ....core.json import JSONObject
from ....core.models.base import validator_of
from ....core.spec import AnyRequest
from ....messages.codec import Request
from ....messages.envelope import SUBSCRIPTION_ID, members
from ....rules.handlers import Handler
from ....rules.task_methods import CANCEL, CHANGED, GET, UPDATE
from ....server.base import SessionBase
from ....server.connection import ServerConnection
from ....server.rounds import read_answer
from .. import lifecycle
from ..lifecycle import TaskEnded
from ..on_wire import wire_task
from ..registry import UnknownTask
from ..remote_tasks import state_of
from ..task import Status, Task
from .hosting import result_of, tasks_request

T = TypeVar("T")


async def follow(
    connection: ServerConnection,
    request: Request[Any],
    task: T,
    describe: Callable[[T], JSONObject],
    wait_for_change: Callable[[T], Awaitable[T]],
) -> None:
    """Send the state of a task on a listen stream, and each change of it, until its end."""
    endpoint, meta = connection.endpoint, members({SUBSCRIPTION_ID: request.id})
    spec = endpoint.connection.table.wire.spec_of(CHANGED)
    with suppress(McpError, UnknownTask):  # It has expired.
        while True:
            wire = describe(task)
            # Its class depends on its status.
            params = validator_of(spec.params)(wire)
            await endpoint.notify(spec, params, meta=meta, about=request)
            if state_of(wire).has_ended:
                return
            task = await wait_for_change(task)


def with_details(task: Task, id_member: str) -> JSONObject:
    wire = wire_task(task, id_member)
    if task.status is Status.INPUT_REQUIRED:
        wire["inputRequests"] = dict(task.questions)
    elif task.status is Status.COMPLETED:
        wire["result"] = task.result
    elif task.status is Status.FAILED:
        wire["error"] = task.error
    return wire


def read_answers(
    asked: Mapping[str, tuple[JSONObject, AnyRequest]], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the answers by question key; raise `InvalidParams` if one is invalid."""
    faults, answers = list[Problem](), dict[str, Any]()
    for key, (question, spec) in asked.items():
        if key in given:
            at = f"/params/inputResponses/{escape_step(key)}"
            answers[key] = read_answer(given[key], spec, question, at, faults)
    if faults:
        raise InvalidParams("Invalid answers", faults)
    return answers


async def get(session: SessionBase, params: Any) -> Any:
    request = tasks_request(session)
    task = await request.task("extension")
    return _result(session, GET, with_details(task, request.id_member))


async def update(session: SessionBase, params: Any) -> Any:
    """Take answers to the task's questions; ignore others ("Task Update Requests")."""
    request = tasks_request(session)
    task, registry = await request.task("extension"), request.registry
    given: JSONObject = request.wire.get("inputResponses", {})
    specs = session.__mcp_runtime__.spoken.wire.input_requests
    questions = task.questions.items()
    asked = {
        key: (question, specs[question["method"]]) for key, question in questions if key in given
    }
    answers = {key: answer.to_wire() for key, answer in read_answers(asked, given).items()}
    # An ended task has no questions.
    with suppress(TaskEnded):
        await registry.change(
            task.id, lambda one: lifecycle.add_answers(one, answers, registry.clock())
        )
    return _result(session, UPDATE, {})


async def cancel(session: SessionBase, params: Any) -> Any:
    """Ask the work to end; it may have ended already ("Task Cancellation")."""
    request = tasks_request(session)
    task, registry = await request.task("extension"), request.registry
    with suppress(TaskEnded):
        await registry.change(task.id, lambda one: lifecycle.cancel_asked(one, registry.clock()))
    return _result(session, CANCEL, {})


def _result(session: SessionBase, method: str, details: JSONObject) -> Any:
    return result_of(session, method, {"resultType": "complete", **details})


HANDLERS: Final[Mapping[str, Handler]] = {
    CANCEL: cancel,
    GET: get,
    UPDATE: update,
}
