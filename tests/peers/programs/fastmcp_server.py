"""A server of fastmcp with a bit of everything, on standard input and output.

With an argument it serves over HTTP on that port.
"""

import asyncio
import sys
from dataclasses import dataclass
from typing import Any

from fastmcp import Context, FastMCP

server = FastMCP("everything", version="1", instructions="Call whatever you like.")


@dataclass
class Form:
    """The question of `ask`."""

    name: str


@server.tool
async def ask(ctx: Context) -> str:
    answer: Any = await ctx.elicit("Your name?", Form)
    return f"{answer.action} {answer.data.name}"


@server.tool
async def count(ctx: Context, to: int) -> str:
    for number in range(1, to + 1):
        await ctx.report_progress(number, to, f"at {number}")
        await asyncio.sleep(0.01)
    return "done"


@server.tool
async def echo(text: str) -> str:
    return text


@server.tool
async def log(ctx: Context) -> str:
    await ctx.info("logged", logger_name="tools")
    return "done"


@server.tool
async def sleep() -> None:
    await asyncio.sleep(60)


@server.resource("file:///a")
async def a() -> str:
    return "content of a"


@server.resource("file:///{name}/text")
async def text_of(name: str) -> str:
    return f"text of {name}"


@server.prompt
async def greet(name: str) -> str:
    return f"Greet {name}"


if sys.argv[1:]:
    server.run("http", port=int(sys.argv[1]), show_banner=False, log_level="WARNING")
else:
    server.run("stdio", show_banner=False, log_level="WARNING")
