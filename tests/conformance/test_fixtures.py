"""The tools of the fixtures answer clients of every revision, also where the suite calls none."""

import asyncio

import pytest
from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.testing import in_memory
from mcp_revisions import REVISIONS, McpError, connect
from support.conformance.everything_client import Everything as Client
from support.conformance.everything_server import Everything
from support.conformance.everything_tasks import Working

# Without HTTP no stream can end.
OVER_HTTP = {"test_reconnection"}

ELICITING = {
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_multi_round",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_request_state",
    "test_input_required_result_tampered_state",
    "test_streaming_elicitation",
}

GIVEN = ("prompt", "message", "region", "email")
"""The arguments that the tools get."""

INTERNAL_ERROR = -32603


async def failing_in(revision: Revision) -> set[str]:
    """The tools that answer a client of a revision with an error of the protocol."""
    failing: set[str] = set()
    opener = in_memory(Everything(), revisions=[revision])
    async with connect(opener, Client(), revisions=[revision]) as client:
        assert client.revision == revision.id
        tools = [tool async for tool in client.iter_tools() if not hasattr(Working, tool.name)]
        for tool in tools:
            if tool.name in OVER_HTTP:
                continue
            given = {
                name: "Hello?" for name in tool.input_schema.get("properties", ()) if name in GIVEN
            }
            try:
                result = await client.call_tool(tool.name, given)
            except McpError as error:
                assert error.code == INTERNAL_ERROR, error
                failing.add(tool.name)
            else:
                assert bool(result.is_error) is (tool.name == "test_error_handling"), result
    return failing


@pytest.mark.parametrize("revision", REVISIONS, ids=[spoken.id for spoken in REVISIONS])
def test_every_tool_answers_unless_it_asks_who_cannot_be_asked(revision: Revision) -> None:
    expected = ELICITING if revision.id < "2025-06-18" else set[str]()
    assert asyncio.run(failing_in(revision)) == expected
