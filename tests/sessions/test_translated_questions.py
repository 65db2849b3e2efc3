"""Questions of a server in results and by requests: how they reach a client of another era."""

from typing import Any

import pytest
from talking import STATELESS, Accepting, Hand, client, models, named, pkg, run, tools
from wiretap import ELICIT, FORM, OLD, agree, answer, noting, over, questions, result


def talkative(revision: str, **members: Any) -> Any:
    """A client that answers all there is to ask."""
    mine = models(revision)

    async def on_elicit(self: Any, params: Any) -> Any:
        return mine.ElicitResult(action="accept", content={"x": params.message})

    async def on_create_message(self: Any, params: Any) -> Any:
        text = mine.TextContent(text="Ada")
        return mine.CreateMessageResult(role="assistant", model="m", content=text)

    async def on_list_roots(self: Any, params: Any) -> Any:
        return mine.ListRootsResult(roots=[mine.Root(uri="file:///r")])

    answers: dict[str, Any] = {
        "on_elicit": on_elicit,
        "on_create_message": on_create_message,
        "on_list_roots": on_list_roots,
    }
    return client(revision, **answers, **members)


@pytest.mark.parametrize(("own", "revision"), [(OLD, STATELESS), (STATELESS, OLD)])
def test_all_questions_of_a_handler_reach_the_client_round_by_round(
    own: str, revision: str
) -> None:
    theirs = models(own)

    async def call(session: Any, params: Any) -> str:
        form = theirs.ElicitRequestFormParams(message="one", requested_schema=FORM)
        one = (await session.elicit(form)).content["x"]
        said = theirs.SamplingMessage(role="user", content=theirs.TextContent(text=one))
        asked = theirs.CreateMessageRequestParams(messages=[said], max_tokens=5)
        name, roots = await session.create_message(asked), await session.list_roots()
        return f"{one} {name.content.text} {roots.roots[0].uri}"

    async def script() -> None:
        async with over(talkative(revision), tools(own, call)) as ours:
            said = await ours.call_tool(named(revision, "x"))
            assert said.content[0].text == "one Ada file:///r"

    run(script())


TOOL = {"name": "t", "inputSchema": {"type": "object"}}
SAMPLING: dict[str, Any] = {"messages": [], "maxTokens": 1, "tools": [TOOL]}


@pytest.mark.parametrize(
    "question",
    [
        {"method": "roots/list"},
        {"method": "elicitation/create", "params": {"message": "?", "requestedSchema": FORM}},
        {"method": "sampling/createMessage", "params": SAMPLING},
    ],
)
def test_a_question_for_what_was_not_declared_is_not_answered(question: Any) -> None:
    asked: list[Any] = []

    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        await answer(hand, "tools/call", **questions(question, requestState="s"))
        await answer(hand, "tools/call", resultType="complete", content=[])

    async def script() -> None:
        sampler = client(OLD, on_create_message=noting(asked, str))
        async with over(sampler, Accepting(play)) as ours:
            with pytest.raises(pkg.RemoteError, match=r"not declared|no handler"):
                await ours.call_tool(named(OLD, "x"))
            assert (await ours.call_tool(named(OLD, "x"))).content == []

    run(script())
    assert asked == []


@pytest.mark.parametrize("revision", [OLD, STATELESS])
def test_a_server_cannot_ask_for_ever(revision: str) -> None:
    rounds: list[Any] = []
    put: list[str] = []

    async def on_elicit(self: Any, params: Any) -> Any:
        put.append(params.message)
        return models(revision).ElicitResult(action="cancel")

    async def play(hand: Hand) -> None:
        await agree(hand, tools={})
        while (asked := await hand.take()) is not None:
            rounds.append(asked["params"].get("requestState"))
            number = f"{len(rounds)}"
            question = {"message": number, "requestedSchema": FORM}
            asking = questions({"method": ELICIT, "params": question}, requestState=number)
            await hand.send(result(asked["id"], **asking))

    async def script() -> None:
        ours = client(revision, on_elicit=on_elicit)
        async with over(ours, Accepting(play), max_rounds=3):
            with pytest.raises(pkg.RemoteError, match="again and again"):
                await ours.call_tool(named(revision, "x"))

    run(script())
    # What is asked last is not put to anybody: the answer would not be sent.
    assert (rounds, put) == ([None, "1", "2"], ["1", "2"])
