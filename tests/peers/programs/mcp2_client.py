"""The official SDK's client, generation 2, against a server.

It is given the command line or the URL of the server. The first argument is the revision to
pin, or `newest`. Prints, as JSON, what it got to see.
"""

import asyncio
import json
import sys
import warnings
from collections.abc import Awaitable
from typing import Any

import anyio
import mcp.client.session as session_module
import mcp_types as types
from mcp import Client, MCPError
from mcp.client.sse import sse_client
from mcp.client.stdio import StdioServerParameters

REVISION, *COMMAND = sys.argv[1:]
OVER_HTTP = COMMAND[0].startswith("http://")
STATELESS = "2026-07-28"
SEEN: dict[str, Any] = {"logs": [], "progress": [], "notifications": []}

warnings.simplefilter("ignore")


async def elicit(context: Any, params: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content={"name": "ada"})


async def sample(context: Any, params: Any) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="sampled")
    return types.CreateMessageResult(role="assistant", content=text, model="model")


async def roots(context: Any) -> types.ListRootsResult:
    return types.ListRootsResult(roots=[types.Root(uri="file:///root")])


async def logged(params: Any) -> None:
    SEEN["logs"].append(params.data)


async def noted(message: Any) -> None:
    method = getattr(message, "method", None)
    if method is None:
        SEEN.setdefault("errors", []).append(repr(message))
    else:
        SEEN["notifications"].append(method)


async def progressed(done: float, total: float | None, message: str | None) -> None:
    SEEN["progress"].append([done, total, message])


async def text_of(client: Client, tool: str, /, **arguments: Any) -> str:
    callback = progressed if tool == "count" else None
    result = await client.call_tool(tool, arguments, progress_callback=callback)
    block = result.content[0]
    assert isinstance(block, types.TextContent)
    return block.text


async def changes(client: Client) -> None:
    if client.protocol_version == STATELESS:
        async with client.listen(
            tools_list_changed=True, resource_subscriptions=["file:///a"]
        ) as changed:
            await text_of(client, "change")
            SEEN["listened"] = sorted([type(await anext(changed)).__name__ for _ in range(2)])
        return
    await client.subscribe_resource("file:///a")
    await text_of(client, "change")
    await client.unsubscribe_resource("file:///a")


async def error_of(failing: Awaitable[Any]) -> Any:
    try:
        return repr(await failing)
    except MCPError as error:
        return [error.code, error.message]


async def cancelled(client: Client) -> str:
    with anyio.move_on_after(0.3):
        return await text_of(client, "sleep")
    return "cancelled"


async def use(client: Client) -> None:
    SEEN["revision"] = client.protocol_version
    SEEN["server"] = client.server_info.name if client.server_info else None
    SEEN["instructions"] = client.instructions
    tools = await client.list_tools()
    names = [tool.name for tool in tools.tools]
    while tools.next_cursor:
        tools = await client.list_tools(cursor=tools.next_cursor)
        names += [tool.name for tool in tools.tools]
    SEEN["tools"] = names
    SEEN["resources"] = [str(one.uri) for one in (await client.list_resources()).resources]
    contents: Any = (await client.read_resource("file:///a")).contents[0]
    SEEN["read"] = contents.text
    SEEN["prompts"] = [one.name for one in (await client.list_prompts()).prompts]
    prompt: Any = await client.get_prompt("greet", {"name": "ada"})
    SEEN["prompt"] = prompt.messages[0].content.text
    reference = types.PromptReference(type="ref/prompt", name="greet")
    completed = await client.complete(reference, {"name": "name", "value": "a"})
    SEEN["completed"] = completed.completion.values
    if client.protocol_version != STATELESS:
        await client.send_ping()
        await client.set_logging_level("info")
    called = ("echo", "count", "log", "sample", "roots", "stray")
    for name in called if client.protocol_version < "2025-06-18" else (*called, "ask"):
        SEEN[name] = await text_of(client, name, text="hi", to=3)
    if OVER_HTTP:
        SEEN["poll"] = await text_of(client, "poll")
    SEEN["structured"] = (await client.call_tool("media")).structured_content
    for name, failing in (
        ("missing", client.read_resource("file:///none")),
        ("crash", client.call_tool("crash")),
    ):
        SEEN[name] = await error_of(failing)
    await changes(client)
    SEEN["sleep"] = await cancelled(client)
    if OVER_HTTP:
        SEEN["told"] = await text_of(client, "told")
    SEEN["after"] = await text_of(client, "echo", text="hi")


def server() -> Any:
    """By HTTP if there is a URL, and by HTTP+SSE if that ends so."""
    first, *arguments = COMMAND
    if not OVER_HTTP:
        return StdioServerParameters(command=first, args=arguments, env=None)
    return sse_client(first) if first.endswith("/sse") else first


async def main() -> None:
    pinned = REVISION not in (STATELESS, "newest")
    if pinned:
        session_module.LATEST_HANDSHAKE_VERSION = REVISION
    client = Client(
        server(),
        mode="legacy" if pinned else "auto",
        elicitation_callback=elicit,
        sampling_callback=sample,
        list_roots_callback=roots,
        logging_callback=logged,
        message_handler=noted,
        log_level="debug",
        cache=None,
    )
    async with client:
        await use(client)
    print(json.dumps(SEEN))


asyncio.run(main())
