"""Handlers whose questions can be awaited: in the handshake era, and in a task.

A handler of the stateless era, which asks in its result, runs again with the answers.
"""

from asyncio import sleep
from collections.abc import Mapping
from typing import Any, Final, cast

from ..core.connection_errors import Disconnected
from ..core.errors import INTERNAL_ERROR, InvalidParams, McpError, RemoteError
from ..core.models.base import WireModel
from ..core.spec import CALL_TOOL, ELICIT
from ..core.tasks import together
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job
from .context import RequestContext
from .rounds import read_round
from .strategies import URLS_FIRST, Handler, Strategy, asking_methods, in_words

# A server that only wants to be asked again is asked at once, then at growing intervals.
_PAUSE: Final = 0.05


def in_tasks(native: MethodTable, table: MethodTable) -> Mapping[str, Strategy]:
    methods = dict.fromkeys(asking_methods(native), by_requests)
    if URLS_FIRST in native.errors and URLS_FIRST not in table.wire.errors:
        methods.setdefault(native.name_of(CALL_TOOL), in_text)
    return methods


async def by_requests(handler: Handler, context: RequestContext, job: Job) -> Any:
    """Return the plain result of a handler that asks in its result, after asking."""
    spec = context.table.requests[job.request.spec.method]
    params, asks = job.request.params, cast(type[Any], spec.results[-1])
    for number in range(context.endpoint.options.max_rounds):
        result = await handler(context.session(), params)
        if not isinstance(result, asks):
            return result
        questions: Mapping[str, Any] = result.input_requests or {}
        if not questions:
            await sleep(_PAUSE * number)
        answers = await _answers(context, questions)
        update = {"input_responses": answers or None, "request_state": result.request_state}
        params = params.model_copy(update=update)
        asking = context.asking()._replace(specs=context.own_questions())
        context.inputs, _ = read_round(params.to_wire(), asking)
    raise McpError(INTERNAL_ERROR, "Too many rounds of questions")


async def _answers(context: RequestContext, questions: Mapping[str, Any]) -> dict[str, Any]:
    answers: dict[str, Any] = {}

    async def answer(key: str, question: Any) -> None:
        spec = context.table.input_requests[question.method]
        try:
            answers[key] = await context.request(spec, question.params, {})
        except InvalidParams:
            raise  # the input is wrong, not its transport
        except (RemoteError, Disconnected) as error:
            raise McpError(INTERNAL_ERROR, f"The client did not answer: {error}") from error
        except McpError:
            # Only a form has an answer that says "no".
            if spec.known_as != ELICIT:
                raise
            cancelled: type[WireModel] = spec.results[0]
            answers[key] = cancelled.from_wire({"action": "cancel"})

    await together([answer(key, question) for key, question in questions.items()])
    return answers


async def in_text(handler: Handler, context: RequestContext, job: Job) -> Any:
    """Return the result of a handler, or a result that lists URLs to visit first."""
    try:
        return await handler(context.session(), job.request.params)
    except McpError as error:
        return in_words(error, job.request)
