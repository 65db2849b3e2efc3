"""Tools of the official SDK, generation 1, that are tasks, on standard input and output."""

import asyncio
from typing import Any

from mcp import McpError, types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

TOOLS = {
    "greet": "forbidden",
    "slow_compute": "optional",
    "failing_job": "required",
    "protocol_error_job": "required",
    "confirm_delete": "required",
    "ask_as_task": "required",
    "sample_as_task": "required",
}
CONFIRM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}}

server: Any = Server("tasks")
server.experimental.enable_tasks()


@server.list_tools()
async def list_tools() -> list[types.Tool]:
    return [
        types.Tool(
            name=name,
            inputSchema={"type": "object"},
            execution=types.ToolExecution(taskSupport=support),
        )
        for name, support in TOOLS.items()
    ]


def text_result(text: str, failed: bool = False) -> types.CallToolResult:
    content = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[content], isError=failed)


async def run_tool(name: str, arguments: Any, task: Any) -> types.CallToolResult:
    match name:
        case "greet":
            return text_result(f"Hello, {arguments['name']}!")
        case "slow_compute":
            await asyncio.sleep(arguments["seconds"])
            return text_result(f"computed {arguments['label']} in {arguments['seconds']} s")
        case "failing_job":
            return text_result("This job always fails", failed=True)
        case "protocol_error_job":
            raise McpError(types.ErrorData(code=-32603, message="This job always breaks"))
        case "confirm_delete":
            answer = await task.elicit(f"Delete {arguments['filename']}?", CONFIRM)
            kept = "Deleted" if answer.content["confirm"] else "Kept"
            return text_result(f"{kept} {arguments['filename']}")
        case "ask_as_task":
            answer = await task.elicit_as_task("Your name?", NAME)
            return text_result(f"{answer.action} {answer.content['name']}")
        case _:
            content = types.TextContent(type="text", text="?")
            message = types.SamplingMessage(role="user", content=content)
            sampled = await task.create_message_as_task([message], max_tokens=10)
            return text_result(f"{sampled.model} {sampled.content.text}")


@server.call_tool()
async def call_tool(name: str, arguments: Any) -> Any:
    asked = server.request_context.experimental
    asked.validate_task_mode(TOOLS[name])
    if not asked.is_task:
        return await run_tool(name, arguments, None)
    return await asked.run_task(lambda task: run_tool(name, arguments, task))


async def main() -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


asyncio.run(main())
