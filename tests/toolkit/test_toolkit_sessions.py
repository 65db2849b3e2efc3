"""Tools on live connections: questions, progress, cancellation, and clients of every revision."""

import asyncio
from itertools import product
from typing import Annotated, Any

import pytest
from mcp_revisions.v2025_11_25.models import ElicitRequestParams
from pydantic import BaseModel, Field
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS, WITHOUT_HANDSHAKE
from support.sessions.talking import client, content_of, entry, notification, request
from support.tables import case
from support.toolkit.kits import (
    McpError,
    Toolkit,
    asking,
    kit,
    mcp,
    pkg,
    prompt,
    resource,
    shaken,
    stateless,
    text_of,
    tool,
)

m: Any = mcp.models


class Forecast(BaseModel):
    place: str
    days: list[int]


class Weather(Toolkit, mcp.Server):
    @tool
    async def forecast(self, place: str, days: Annotated[int, Field(ge=1, le=7)] = 2) -> Forecast:
        """Forecast the weather."""
        return Forecast(place=place, days=list(range(days)))

    @tool
    def count(self, text: str) -> int:
        return len(text)

    @resource("weather://{place}")
    def now(self, place: str) -> str:
        return f"fine in {place}"

    @prompt
    def pack(self, place: str, sure: bool = False) -> str:
        return f"What to pack for {place}? {sure}"


class OfStateless(Toolkit, stateless.Server):
    forecast, count, now, pack = Weather.forecast, Weather.count, Weather.now, Weather.pack


async def test_server_class_serves_clients_of_every_revision() -> None:
    classes: list[type[Weather | OfStateless]] = [Weather, OfStateless]
    for spoken, own in product(REVISIONS, classes):
        with case((spoken, own)):
            async with asking(own(), spoken, bridged=True) as ask:
                listed = {tool["name"]: tool for tool in (await ask("tools/list"))["tools"]}
                assert list(listed) == ["forecast", "count"]
                answer = await ask("tools/call", name="forecast", arguments={"place": "Oslo"})
                assert text_of(answer) == '{"place":"Oslo","days":[0,1]}'
                counted = await ask("tools/call", name="count", arguments={"text": "abc"})
                if spoken >= "2025-06-18":
                    assert answer["structuredContent"] == {"place": "Oslo", "days": [0, 1]}
                    assert listed["forecast"]["outputSchema"]["required"] == ["place", "days"]
                if own is OfStateless and spoken not in HANDSHAKE:
                    assert counted["structuredContent"] == 3
                    assert listed["count"]["outputSchema"] == {"type": "integer"}
                elif spoken >= "2025-06-18":
                    # Values other than objects are wrapped in one, in every revision of the server.
                    assert counted["structuredContent"] == {"result": 3}
                    assert listed["count"]["outputSchema"]["required"] == ["result"]
                else:
                    assert "structuredContent" not in counted
                    assert "outputSchema" not in listed["count"]
                (read,) = (await ask("resources/read", uri="weather://Oslo"))["contents"]
                assert read["text"] == "fine in Oslo"
                got = await ask(
                    "prompts/get", name="pack", arguments={"place": "Oslo", "sure": "yes"}
                )
                assert got["messages"][0]["content"]["text"] == "What to pack for Oslo? True"
                completed = await ask(
                    "completion/complete",
                    ref={"type": "ref/prompt", "name": "pack"},
                    argument={"name": "sure", "value": "f"},
                )
                assert completed["completion"]["values"] == ["false"]


FORM: Any = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


class Curious(Toolkit, mcp.Server):
    """A tool that asks the client while it is being called."""

    SENDS = frozenset({"notifications/message"})

    @tool
    async def ask(self, who: str, session: mcp.Session) -> str:
        await session.progress(1, 2, "asking")
        form = m.ElicitRequestFormParams(message=f"{who}?", requested_schema=FORM)
        answer: Any = await session.request(entry(session, "elicitation/create"), form)
        return f"{who} is {answer.content['age']}"


@pytest.mark.parametrize("spoken", ["2025-06-18", OLD, STATELESS])
async def test_tool_asks_client_of_any_era(spoken: str) -> None:
    models = pkg.load(spoken).models
    reports: list[Any] = []

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return models.ElicitResult(action="accept", content={"age": len(params.message)})

    ours = client(spoken, on_elicit=on_elicit)
    connecting = pkg.connect_in_memory(ours, Curious(), revisions=pkg.REVISIONS)
    async with connecting as connected:
        params = models.CallToolRequestParams(name="ask", arguments={"who": "Ada"})
        result = await connected.request(
            connected.TABLE.requests["tools/call"], params, on_progress=reports.append
        )
        assert content_of(result)[0].text == "Ada is 4"
        assert [report.message for report in reports][:1] == ["asking"]


async def test_a_capability_that_the_client_lacks_is_told_as_by_any_handler() -> None:
    ours = client(OLD)
    async with pkg.connect_in_memory(ours, Curious()) as connected:
        with pytest.raises(McpError) as raised:
            await connected.call_tool("ask", {"who": "Ada"})
        assert raised.value.data == {"requiredCapabilities": {"elicitation": {}}}


@pytest.mark.parametrize(("own", "revision"), list(product(WITHOUT_HANDSHAKE, repeat=2)))
async def test_a_round_by_hand_is_a_result_like_any_other(own: str, revision: str) -> None:
    ours: Any = pkg.load(own)
    models = ours.models

    class Rounds(Toolkit, ours.Server):  # type: ignore[misc]
        @tool
        def age(self, session: stateless.Session) -> Any:
            if session.inputs is None:
                form = models.ElicitRequestFormParams(message="?", requested_schema=FORM)
                return session.input_required({"age": models.ElicitRequest(params=form)})
            answer: Any = session.inputs.response("age", models.ElicitResult)
            return str(answer.content["age"])

    async def on_elicit(self: object, params: ElicitRequestParams) -> object:
        return pkg.load(revision).models.ElicitResult(action="accept", content={"age": 7})

    asker = client(revision, on_elicit=on_elicit)
    async with pkg.connect_in_memory(asker, Rounds(), revisions=pkg.REVISIONS) as one:
        result = await one.call_tool("age")
        assert content_of(result)[0].text == "7"


async def test_a_call_that_is_cancelled_cancels_the_tool() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    @tool
    async def wait(self: object) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with shaken(kit(wait=wait)()) as hand:
        await hand.send(request("tools/call", 1, name="wait"))
        await begun.wait()
        await hand.send(notification("notifications/cancelled", requestId=1))
        await ended.wait()
        # A cancelled request gets no answer.
        assert (await hand.ask("ping", 2))["id"] == 2


async def test_calls_run_side_by_side() -> None:
    together = asyncio.Barrier(3)

    @tool
    async def meet(self: object, who: str) -> str:
        await together.wait()
        return who

    async with shaken(kit(meet=meet)()) as hand:
        calls = [request("tools/call", at, name="meet", arguments={"who": "x"}) for at in "abc"]
        await hand.send(*calls)
        assert {(await hand.take())["id"] for _ in "abc"} == set("abc")


async def test_the_stub_of_a_client_reads_what_a_toolkit_says() -> None:
    async with pkg.connect_in_memory(mcp.Client(), Weather()) as ours:
        assert [tool.name async for tool in ours.iter_tools()] == ["forecast", "count"]
        result = await ours.call_tool("count", {"text": "ab"})
        assert isinstance(result, mcp.models.CallToolResult)
        assert result.structured_content == {"result": 2}
