"""Tools that ask the client: written once for all revisions of clients.

In the handshake revisions a question is a request; in 2026-07-28 it ends the round, and the tool
runs again from its beginning, or does the rounds by hand.
"""

import asyncio
from typing import Any, Final

from mcp_revisions import Toolkit, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from support.sessions.talking import entry


def sampling(question: str) -> m.CreateMessageRequestParams:
    """What to ask a model."""
    message = m.SamplingMessage(role="user", content=m.TextContent(text=question))
    return m.CreateMessageRequestParams(messages=[message], max_tokens=100)


def form(message: str, **fields: m.PrimitiveSchemaDefinition) -> m.ElicitRequestFormParams:
    """Return a form whose fields may all be left empty."""
    schema = m.ElicitRequestFormParamsRequestedSchema(properties=fields)
    return m.ElicitRequestFormParams(message=message, requested_schema=schema)


NAME: Final = form("What is your name?", name=m.StringSchema(description="What you are called."))
CONFIRM: Final = form("Go on?", ok=m.BooleanSchema())


def describe_answer(answer: m.ElicitResult) -> str:
    """Describe the outcome of a form."""
    return f"{answer.action}: {answer.content or {}}"


async def elicit(session: mcp.Session, asked: m.ElicitRequestFormParams) -> str:
    """Ask the user; return a description of the answer."""
    return describe_answer(await session.request(entry(session, "elicitation/create"), asked))


async def sample(session: mcp.Session, question: str) -> str:
    """Ask the client's model; return its answer."""
    asked = entry(session, "sampling/createMessage")
    answer: m.CreateMessageResult = await session.request(asked, sampling(question))
    block = answer.content
    return f"{answer.model} says: {block.text if isinstance(block, m.TextContent) else block}"


class Asking(Toolkit):
    """The tools."""

    @tool
    async def test_sampling(self, session: mcp.Session, prompt: str) -> str:
        """Ask the client's model."""
        return await sample(session, prompt)

    @tool
    async def test_elicitation(self, session: mcp.Session, message: str) -> str:
        """Ask the user who they are."""
        fields = {
            "username": m.StringSchema(description="The name to use."),
            "email": m.StringSchema(description="The address to use.", format="email"),
        }
        return await elicit(session, form(message, **fields))

    @tool
    async def test_elicitation_sep1034_defaults(self, session: mcp.Session) -> str:
        """Ask with a form that is filled in already."""
        filled_in = form(
            "Is this right?",
            name=m.StringSchema(default="John Doe"),
            age=m.NumberSchema(type="integer", default=30),
            score=m.NumberSchema(type="number", default=95.5),
            status=m.UntitledSingleSelectEnumSchema(
                enum=["active", "inactive", "pending"], default="active"
            ),
            verified=m.BooleanSchema(default=True),
        )
        return await elicit(session, filled_in)

    @tool
    async def test_elicitation_sep1330_enums(self, session: mcp.Session) -> str:
        """Ask with every kind of choice there is."""
        options = ["option1", "option2", "option3"]
        values = ["value1", "value2", "value3"]
        one_of = [m.TitledSingleSelectEnumSchemaOneOf(const=v, title=v.title()) for v in values]
        any_of = [m.TitledMultiSelectEnumSchemaItemsAnyOf(const=v, title=v.title()) for v in values]
        choices = form(
            "What do you choose?",
            untitledSingle=m.UntitledSingleSelectEnumSchema(enum=options),
            titledSingle=m.TitledSingleSelectEnumSchema(one_of=one_of),
            legacyEnum=m.LegacyTitledEnumSchema(
                enum=["opt1", "opt2", "opt3"], enum_names=["One", "Two", "Three"]
            ),
            untitledMulti=m.UntitledMultiSelectEnumSchema(
                items=m.UntitledMultiSelectEnumSchemaItems(enum=options)
            ),
            titledMulti=m.TitledMultiSelectEnumSchema(
                items=m.TitledMultiSelectEnumSchemaItems(any_of=any_of)
            ),
        )
        return await elicit(session, choices)

    @tool
    async def test_streaming_elicitation(self, session: mcp.Session) -> str:
        """Ask the user while its answer is a stream."""
        return await elicit(session, NAME)

    @tool
    async def test_missing_capability(self, session: mcp.Session) -> str:
        """Need a client that samples: without one, the refusal of the runtime is the answer."""
        return await sample(session, "Are you there?")

    @tool
    async def test_input_required_result_sampling(self, session: mcp.Session) -> str:
        """Ask the client's model, in the result."""
        return await sample(session, "What is the capital of France?")

    @tool
    async def test_input_required_result_list_roots(self, session: mcp.Session) -> str:
        """Ask for the roots, in the result."""
        return f"Roots: {[root.uri for root in (await session.list_roots()).roots]}"

    @tool
    async def test_input_required_result_multiple_inputs(self, session: mcp.Session) -> str:
        """Ask three things at once."""
        user, model, roots = await asyncio.gather(
            elicit(session, NAME),
            sample(session, "How should I greet?"),
            session.list_roots(),
        )
        return f"{user}, {model}, {len(roots.roots)} roots"

    @tool
    async def test_input_required_result_multi_round(self, session: mcp.Session) -> str:
        """Ask twice, one after the other."""
        name = await elicit(session, NAME)
        return f"{name}, then {await elicit(session, form('Your colour?', color=m.StringSchema()))}"


class Rounds(Toolkit):
    """Tools that return their questions, each under a key.

    The runtime seals the state that travels with the client and refuses tampered state before a
    tool sees it, so none of these has to check (2026-07-28, basic/patterns/mrtr).
    """

    @tool
    async def test_input_required_result_elicitation(self, session: mcp.Session) -> Any:
        """Ask the user's name, in the result."""
        inputs = session.inputs
        answer = None if inputs is None else inputs.response("user_name", m.ElicitResult)
        if answer is None:
            return session.input_required({"user_name": m.ElicitRequest(params=NAME)})
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
            questions["user"] = m.ElicitRequest(params=NAME)
        if able.roots is not None:
            questions["roots"] = m.ListRootsRequest()
        return session.input_required(questions) if questions else "There is nothing to ask."
