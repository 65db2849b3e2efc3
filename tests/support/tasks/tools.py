"""Servers with one slow tool, and clients that wait for it, in the two revisions with tasks."""

from typing import Any, Final

from mcp_revisions import Accepted, TaskCalls, Toolkit, tool
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer

from support.revisions import OLD, STATELESS


class OfHandshake(Toolkit, handshake.Server):
    """A server of 2025-11-25."""

    @tool(task=True)
    async def slow(self, session: handshake.Session) -> str:
        return f"slow in {session.revision}"

    @tool(task=True)
    async def asking(self, session: handshake.Session) -> str:
        answer = await session.ask("Sure?", bool)
        return f"sure: {answer == Accepted(True)}"


class OfStateless(TasksServer, Toolkit, stateless.Server):
    """A server of 2026-07-28."""

    @tool(task=True)
    async def slow(self, session: stateless.Session) -> str:
        return f"slow in {session.revision}"

    @tool(task=True)
    async def asking(self, session: stateless.Session) -> str:
        answer = await session.ask("Sure?", bool)
        return f"sure: {answer == Accepted(True)}"


SERVERS: Final[dict[str, Any]] = {OLD: OfHandshake, STATELESS: OfStateless}


class FromHandshake(TaskCalls, handshake.Client):
    """A client of 2025-11-25 that answers yes."""

    async def on_elicit(
        self, params: handshake.models.ElicitRequestParams
    ) -> handshake.models.ElicitResult:
        return handshake.models.ElicitResult(action="accept", content={"value": True})


class FromStateless(TasksClient, stateless.Client):
    """A client of 2026-07-28 that answers yes."""

    async def on_elicit(
        self, params: stateless.models.ElicitRequestParams
    ) -> stateless.models.ElicitResult:
        return stateless.models.ElicitResult(action="accept", content={"value": True})


CLIENTS: Final[dict[str, Any]] = {OLD: FromHandshake, STATELESS: FromStateless}
