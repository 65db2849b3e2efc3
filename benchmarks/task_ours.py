"""A server of ours with a tool that is a task: `python -m benchmarks.task_ours [URL]`.

Tasks are kept by the Redis at that URL, or else in the memory of the process.
"""

import asyncio
import sys
from importlib import import_module
from typing import Any, Final

from .http_requests import STATELESS
from .http_uvicorn import serve

# The generated package is not there for type checkers: it is on the path of one process only.
_revisions: Any = import_module("mcp_revisions")
_mcp: Any = _revisions.load(STATELESS)
_tasks: Any = import_module("mcp_revisions.v2026_07_28.ext.tasks")

_MOST: Final = 1_000_000


class Working(_tasks.TasksServer, _mcp.App):  # type: ignore[misc]
    """Has tasks of the extension."""


async def work(seconds: float) -> str:
    """Take so long."""
    await asyncio.sleep(seconds)
    return "done"


def application(url: str | None) -> Any:
    """The server as an ASGI application."""
    made: Any = Working("tasks", version="1")
    made.tool(task=True)(work)
    engine = None if url is None else _revisions.Shared(engine=_revisions.RedisEngine(url))
    options = _revisions.Options(
        state_keys=[bytes(32)], tasks=_revisions.TaskOptions(max_tasks=_MOST)
    )
    http = _revisions.HttpOptions(shared=engine)
    return _revisions.http_app(made, options=options, http=http)


if __name__ == "__main__":
    serve(application(sys.argv[1] if len(sys.argv) > 1 else None))
