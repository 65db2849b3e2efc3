"""The fixture tools that run as tasks, and their server."""

from asyncio import gather, sleep
from dataclasses import dataclass
from typing import Final

from mcp_revisions import Accepted, McpError, ToolError, Toolkit, tool
from mcp_revisions import v2026_07_28 as mcp

INTERNAL_ERROR: Final = -32603


@dataclass
class Name:
    """A form that asks for a name."""

    name: str


@dataclass
class Confirmation:
    """A form that asks for a yes."""

    confirm: bool


class Working(Toolkit):
    """Tools that become tasks, and one that does not."""

    @tool
    async def greet(self, name: str) -> str:
        """Greet somebody at once."""
        return f"Hello, {name}!"

    @tool(task=True)
    async def slow_compute(self, seconds: float, label: str = "") -> str:
        """Take some time."""
        await sleep(seconds)
        return f"computed {label} in {seconds} s"

    @tool(task="required")
    async def failing_job(self) -> str:
        """Fail as tools do."""
        raise ToolError("This job always fails")

    @tool(task=True)
    async def protocol_error_job(self) -> str:
        """Fail with an error of the protocol."""
        raise McpError(INTERNAL_ERROR, "This job always breaks")

    @tool(task=True)
    async def confirm_delete(self, filename: str, session: mcp.Session) -> str:
        """Ask before a file is deleted."""
        answer = await session.ask(f"Delete {filename}?", Confirmation)
        confirmed = isinstance(answer, Accepted) and answer.value.confirm
        return f"{'Deleted' if confirmed else 'Kept'} {filename}"

    @tool(task=True)
    async def multi_input(self, session: mcp.Session) -> str:
        """Ask two things at once."""
        answers = await gather(
            session.ask("What is your name?", Name),
            session.ask("Are you sure?", Confirmation),
        )
        return ", ".join(map(str, answers))

    @tool(task="deferred")
    async def test_tool_with_task(self, session: mcp.Session) -> str:
        """Ask for a name first, and go on as a task."""
        answer = await session.ask("What is your name?", Name)
        await session.become_task()
        name = answer.value.name if isinstance(answer, Accepted) else "nobody"
        return f"Hello, {name}, from a task!"
