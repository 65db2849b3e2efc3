"""Tools on live connections: questions, progress, cancellation, and clients of every revision."""

from itertools import product
from typing import Annotated, Any

import pytest
from mcp_revisions.v2025_11_25.models import ElicitRequestParams
from pydantic import BaseModel, Field
from support.revisions import OLD, WITHOUT_HANDSHAKE
from support.sessions.talking import client, content_of, entry
from support.toolkit.kits import McpError, Toolkit, mcp, pkg, prompt, resource, stateless, tool

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


async def test_the_stub_of_a_client_reads_what_a_toolkit_says() -> None:
    async with pkg.connect_in_memory(mcp.Client(), Weather()) as ours:
        assert [tool.name async for tool in ours.iter_tools()] == ["forecast", "count"]
        result = await ours.call_tool("count", {"text": "ab"})
        assert isinstance(result, mcp.models.CallToolResult)
        assert result.structured_content == {"result": 2}
