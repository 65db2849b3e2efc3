"""The page on sessions: its servers answer as it says."""

from typing import Any

import pytest
from mcp_revisions import McpError, connect
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as newest
from support.docs.pages import run_page
from support.sessions.talking import CAPABILITIES, META, modern, serve_by_hand


@pytest.fixture(scope="module")
def page_names() -> dict[str, Any]:
    return run_page("sessions.md")


async def test_the_server_with_handlers_answers(page_names: dict[str, Any]) -> None:
    async with connect(page_names["Weather"](), as_=mcp) as client:
        assert [tool.name async for tool in client.iter_tools()] == ["forecast"]
        assert (await client.call_tool("forecast")).text == "rain"
        with pytest.raises(McpError, match="There is no tool shout"):
            await client.call_tool("shout")
        declared = client.server_capabilities
        assert (declared.logging, declared.experimental) != (None, None)


async def test_the_server_that_handles_rounds_by_itself_gets_its_answer(
    page_names: dict[str, Any],
) -> None:
    m = newest.models

    class User(newest.Client):
        async def on_elicit(self, params: Any) -> Any:
            assert params.message == "How old are you?"
            return m.ElicitResult(action="accept", content={"age": 36})

    async with connect(page_names["Asking"](), User()) as client:
        assert (await client.call_tool("any")).text == "{'age': 36}"


async def test_server_that_handles_rounds_by_itself_takes_answers_without_a_state(
    page_names: dict[str, Any],
) -> None:
    m = newest.models
    answer = m.ElicitResult(action="accept", content={"age": 36})
    able: Any = {**META, CAPABILITIES: {"elicitation": {}}}
    async with serve_by_hand(page_names["Asking"]()) as hand:

        async def call(**answers: Any) -> Any:
            await hand.send(modern("tools/call", _meta=able, name="any", inputResponses=answers))
            return await hand.take()

        found = [await call(age=answer.to_wire()), await call(other=answer.to_wire())]
        assert found[0]["result"]["content"][0]["text"] == "{'age': 36}"
        assert found[1]["result"]["inputRequests"].keys() == {"age"}
        wrong = m.ElicitResult(action="accept", content={"age": "x"})
        assert (await call(age=wrong.to_wire()))["error"]["code"] == -32602


async def test_the_server_that_changes_says_so(page_names: dict[str, Any]) -> None:
    heard: list[object] = []

    class Reader(mcp.Client):
        async def on_resource_updated(self, params: Any) -> None:
            heard.append(params.uri)

        async def on_resource_list_changed(self, params: object) -> None:
            heard.append("list")

    board = page_names["Board"]()
    board.add_resource(lambda: "", uri="board://a")
    async with connect(board, Reader()) as client:
        await client.subscribe("board://a")
        await client.call_tool("write", {"name": "a"})
        await client.ping()
    assert heard == ["board://a", "list"]


async def test_the_server_with_a_long_list_sends_pages(page_names: dict[str, Any]) -> None:
    async with connect(page_names["Many"](), as_=mcp) as client:
        first = await client.list_tools()
        assert (len(first.tools), first.next_cursor is None) == (50, False)
        assert len([tool async for tool in client.iter_tools()]) == 70
