"""The server with a bit of everything over HTTP; its first argument is the port.

After `--shared` comes the URL of a Redis that it shares with others, and after `--as` one revision,
whose class serves all. The rest is as in `our_server.py`.
"""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import mcp_revisions
import our_server
from our_server import server_of

ANSWER = {"type": "object", "properties": {"answer": {"type": "integer"}}, "required": ["answer"]}

CANCELLED = Path(os.environ["MARKS"]) / "cancelled"


class More:
    """Tools that only make sense over HTTP, and are not listed."""

    async def tool_poll(self, session: Any, arguments: Any) -> str:
        await session.close_stream()
        return "polled"

    async def tool_sleep(self, session: Any, arguments: Any) -> str:
        try:
            slept: str = await our_server.Tools.tool_sleep(self, session, arguments)  # type: ignore
        except asyncio.CancelledError:
            CANCELLED.touch()
            raise
        return slept

    async def tool_told(self, session: Any, arguments: Any) -> str:
        """Tell whether a call was cancelled, before the end of a session cancels it too.

        The call may have been in another process.
        """
        async with asyncio.timeout(10):
            while not CANCELLED.exists():
                await asyncio.sleep(0.01)
        CANCELLED.unlink()
        return "told"


def tool(m: Any, name: str) -> Any:
    """Return a tool; clients check structured content against its schema."""
    structured = name == "media" and "output_schema" in m.Tool.model_fields
    more = {"output_schema": ANSWER} if structured else {}
    return m.Tool(name=name, input_schema={"type": "object"}, **more)


def ours(revision: str) -> Any:
    """The class of a revision, with what HTTP adds."""
    return type("Everything", (More, server_of(revision)), {})


def main(port: int, *wanted: str) -> None:
    """Serve until told to stop."""
    our_server.tool = tool
    shared: dict[str, Any] = {"old_sse": True}
    keys = []
    if wanted[:1] == ("--shared",):
        url, *wanted = wanted[1:]
        engine = mcp_revisions.RedisEngine(url, namespace=f"everything {' '.join(wanted)}")
        shared, keys = {"shared": mcp_revisions.Shared(engine=engine)}, [b"k" * 32]
    http = mcp_revisions.HttpOptions(retry=0.05, **shared)
    options = mcp_revisions.Options(drain=1.0, state_keys=keys)
    revisions = None
    if wanted[0:1] and wanted[0] == "--as":
        servers, revisions = ours(wanted[1]), mcp_revisions.REVISIONS
    else:
        known = [served.id for served in mcp_revisions.REVISIONS]
        servers = [ours(revision) for revision in wanted or known]
    mcp_revisions.run_http(servers, port=port, revisions=revisions, options=options, http=http)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
