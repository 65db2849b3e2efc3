"""The code on the page about extensions works."""

import pytest
from mcp_revisions import MissingCapability, connect_in_memory
from mcp_revisions import v2026_07_28 as mcp
from support.docs.pages import run_page


async def test_a_tool_of_the_page_is_a_task_of_its_client() -> None:
    shown = run_page("extensions.md")
    async with connect_in_memory(shown["Client"](), shown["Server"]()) as client:
        assert (await client.start_task("count", {"n": 3})).id is not None
        assert await client.call_tool("count", {"n": 3}, as_=int) == 3


async def test_a_method_of_an_extension_is_called_where_both_have_it() -> None:
    shown = run_page("extensions.md")
    async with connect_in_memory(shown["Client"](), shown["ByHand"]()) as client:
        assert await shown["look"](client) == "working"
    async with connect_in_memory(shown["Client"](), mcp.App("plain")) as client:
        with pytest.raises(MissingCapability):
            await shown["look"](client)
