"""The same server with fastmcp: `python -m benchmarks.task_fastmcp [URL]`."""

import asyncio
import logging
import sys
from importlib import import_module
from typing import Any

from .http_uvicorn import serve

# These are in the environment of fastmcp-tasks only.
_fastmcp: Any = import_module("fastmcp")
_tasks: Any = import_module("fastmcp_tasks")


async def work(seconds: float) -> str:
    """Work that long."""
    await asyncio.sleep(seconds)
    return "done"


def application(*url: str) -> Any:
    """Return the server as an ASGI application that answers with plain JSON."""
    server: Any = _fastmcp.FastMCP("tasks")
    server.add_extension(_tasks.TasksExtension(**dict(zip(["url"], url, strict=False))))
    server.tool(task=True)(work)
    return server.http_app(json_response=True)


if __name__ == "__main__":
    logging.disable(logging.INFO)
    serve(application(*sys.argv[1:]))
