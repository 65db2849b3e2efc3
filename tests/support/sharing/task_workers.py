"""Several workers with tasks behind a forwarder, and their shared engines."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp_protogen.runtime.server.base import SessionBase
from mcp_revisions import REVISIONS, Accepted, TaskOptions, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.http import behind
from support.http.serving import app_of, run_app
from support.tasks.gateway import Tools
from support.tasks.principals import WHO


class Work(TasksServer, Tools, mcp.Server):
    """Task tools of all workers of one process."""

    @tool(task=True)
    async def sure(self, session: SessionBase) -> str:
        """Ask its caller twice."""
        asks: Any = session
        answers = [await asks.ask(message, bool) for message in ("Sure?", "Really?")]
        return f"{describe_principal(asks)}: {answers == [Accepted(True)] * 2}"


def describe_principal(session: mcp.Session) -> str:
    principal = session.principal
    return "nobody" if principal is None else f"{principal.id} {sorted(principal.scopes)}"


@asynccontextmanager
async def task_workers(
    server: Any, engine: Any, **chosen: Any
) -> AsyncGenerator[behind.Workers, None]:
    """Run workers of one server; each request goes to a different worker from the last."""
    given = {
        "tasks": TaskOptions(poll_interval=0.01),
        "authentication": WHO,
        "drain": 0,
        **chosen,
    }
    make = partial(app_of, server, REVISIONS)
    async with behind.workers(make, run_app, given, engine) as workers:
        yield workers
