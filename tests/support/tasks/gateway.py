"""Servers whose tools are tasks, clients that call them, and bridges between the two.

Each exists for 2025-11-25, and for 2026-07-28 with the extension.
"""

from asyncio import Event
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Final

from mcp_protogen.runtime.server.base import SessionBase
from mcp_revisions import Accepted, McpError, TaskCalls, TaskOptions, ToolError, Toolkit, tool
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer
from support.revisions import OLD, STATELESS
from support.sessions.bridging import through
from support.sessions.talking import entry, pkg

OPTIONS: Final[dict[str, Any]] = {
    "tasks": TaskOptions(poll_interval=0.01),
    "timeout": 30,
    "drain": 0,
}

SAMPLE: Final = {
    "messages": [{"role": "user", "content": {"type": "text", "text": "Say it"}}],
    "maxTokens": 9,
}


class Tools(Toolkit):
    """Tools that are tasks where the client can have one, always, and never."""

    def __init__(self) -> None:
        self.go_on, self.began, self.stopped = Event(), Event(), Event()
        self.runs = 0

    @tool(task=True)
    async def slow(self, session: SessionBase) -> str:
        """Wait until a test lets it go on."""
        self.runs += 1
        self.began.set()
        await session.progress(1, 2, "half")
        try:
            await self.go_on.wait()
        except BaseException:
            self.stopped.set()
            raise
        await session.progress(2, 2)
        logs: Any = session
        await logs.log("info", "done")
        return "slow is done"

    @tool(task=True)
    async def sure(self, session: SessionBase) -> str:
        """Ask the user, twice."""
        asks: Any = session
        answers = [await asks.ask(question, bool) for question in ("Sure?", "Quite?")]
        return " ".join(str(answer == Accepted(True)) for answer in answers)

    @tool(task=True)
    async def say(self, session: SessionBase) -> str:
        """Ask the model."""
        asks: Any = session
        spec = entry(asks, "sampling/createMessage")
        said = await asks.request(spec, spec.params.from_wire(SAMPLE))
        return str(said.content.text)

    @tool(task=True)
    async def wrong(self, how: str) -> str:
        """Fail."""
        if how == "error":
            raise McpError(-7, "No luck", {"more": 1})
        raise ToolError("No disk")

    @tool(task=True)
    async def name_revision(self, session: SessionBase) -> str:
        """Name the revision of the connection."""
        return session.revision

    @tool(task="required")
    async def needed(self) -> str:
        """Be a task only."""
        return "needed is done"

    @tool
    async def quick(self) -> str:
        """Be no task."""
        return "quick is done"


class OfHandshake(Tools, handshake.Server):
    """A server of 2025-11-25."""


class OfStateless(TasksServer, Tools, stateless.Server):
    """A server of 2026-07-28."""


PAIRS: Final = ((OLD, OLD), (STATELESS, STATELESS), (OLD, STATELESS), (STATELESS, OLD))
"""The revisions of a client and its server: both forms of tasks, on either side."""

SERVERS: Final[dict[str, Any]] = {OLD: OfHandshake, STATELESS: OfStateless}


class Answers:
    """The answers of clients, and a record of the questions."""

    def __init__(self) -> None:
        self.asked: list[Any] = []


def client_class(revision: str, *bases: type[Any]) -> type[Any]:
    """Return a class of clients with tasks of a revision."""
    mcp: Any = pkg.load(revision)
    m = mcp.models

    async def on_elicit(self: Answers, params: object) -> Any:
        self.asked.append(params)
        return m.ElicitResult(action="accept", content={"value": True})

    async def on_create_message(self: Answers, params: object) -> Any:
        self.asked.append(params)
        text = m.TextContent(text="It")
        return m.CreateMessageResult(role="assistant", content=text, model="m")

    handlers = {"on_elicit": on_elicit, "on_create_message": on_create_message}
    return type("Ours", (Answers, *bases, mcp.Client), handlers)


CLIENTS: Final[dict[str, Any]] = {
    OLD: client_class(OLD, TaskCalls),
    STATELESS: client_class(STATELESS, TasksClient, TaskCalls),
}


@asynccontextmanager
async def connect_bridged(client: Any, server: Any, **options: Any) -> AsyncGenerator[Any, None]:
    """Connect a client to a server by a bridge; each speaks its own revision."""
    own = pkg.Options(**OPTIONS)
    async with through(client, server, own, **{**OPTIONS, **options}) as one:
        yield one
