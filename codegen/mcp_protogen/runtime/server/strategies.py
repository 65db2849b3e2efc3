"""Handlers that may ask the client in their results: a question ends the round."""

from asyncio import current_task
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from ..core.errors import McpError
from ..core.json import JSONObject, is_array, is_object
from ..core.models.base import WireModel, declared_member
from ..core.spec import CALL_TOOL, ELICIT
from ..messages.codec import Request
from ..messages.method_table import MethodTable
from ..rpc.jobs import Job
from .context import RequestContext, failed_result
from .rounds import read_round

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]
Strategy: TypeAlias = Callable[[Handler, RequestContext, Job], Awaitable[Any]]

URLS_FIRST: Final = -32042


def asking_methods(table: MethodTable) -> list[str]:
    requests = table.requests.items()
    return [method for method, spec in requests if "may_require_input" in spec.traits]


def in_rounds(handler: Handler, context: RequestContext, job: Job) -> Awaitable[Any]:
    """Return the result of a handler, or the result that asks its questions.

    If a client sends answers without a state, the handler runs again with those that fit.
    """
    if "requestState" not in context.raw and (answers := context.raw.get("inputResponses")):
        return _in_two_rounds(handler, context, job, answers)
    return _in_round(handler, context, job, job.request)


async def _in_two_rounds(
    handler: Handler, context: RequestContext, job: Job, answers: Mapping[str, Any]
) -> Any:
    result = await _in_round(handler, context, job, job.request)
    questions: Mapping[str, Any] = declared_member(result, "input_requests") or {}
    if answers.keys().isdisjoint(questions):
        return result
    state = (
        declared_member(result, "request_state") or context.ask(questions, None)["request_state"]
    )
    # Continue as if the client had returned it.
    context.raw, context.questions_so_far = {**context.raw, "requestState": state}, None
    params = job.request.params.model_copy(update={"request_state": state})
    return await _in_round(handler, context, job, job.request._replace(params=params))


async def _in_round(
    handler: Handler, context: RequestContext, job: Job, request: Request[Any]
) -> Any:
    context.handled_by = job.task or current_task()
    if "requestState" in context.raw:
        _resume(context, request)
    try:
        try:
            result = await handler(context.session(), request.params)
        except BaseException as error:
            if not _is_stopped(context, error):
                # A client that was there before gets the URLs in words.
                return in_words(error, request)
        else:
            if context.questions_so_far is None or not _end_rounds(context, None):
                return result
        return await _question(context, request)
    finally:
        # At a late question, the task may belong to another request.
        context.handled_by = None
        if context.questions_so_far is not None and context.questions_so_far.begun is not None:
            context.questions_so_far.begun.once.cancel()


def _resume(context: RequestContext, request: Request[Any]) -> None:
    asking = context.asking()
    rounds, (inputs, memo) = context.questions.rounds, read_round(context.raw, asking)
    if rounds is not None and memo is not None:
        rounds.remember(memo, inputs)
        if memo["own"]:
            return
    if context.spoken is not context.table:
        # A handler that asks in its result gets answers of its own revision.
        asking = asking._replace(specs=context.own_questions())
        inputs, _ = read_round(request.params.to_wire(), asking)
    context.inputs = inputs


def _end_rounds(context: RequestContext, error: BaseException | None) -> bool:
    rounds = None if context.questions_so_far is None else context.questions_so_far.begun
    return rounds is not None and rounds.end(error)


def _is_stopped(context: RequestContext, error: BaseException) -> bool:
    if _end_rounds(context, error):
        return True
    urls = _urls_first(error)
    rounds = context.questions.rounds if urls else None
    if rounds is None:
        return False
    method = context.spoken.wire.name_of(ELICIT)
    answers = [rounds.ask({"method": method, "params": params}) for params in urls]
    return any(answers)


async def _question(context: RequestContext, request: Request[Any]) -> WireModel:
    rounds = context.questions.rounds
    assert rounds is not None
    await rounds.once.wait_running()
    native = context.spoken.wire.requests[context.spoken.wire_name(request.spec.method)]
    kind: type[WireModel] = native.results[-1]
    return kind.from_wire(rounds.input_required_result(context.asking()))


def _urls_first(error: BaseException) -> list[JSONObject]:
    if not isinstance(error, McpError) or error.code != URLS_FIRST:
        return []
    raw = error.data.get("elicitations") if is_object(error.data) else None
    entries: list[Any] = raw if is_array(raw) else []
    return [
        {"mode": "url", "message": str(entry.get("message", "")), "url": str(entry["url"])}
        for entry in entries
        if is_object(entry) and "url" in entry
    ]


def in_words(error: BaseException, request: Request[Any]) -> Any:
    """Return a result that lists URLs to visit first; raise any other error."""
    urls = _urls_first(error)
    if not urls or request.spec.known_as != CALL_TOOL:
        raise error
    text = "\n".join(f"{url['message']} {url['url']}".strip() for url in urls)
    return failed_result(request.spec.results[0], text)
