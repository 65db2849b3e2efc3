"""Tools of fastmcp that are tasks, over HTTP on the port that is the argument.

A second argument is the URL of what keeps them; without, it is the memory of the process.
"""

import asyncio
import sys
from datetime import timedelta
from typing import Any

import mcp_types as types
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.utilities.tasks import TaskConfig
from fastmcp_tasks import TasksExtension
from mcp import MCPError

FORM = {"type": "object", "properties": {"confirm": {"type": "boolean"}}, "required": ["confirm"]}

TASK = TaskConfig(poll_interval=timedelta(milliseconds=50))

server = FastMCP("tasks")
server.add_extension(TasksExtension(**dict(zip(["url"], sys.argv[2:], strict=False))))


@server.tool
async def greet(name: str) -> str:
    return f"Hello, {name}!"


@server.tool(task=TASK)
async def slow_compute(seconds: float, label: str = "") -> str:
    await asyncio.sleep(seconds)
    return f"computed {label} in {seconds} s"


@server.tool(task=TASK)
async def failing_job() -> str:
    raise ToolError("This job always fails")


@server.tool(task=TASK)
async def protocol_error_job() -> str:
    raise MCPError(-32603, "This job always breaks")


@server.tool(task=TASK)
async def confirm_delete(filename: str, ctx: Context) -> Any:
    """Ask by returning: the tool is called again with the answer."""
    answer: Any = (ctx.input_responses or {}).get("confirm")
    if answer is None:
        params = types.ElicitRequestFormParams(message=f"Delete {filename}?", requested_schema=FORM)
        return types.InputRequiredResult(
            input_requests={"confirm": types.ElicitRequest(params=params)}
        )
    return f"{'Deleted' if answer.content['confirm'] else 'Kept'} {filename}"


if __name__ == "__main__":
    server.run("http", port=int(sys.argv[1]), show_banner=False, log_level="WARNING")
