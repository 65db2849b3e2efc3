"""The official SDK's client, generation 1, against a server.

It is given the command line or the URL of the server. The first argument is the revision to
pin, or `newest`. Prints, as JSON, what it got to see.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable
from typing import Any

import anyio
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from pydantic import AnyUrl

REVISION, *COMMAND = sys.argv[1:]
OVER_HTTP = COMMAND[0].startswith("http://")
SEEN: dict[str, Any] = {"logs": [], "progress": [], "notifications": []}
URI = AnyUrl("file:///a")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "ada"})


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=text, model="model")


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///root")])  # pyright: ignore


async def logged(params: types.LoggingMessageNotificationParams) -> None:
    SEEN["logs"].append(params.data)


async def noted(message: Any) -> None:
    if isinstance(message, types.ServerNotification):
        SEEN["notifications"].append(message.root.method)
    elif isinstance(message, Exception):
        SEEN.setdefault("errors", []).append(repr(message))


async def progressed(done: float, total: float | None, message: str | None) -> None:
    SEEN["progress"].append([done, total, message])


async def text_of(client: ClientSession, tool: str, /, **arguments: Any) -> str:
    callback = progressed if tool == "count" else None
    result = await client.call_tool(tool, arguments, progress_callback=callback)
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


async def error_of(failing: Awaitable[Any]) -> Any:
    try:
        return repr(await failing)
    except McpError as error:
        return [error.error.code, error.error.message]


async def cancelled(client: ClientSession) -> str:
    """This generation tells the server by hand."""
    upcoming = client._request_id
    with anyio.move_on_after(0.3):
        return await text_of(client, "sleep")
    params = types.CancelledNotificationParams(requestId=upcoming, reason="enough")
    await client.send_notification(
        types.ClientNotification(types.CancelledNotification(params=params))
    )
    return "cancelled"


async def use(client: ClientSession) -> None:
    agreed = await client.initialize()
    SEEN["revision"] = agreed.protocolVersion
    SEEN["server"] = agreed.serverInfo.name
    SEEN["instructions"] = agreed.instructions
    tools = await client.list_tools()
    names = [tool.name for tool in tools.tools]
    while tools.nextCursor:
        tools = await client.list_tools(cursor=tools.nextCursor)
        names += [tool.name for tool in tools.tools]
    SEEN["tools"] = names
    SEEN["resources"] = [str(one.uri) for one in (await client.list_resources()).resources]
    contents: Any = (await client.read_resource(URI)).contents[0]
    SEEN["read"] = contents.text
    SEEN["prompts"] = [one.name for one in (await client.list_prompts()).prompts]
    prompt: Any = await client.get_prompt("greet", {"name": "ada"})
    SEEN["prompt"] = prompt.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="greet")
    completed = await client.complete(reference, {"name": "name", "value": "a"})
    SEEN["completed"] = completed.completion.values
    await client.send_ping()
    await client.set_logging_level("info")
    called = ("echo", "count", "log", "sample", "roots", "stray")
    for name in called if agreed.protocolVersion < "2025-06-18" else (*called, "ask"):
        SEEN[name] = await text_of(client, name, text="hi", to=3)
    if OVER_HTTP:
        SEEN["poll"] = await text_of(client, "poll")
    SEEN["structured"] = (await client.call_tool("media")).structuredContent
    for name, failing in (
        ("missing", client.read_resource(AnyUrl("file:///none"))),
        ("crash", client.call_tool("crash")),
    ):
        SEEN[name] = await error_of(failing)
    await client.subscribe_resource(URI)
    await text_of(client, "change")
    await client.unsubscribe_resource(URI)
    SEEN["sleep"] = await cancelled(client)
    if OVER_HTTP:
        SEEN["told"] = await text_of(client, "told")
    SEEN["after"] = await text_of(client, "echo", text="hi")


def transport() -> Any:
    """By HTTP if there is a URL, and by HTTP+SSE if that ends so."""
    first, *arguments = COMMAND
    if not OVER_HTTP:
        return stdio_client(StdioServerParameters(command=first, args=arguments))
    return sse_client(first) if first.endswith("/sse") else streamable_http_client(first)


async def main() -> None:
    if REVISION != "newest":
        types.LATEST_PROTOCOL_VERSION = REVISION
    async with (
        transport() as (read, write, *_),
        ClientSession(
            read,
            write,
            sampling_callback=sample,
            elicitation_callback=elicit,
            list_roots_callback=roots,
            logging_callback=logged,
            message_handler=noted,
        ) as client,
    ):
        await use(client)
    print(json.dumps(SEEN))


asyncio.run(main())
