"""A server that is well or odd, by its arguments; as a program, on standard input and output.

They are its revision, and `well`, `dying`, `endless`, `many` or `silent`.
"""

import asyncio
import os
import sys
from typing import Any, Final

import mcp_revisions

_NUMBERS: Final = {"many": 2100, "endless": 100}
"""The number of tools on a page, besides one."""


def odd(revision: str, kind: str) -> Any:
    """Return a server with one tool, which repeats a text, or what makes it odd."""
    mcp: Any = mcp_revisions.load(revision)
    m = mcp.models

    class Odd(mcp.Server):  # type: ignore[misc]
        async def on_list_tools(self, session: Any, params: Any) -> Any:
            if kind == "silent":
                await asyncio.Event().wait()
            page = params.cursor or ""
            names = [f"tool{page}{index}" for index in range(_NUMBERS.get(kind, 0))]
            tools = [
                m.Tool(name=name, input_schema={"type": "object"}) for name in ("echo", *names)
            ]
            following = f"{page}." if kind == "endless" else None
            return m.ListToolsResult(tools=tools, next_cursor=following)

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            if kind == "dying":
                os._exit(1)
            if kind == "silent":
                await asyncio.Event().wait()
            return m.CallToolResult(content=[m.TextContent(text=str(params.arguments["text"]))])

    return Odd()


if __name__ == "__main__":
    mcp_revisions.run_stdio(odd(*sys.argv[1:]))
