"""A server that is well or odd, by its arguments; as a program, on standard input and output.

They are its revision, and `well`, `dying`, `endless`, `many`, `silent`, or `bare` for tools alone.
"""

import asyncio
import os
import sys
from typing import Any, Final

import mcp_revisions
from mcp_revisions import v2025_11_25

_NUMBERS: Final = {"many": 2100, "endless": 100}
"""The number of tools on a page, besides one."""


def odd(revision: str, kind: str) -> Any:
    """Return a server with one tool, which repeats a text, or what makes it odd."""
    mcp: Any = mcp_revisions.load(revision)
    if kind in ("well", "bare"):
        return _app(mcp, kind)
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


def _app(mcp: Any, kind: str) -> v2025_11_25.App:
    """Return an app with tools alone, or with an item of each kind."""
    revision = mcp.App.TABLE.revision
    own = [known for known in mcp_revisions.REVISIONS if known.id == revision]
    made: v2025_11_25.App = type("OldApp", (mcp.App,), {"REVISIONS": own})(kind)

    @made.tool
    def echo(text: str) -> str:
        """Repeat a text."""
        return text

    if kind == "well":

        @made.resource("data://now")
        def now() -> str:
            return "dry"

        @made.resource("data://{place}", completions={"place": ["Oslo", "Rome"]})
        def data(place: str) -> str:
            return f"dry in {place}"

        @made.prompt
        def pack(place: str) -> str:
            return f"Pack for {place}"

    return made


if __name__ == "__main__":
    mcp_revisions.run_stdio(odd(*sys.argv[1:]))
