"""The server with a bit of everything over HTTP, on the port that is its first argument.

What follows is as in `our_server.py`.
"""

import asyncio
import sys
from typing import Any

import mcp_revisions
import our_server
from our_server import server_of, told

ANSWER = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}


CANCELLED = asyncio.Event()


class More:
    """Tools that make sense over HTTP alone, and are not listed."""

    async def tool_poll(self, session: Any, arguments: Any) -> str:
        await session.close_stream()
        return "polled"

    async def tool_sleep(self, session: Any, arguments: Any) -> str:
        try:
            slept: str = await our_server.Tools.tool_sleep(self, session, arguments)  # type: ignore
        except asyncio.CancelledError:
            CANCELLED.set()
            raise
        return slept

    async def tool_told(self, session: Any, arguments: Any) -> str:
        """Whether a call was cancelled, before the end of a session does that, too."""
        async with asyncio.timeout(10):
            await CANCELLED.wait()
        CANCELLED.clear()
        return "told"


def tool(m: Any, name: str) -> Any:
    """Clients check what is structured against a schema, where there is one."""
    structured = name == "media" and "output_schema" in m.Tool.model_fields
    more = {"output_schema": ANSWER} if structured else {}
    return m.Tool(name=name, input_schema={"type": "object"}, **more)


def ours(revision: str) -> Any:
    """The class of a revision, with what HTTP adds."""
    return type("Everything", (More, server_of(revision)), {})


def main(port: int, *wanted: str) -> None:
    """Serve until told to stop."""
    our_server.tool = tool
    http = mcp_revisions.HttpOptions(old_sse=True, retry=0.05)
    options = mcp_revisions.Options(on_loss=told, drain=1.0)
    revisions = None
    if wanted[:1] == ("--as",):
        servers, revisions = ours(wanted[1]), mcp_revisions.REVISIONS
    else:
        known = [one.id for one in mcp_revisions.REVISIONS]
        servers = [ours(revision) for revision in wanted or known]
    mcp_revisions.run_http(servers, port=port, revisions=revisions, options=options, http=http)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
