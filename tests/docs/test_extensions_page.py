"""What the page about extensions shows works as it stands there."""

import pytest
from mcp_revisions import MissingCapability, connect_in_memory
from mcp_revisions import v2026_07_28 as mcp
from support.docs.pages import defined


async def test_a_method_of_an_extension_is_called_where_both_have_it() -> None:
    shown = defined("extensions.md")
    async with connect_in_memory(shown["Client"](), shown["Server"]()) as client:
        assert await shown["look"](client) == "working"
    async with connect_in_memory(shown["Client"](), mcp.App("plain")) as client:
        with pytest.raises(MissingCapability):
            await shown["look"](client)
