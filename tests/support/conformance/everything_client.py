"""A client that does what each scenario of the official conformance suite wants to see.

The suite says in the environment which scenario it plays, in which revision, and with which data;
the URL of its server is the last argument.
"""

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final, TypeAlias

from mcp_revisions import REVISIONS, UnverifiedSkill, connect_http, read_skill
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.skills import SkillsClient
from support.conformance.everything_login import authorization

ERAS: Final = {revision.id: revision.era for revision in REVISIONS}


class Everything(SkillsClient, mcp.Client):
    """A client that answers every request of a server."""

    info = m.Implementation(name="everything", version="1.0")

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        if isinstance(params, m.ElicitRequestURLParams):
            return m.ElicitResult(action="decline")
        fields = params.requested_schema.to_wire()["properties"]
        content = {name: filled_in(field) for name, field in fields.items()}
        return m.ElicitResult(action="accept", content=content)

    async def on_create_message(
        self, params: m.CreateMessageRequestParams
    ) -> m.CreateMessageResult:
        said = m.TextContent(text="What a model would say.")
        return m.CreateMessageResult(model="none", role="assistant", content=said)

    async def on_list_roots(self, params: m.ListRootsRequestParams) -> m.ListRootsResult:
        return m.ListRootsResult(roots=[m.Root(uri="file:///tmp")])


def filled_in(field: Mapping[str, Any]) -> Any:
    """Return a value for a field of a form: its default, or the smallest valid one."""
    if "default" in field:
        return field["default"]
    if "enum" in field:
        return field["enum"][0]
    if "oneOf" in field:
        return field["oneOf"][0]["const"]
    fitting: Mapping[str, Any] = {"boolean": True, "integer": 1, "number": 1.5, "array": []}
    return fitting.get(field["type"], "")


async def say_hello(client: Everything, context: Mapping[str, Any]) -> None:
    """Only connect."""


async def list_tools(client: Everything, context: Mapping[str, Any]) -> None:
    """List tools without calling them."""
    await client.list_tools()


async def call_every_tool(client: Everything, context: Mapping[str, Any]) -> None:
    """Call each tool that is offered, with arguments made up from its schema."""
    async for tool in client.iter_tools():
        fields: Mapping[str, Any] = tool.input_schema.get("properties", {})
        made_up = {name: filled_in(schema) for name, schema in fields.items()}
        await client.call_tool(tool.name, made_up)


async def use_everything(client: Everything, context: Mapping[str, Any]) -> None:
    """Call each tool, read each resource, fill in each prompt."""
    await call_every_tool(client, context)
    async for resource in client.iter_resources():
        await client.read_resource(resource.uri)
    async for prompt in client.iter_prompts():
        await client.get_prompt(prompt.name)


async def make_the_calls(client: Everything, context: Mapping[str, Any]) -> None:
    await client.list_tools()
    for tool_call in context["toolCalls"]:
        await client.call_tool(tool_call["name"], tool_call["arguments"])


async def echo_a_schema(client: Everything, context: Mapping[str, Any]) -> None:
    """Send the schema of a tool back unchanged."""
    schemas = {tool.name: tool.input_schema async for tool in client.iter_tools()}
    schema = schemas["json_schema_2020_12_tool"]
    await client.call_tool("json_schema_echo", {"schema": schema})


async def list_skills(client: Everything, context: Mapping[str, Any]) -> None:
    """List skills without reading them."""
    await client.list_skills()


async def load_every_skill(client: Everything, context: Mapping[str, Any]) -> None:
    """Read all files of each skill, but stop at the first that differs from its entry."""
    async for skill in client.iter_skills():
        try:
            await read_skill(client, skill)
            for file in skill.resources if isinstance(skill.resources, list) else ():
                await read_skill(client, skill, file.uri)
        except UnverifiedSkill as error:
            print(error, file=sys.stderr)


Script: TypeAlias = Callable[[Everything, Mapping[str, Any]], Awaitable[None]]

SCENARIOS: Final[Mapping[str, Script]] = {
    "http-custom-headers": make_the_calls,
    "http-standard-headers": use_everything,
    "initialize": say_hello,
    "json-schema-2020-12-preservation": echo_a_schema,
    "json-schema-ref-no-deref": list_tools,
    "request-metadata": say_hello,
    "sep-2640-client-no-prefetch": list_skills,
    "sep-2640-client-verify-digest": load_every_skill,
    "sep-2640-client-verify-frontmatter": load_every_skill,
    "sep-2640-client-verify-size": load_every_skill,
}
"""What to do in scenarios, if it is not to call every tool."""


async def main(url: str) -> None:
    """Play the scenario that the environment names."""
    # A scenario belongs to an era; the two sides negotiate the revision.
    era = ERAS[os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]]
    offered = [revision for revision in REVISIONS if revision.era == era]
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))
    scenario = os.environ["MCP_CONFORMANCE_SCENARIO"]
    play = SCENARIOS.get(scenario, call_every_tool)
    auth = authorization(context)
    async with connect_http(url, Everything(), revisions=offered, auth=auth) as client:
        await play(client, context)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[-1]))
