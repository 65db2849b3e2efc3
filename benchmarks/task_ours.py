"""Our server with a tool that is a task: `python -m benchmarks.task_ours [URL]`.

The Redis at that URL keeps the tasks, or the memory of the process.
"""

import asyncio
import sys
from typing import Any, Final

from mcp_revisions import HttpOptions, Options, RedisEngine, Shared, TaskOptions, http_app
from mcp_revisions.v2026_07_28 import App
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer

from .http_uvicorn import serve

_MOST: Final = 1_000_000


class Working(TasksServer, App):
    """A server with the extension tasks."""


async def work(seconds: float) -> str:
    """Work that long."""
    await asyncio.sleep(seconds)
    return "done"


def application(url: str | None) -> Any:
    """Return the server as an ASGI application."""
    made = Working("tasks", version="1")
    made.tool(task=True)(work)
    engine = None if url is None else Shared(engine=RedisEngine(url))
    options = Options(state_keys=[bytes(32)], tasks=TaskOptions(max_tasks=_MOST))
    http = HttpOptions(shared=engine)
    return http_app(made, options=options, http=http)


if __name__ == "__main__":
    serve(application(sys.argv[1] if len(sys.argv) > 1 else None))
