"""Answers to questions in the server's revision, whatever the client's own is."""

from typing import Any

from ..core.forms import fit_answer
from ..core.json import JSONObject
from ..core.models.base import WireModel, answers_form, validator_of
from .base import ClientConnection, Work, unfit_question


def prepare_native(connection: ClientConnection, key: str, question: Any) -> Work:
    """Return the work that answers a question; raise `InvalidAnswer` if it must not be asked."""
    table, own = connection.view.table, connection.view.handlers.TABLE
    method = table.own_name(question.method)
    spec = own.input_requests.get(method) or own.requests.get(method)
    handler = connection.handlers.get(method)
    if spec is None or handler is None:
        raise unfit_question(key, f"the client has no handler for {question.method}")
    wire: JSONObject = {} if question.params is None else question.params.to_wire()
    params = validator_of(spec.params)(table.carry_in(method, "params", wire))
    connection.check_question(key, spec, params)

    async def answer() -> WireModel:
        result: WireModel = await handler(params)
        answer = table.carry_out(method, "result", result.to_wire())
        native: type[WireModel] = table.wire.input_requests[question.method].results[0]
        if answers_form(native):
            answer = fit_answer(answer, wire, params.to_wire())
        return native.from_wire(answer)

    return answer
