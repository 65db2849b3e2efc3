"""A low-level server of the official SDK, generation 1, on standard input and output."""

import asyncio
from typing import Any

from mcp import types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from pydantic import AnyUrl

URI = AnyUrl("file:///a")
NAMES = ("ask", "change", "count", "echo", "log", "roots", "sample", "sleep")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}

server: Any = Server("everything", version="1", instructions="Call whatever you like.")


@server.list_tools()
async def list_tools(request: types.ListToolsRequest) -> types.ListToolsResult:
    start = int(request.params.cursor) if request.params and request.params.cursor else 0
    tools = [types.Tool(name=name, inputSchema={"type": "object"}) for name in NAMES]
    following = str(start + 3) if start + 3 < len(tools) else None
    return types.ListToolsResult(tools=tools[start : start + 3], nextCursor=following)


@server.call_tool(validate_input=False)
async def call_tool(name: str, arguments: dict[str, Any]) -> list[types.TextContent]:
    return [types.TextContent(type="text", text=await said(name, arguments))]


async def said(name: str, arguments: dict[str, Any]) -> str:
    context = server.request_context
    session = context.session
    match name:
        case "echo":
            return str(arguments.get("text"))
        case "count":
            for number in (1, 2, 3):
                await session.send_progress_notification(
                    context.meta.progressToken, number, 3, f"at {number}"
                )
        case "sleep":
            await asyncio.sleep(60)
        case "log":
            await session.send_log_message("info", {"said": "logged"}, "tools")
        case "change":
            await session.send_resource_updated(URI)
            await session.send_tool_list_changed()
        case "ask":
            answer = await session.elicit("Your name?", FORM)
            return f"{answer.action} {answer.content['name']}"
        case "sample":
            text = types.TextContent(type="text", text="?")
            question = types.SamplingMessage(role="user", content=text)
            answer = await session.create_message([question], max_tokens=10)
            return f"{answer.model} {answer.content.text}"
        case _:
            return " ".join(str(root.uri) for root in (await session.list_roots()).roots)
    return "done"


@server.list_resources()
async def list_resources() -> list[types.Resource]:
    return [types.Resource(uri=URI, name="a")]


@server.read_resource()
async def read_resource(uri: AnyUrl) -> str:
    return "content of a"


@server.subscribe_resource()
async def subscribe(uri: AnyUrl) -> None:
    pass


@server.unsubscribe_resource()
async def unsubscribe(uri: AnyUrl) -> None:
    pass


@server.list_prompts()
async def list_prompts() -> list[types.Prompt]:
    return [types.Prompt(name="greet")]


@server.get_prompt()
async def get_prompt(name: str, arguments: dict[str, str] | None) -> types.GetPromptResult:
    text = types.TextContent(type="text", text=f"Greet {(arguments or {}).get('name')}")
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=text)])


@server.completion()
async def complete(ref: Any, argument: Any, context: Any) -> types.Completion:
    return types.Completion(values=[n for n in ("ada", "alan") if n.startswith(argument.value)])


@server.set_logging_level()
async def set_level(level: types.LoggingLevel) -> None:
    pass


async def main() -> None:
    changes = NotificationOptions(tools_changed=True)
    options = server.create_initialization_options(changes)
    # The SDK never declares it, whatever handlers there are.
    options.capabilities.resources.subscribe = True
    async with stdio_server() as (read, write):
        await server.run(read, write, options)


asyncio.run(main())
