"""Tools that do the rounds of 2026-07-28 by hand: they return their questions, each under a key.

The runtime seals the state that travels with the client and refuses tampered state before a tool
sees it, so none of these has to check (2026-07-28, basic/patterns/mrtr).
"""

from typing import Final

from mcp_revisions.v2026_07_28 import models as m

from support.conformance.everything_questions import describe_answer, name_form, sampling
from support.conformance.everything_toolbox import Answer, Call, Toolbox

ROUNDS: Final = Toolbox()

CONFIRM: Final = m.ElicitRequestFormParams(
    message="Go on?",
    requested_schema=m.ElicitRequestFormParamsRequestedSchema(
        properties={"ok": m.BooleanSchema()}, required=["ok"]
    ),
)


@ROUNDS.tool("test_input_required_result_elicitation", "Asks the user's name, in its result.")
async def question_with_name(call: Call) -> Answer:
    inputs = call.session.inputs
    answer = None if inputs is None else inputs.response("user_name", m.ElicitResult)
    if answer is None:
        return call.session.input_required({"user_name": m.ElicitRequest(params=name_form())})
    return describe_answer(answer)


@ROUNDS.tool("test_input_required_result_request_state", "Asks, and puts something aside.")
async def with_state(call: Call) -> Answer:
    inputs = call.session.inputs
    if inputs is None or inputs.missing:
        return call.session.input_required(
            {"confirm": m.ElicitRequest(params=CONFIRM)}, state="put aside"
        )
    return f"state-ok: {inputs.state}"


@ROUNDS.tool("test_input_required_result_tampered_state", "Asks with a state that is sealed.")
async def with_sealed_state(call: Call) -> Answer:
    inputs = call.session.inputs
    if inputs is None or inputs.missing:
        return call.session.input_required(
            {"confirm": m.ElicitRequest(params=CONFIRM)}, state="sealed"
        )
    return f"Nobody has changed what was {inputs.state}."


@ROUNDS.tool("test_input_required_result_capabilities", "Asks nothing that a client cannot answer.")
async def within_capabilities(call: Call) -> Answer:
    if call.session.inputs is not None:
        return f"Answered: {sorted(call.session.inputs.given)}"
    questions: dict[str, m.InputRequest] = {}
    able = call.session.client_capabilities
    if able.sampling is not None:
        questions["model"] = m.CreateMessageRequest(params=sampling("Are you there?"))
    if able.elicitation is not None:
        questions["user"] = m.ElicitRequest(params=name_form())
    if able.roots is not None:
        questions["roots"] = m.ListRootsRequest()
    return call.session.input_required(questions) if questions else "There is nothing to ask."
