"""Tools that await their questions to the client: written once for all revisions of clients.

In the handshake revisions a question is a request; in 2026-07-28 it ends the round, and the tool
runs again from its beginning.
"""

import asyncio
from typing import Final

from mcp_revisions.v2026_07_28 import models as m

from support.conformance.everything_toolbox import Answer, Call, Toolbox, strings
from support.sessions.talking import entry

ASKING: Final = Toolbox()


def sampling(question: str) -> m.CreateMessageRequestParams:
    """What to ask a model."""
    message = m.SamplingMessage(role="user", content=m.TextContent(text=question))
    return m.CreateMessageRequestParams(messages=[message], max_tokens=100)


def form(message: str, **fields: m.PrimitiveSchemaDefinition) -> m.ElicitRequestFormParams:
    """Return a form whose fields may all be left empty."""
    schema = m.ElicitRequestFormParamsRequestedSchema(properties=fields)
    return m.ElicitRequestFormParams(message=message, requested_schema=schema)


def name_form() -> m.ElicitRequestFormParams:
    schema = m.ElicitRequestFormParamsRequestedSchema(
        properties={"name": m.StringSchema(description="What you are called.")}, required=["name"]
    )
    return m.ElicitRequestFormParams(message="What is your name?", requested_schema=schema)


def describe_answer(answer: m.ElicitResult) -> str:
    """Describe the outcome of a form."""
    return f"{answer.action}: {answer.content or {}}"


def describe_message(answer: m.CreateMessageResult) -> str:
    block = answer.content
    return f"{answer.model} says: {block.text if isinstance(block, m.TextContent) else block}"


@ASKING.tool("test_sampling", "Asks the client's model.", strings("prompt"))
async def ask_model(call: Call) -> Answer:
    answer = await call.session.request(
        entry(call.session, "sampling/createMessage"), sampling(call.text("prompt"))
    )
    return describe_message(answer)


@ASKING.tool("test_elicitation", "Asks the user who they are.", strings("message"))
async def ask_user(call: Call) -> Answer:
    fields = {
        "username": m.StringSchema(description="The name to use."),
        "email": m.StringSchema(description="The address to use.", format="email"),
    }
    answer = await call.session.request(
        entry(call.session, "elicitation/create"), form(call.text("message"), **fields)
    )
    return describe_answer(answer)


@ASKING.tool("test_elicitation_sep1034_defaults", "Asks with a form that is filled in already.")
async def ask_with_defaults(call: Call) -> Answer:
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
    return describe_answer(
        await call.session.request(entry(call.session, "elicitation/create"), filled_in)
    )


@ASKING.tool("test_elicitation_sep1330_enums", "Asks with every kind of choice there is.")
async def ask_with_choices(call: Call) -> Answer:
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
    return describe_answer(
        await call.session.request(entry(call.session, "elicitation/create"), choices)
    )


@ASKING.tool("test_streaming_elicitation", "Asks the user while its answer is a stream.")
async def ask_on_a_stream(call: Call) -> Answer:
    return describe_answer(
        await call.session.request(entry(call.session, "elicitation/create"), name_form())
    )


# The runtime refuses to ask for undeclared capabilities, and the refusal is the answer.
@ASKING.tool("test_missing_capability", "Needs a client that samples.")
async def ask_without_capability(call: Call) -> Answer:
    answer = await call.session.request(
        entry(call.session, "sampling/createMessage"), sampling("Are you there?")
    )
    return describe_message(answer)


@ASKING.tool("test_input_required_result_sampling", "Asks the client's model, in its result.")
async def sampled_in_result(call: Call) -> Answer:
    answer = await call.session.request(
        entry(call.session, "sampling/createMessage"), sampling("What is the capital of France?")
    )
    return describe_message(answer)


@ASKING.tool("test_input_required_result_list_roots", "Asks for the roots, in its result.")
async def roots_in_result(call: Call) -> Answer:
    answer = await call.session.list_roots()
    return f"Roots: {[root.uri for root in answer.roots]}"


@ASKING.tool("test_input_required_result_multiple_inputs", "Asks three things at once.")
async def ask_at_once(call: Call) -> Answer:
    user, model, roots = await asyncio.gather(
        call.session.request(entry(call.session, "elicitation/create"), name_form()),
        call.session.request(
            entry(call.session, "sampling/createMessage"), sampling("How should I greet?")
        ),
        call.session.list_roots(),
    )
    return f"{describe_answer(user)}, {model.model}, {len(roots.roots)} roots"


@ASKING.tool("test_input_required_result_multi_round", "Asks twice, one after the other.")
async def ask_twice(call: Call) -> Answer:
    name = await call.session.request(entry(call.session, "elicitation/create"), name_form())
    colour = await call.session.request(
        entry(call.session, "elicitation/create"), form("And your colour?", color=m.StringSchema())
    )
    return f"{describe_answer(name)}, then {describe_answer(colour)}"
