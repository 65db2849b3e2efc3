"""Tools that do the rounds of 2026-07-28 by hand: they return their questions, each under a key.

The runtime seals the state that travels with the client and refuses tampered state before a tool
sees it, so none of these has to check (2026-07-28, basic/patterns/mrtr).
"""

from typing import Any, Final

from mcp_revisions import Toolkit, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from support.conformance.everything_questions import describe_answer, name_form, sampling

CONFIRM: Final = m.ElicitRequestFormParams(
    message="Go on?",
    requested_schema=m.ElicitRequestFormParamsRequestedSchema(
        properties={"ok": m.BooleanSchema()}, required=["ok"]
    ),
)


class Rounds(Toolkit):
    """The tools."""

    @tool
    async def test_input_required_result_elicitation(self, session: mcp.Session) -> Any:
        """Ask the user's name, in the result."""
        inputs = session.inputs
        answer = None if inputs is None else inputs.response("user_name", m.ElicitResult)
        if answer is None:
            return session.input_required({"user_name": m.ElicitRequest(params=name_form())})
        return describe_answer(answer)

    @tool
    async def test_input_required_result_request_state(self, session: mcp.Session) -> Any:
        """Ask, and put something aside."""
        inputs = session.inputs
        if inputs is None or inputs.missing:
            return session.input_required(
                {"confirm": m.ElicitRequest(params=CONFIRM)}, state="put aside"
            )
        return f"state-ok: {inputs.state}"

    @tool
    async def test_input_required_result_tampered_state(self, session: mcp.Session) -> Any:
        """Ask with a state that is sealed."""
        return await self.test_input_required_result_request_state(session)

    @tool
    async def test_input_required_result_capabilities(self, session: mcp.Session) -> Any:
        """Ask nothing that a client cannot answer."""
        if session.inputs is not None:
            return f"Answered: {sorted(session.inputs.given)}"
        questions: dict[str, m.InputRequest] = {}
        able = session.client_capabilities
        if able.sampling is not None:
            questions["model"] = m.CreateMessageRequest(params=sampling("Are you there?"))
        if able.elicitation is not None:
            questions["user"] = m.ElicitRequest(params=name_form())
        if able.roots is not None:
            questions["roots"] = m.ListRootsRequest()
        return session.input_required(questions) if questions else "There is nothing to ask."
