"""A toolkit over HTTP, and arguments that are repeated in header fields."""

from typing import Annotated, Any

from pydantic import Field
from support.http.serving import outcome, serving, text_in
from support.revisions import STATELESS
from support.toolkit.kits import kit, tool

REFUSED = (400, -32020)
SERVED = (200, None)


@tool
def query(
    self: object,
    text: str,
    region: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Region"})] = "eu",
) -> str:
    return f"{text} in {region}"


def late(place: Annotated[str, Field(json_schema_extra={"x-mcp-header": "Place"})]) -> str:
    return place


async def test_arguments_in_header_fields_are_compared_with_those_in_the_message() -> None:
    changed = frozenset({"notifications/tools/list_changed"})
    server = kit(STATELESS, query=query, SENDS=changed)()
    async with serving(server) as site:

        async def call_tool(name: str, arguments: Any, **fields: str) -> Any:
            headers = {f"mcp-param-{field}": value for field, value in fields.items()}
            return await site.modern("tools/call", name=name, headers=headers, arguments=arguments)

        same = await call_tool("query", {"text": "a", "region": "us"}, region="us")
        assert outcome(same) == SERVED
        assert text_in(same) == "a in us"
        other = await call_tool("query", {"text": "a", "region": "us"}, region="eu")
        assert outcome(other) == REFUSED
        assert outcome(await call_tool("query", {"text": "a", "region": "us"})) == REFUSED
        # A tool that comes later is known at once.
        server.add_tool(late)
        assert outcome(await call_tool("late", {"place": "Oslo"})) == REFUSED
        assert outcome(await call_tool("late", {"place": "Oslo"}, place="Oslo")) == SERVED
