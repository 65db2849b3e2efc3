"""The code on the page about middleware works."""

import asyncio
import re
from typing import Any

import pytest
from mcp_protogen.runtime.core.middleware import MethodCall
from mcp_protogen.runtime.features import telemetry
from mcp_revisions import REVISIONS, McpError, connect_in_memory, v2025_11_25
from mcp_revisions import v2026_07_28 as mcp
from opentelemetry.trace import get_current_span
from support.docs.pages import page, run_page

PAGE = page("middleware.md")
m = mcp.models


async def test_the_programs_of_the_page_run() -> None:
    names: dict[str, Any] = run_page("middleware.md")
    async with connect_in_memory(
        names["Patient"](), names["Weather"](), revisions=REVISIONS
    ) as one:
        params = m.CallToolRequestParams(name="forecast", arguments={"place": "Rome"})
        assert "rain in Oslo" in str(await one.request(one.TABLE.requests["tools/call"], params))
        with pytest.raises(McpError, match="Only an administrator"):
            await one.call_tool("reset")
        assert (await one.list_tools()).ttl_ms == 60_000
    counting = names["Counting"]()
    observed = names["Observed"]()
    observed.middleware = (*observed.middleware, counting)
    async with connect_in_memory(v2025_11_25.Client(), observed, revisions=REVISIONS):
        assert counting.sessions == 0
    assert counting.sessions == 1
    async with connect_in_memory(names["Observing"](), names["Observed"]()) as two:
        params = m.CallToolRequestParams(name="twice", arguments={"number": 21})
        assert "42" in str(await two.request(two.TABLE.requests["tools/call"], params))
    assert not get_current_span().is_recording()


@pytest.mark.skips_time
async def test_a_list_that_takes_too_long_is_asked_for_again() -> None:
    class Slow(mcp.Server):
        """A tool that does not answer the first call."""

        asked = 0

        async def on_list_tools(self, session: Any, params: object) -> Any:
            self.asked += 1
            if self.asked == 1:
                await asyncio.Event().wait()
            return m.ListToolsResult(tools=[])

    async with connect_in_memory(run_page("middleware.md")["Patient"](), slow := Slow()) as client:
        assert (await client.list_tools()).tools == []
    assert slow.asked == 2


def test_the_tables_name_what_there_is() -> None:
    attributes = {*telemetry.ATTRIBUTES, telemetry.ERROR_TYPE, telemetry.STATUS_CODE}
    optional = {telemetry.ARGUMENTS, telemetry.RESULT}
    metrics = {name for name, _ in telemetry.METRICS.values()}
    for name in (*attributes, *optional, *metrics, *telemetry.NETWORK):
        assert f"`{name}`" in PAGE, name
    listed = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert {*MethodCall._fields, "target", "network"} <= listed
