"""A server with a bit of everything, for commands that call it.

As a program it runs over stdio.
"""

import asyncio
import os
import signal
from typing import Annotated, Literal

from mcp_revisions import Accepted, McpError, ToolError
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from pydantic import BaseModel, Field

HOSTILE = "\x1b]0;owned\x07 \x1b[2J"
PAGE = "https://bank.example/pay"
cancelled: list[str] = []
"""The calls that were cancelled."""


class Choice(BaseModel):
    """A form."""

    colour: Literal["red", "green"] = Field(description="Which one?")
    size: int = Field(3, ge=1, le=9)


def new_server() -> mcp.App:
    """Return the server, which is stateless between connections."""
    app = mcp.App("shop", version="1.2", instructions="Call whatever you like.")
    _plain(app)
    _asking(app)
    _others(app)
    return app


class TaskApp(TasksServer, stateless.App):
    """An app with tasks of both kinds."""


def new_task_server() -> TaskApp:
    """Return a server whose tools work as tasks, and report progress."""
    app = TaskApp("tasks")

    @app.tool(task=True)
    async def bake(session: stateless.Session, count: int = 1) -> str:
        answer = await session.ask("Which?", Choice)
        return f"{count} {type(answer).__name__.lower()}"

    @app.tool(task=True)
    async def burn() -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("burn")
        return "never"

    del bake, burn
    return app


def _plain(app: mcp.App) -> None:
    hints = mcp.models.ToolAnnotations(read_only_hint=True)

    @app.tool(annotations=hints)
    def greet(name: str = "world", times: int = 1) -> str:
        """Say hello.

        In so many words.
        """
        return " ".join([f"Hello, {name}"] * times)

    @app.tool
    def order(
        kind: Literal["tea", "coffee"], sizes: Annotated[list[int], Field(max_length=3)]
    ) -> dict[str, object]:
        return {"kind": kind, "sizes": sizes}

    @app.tool
    def fail() -> str:
        raise ToolError("no more tea")

    @app.tool
    def shout() -> str:
        return HOSTILE

    @app.tool
    def refuse() -> str:
        raise McpError(-32000, "closed")

    del greet, order, fail, shout, refuse


def _asking(app: mcp.App) -> None:
    @app.tool
    async def choose(session: mcp.Session) -> str:
        answer = await session.ask("Which?", Choice)
        if isinstance(answer, Accepted):
            await session.progress(1, 2, "packing")
            return f"{answer.value.colour} {answer.value.size}"
        return type(answer).__name__.lower()

    @app.tool
    async def dig(session: mcp.Session) -> str:
        for done in range(4):
            await session.progress(done, 4, f"layer {done}")
        await session.log("warning", "rock ahead")
        return "dug"

    @app.tool
    async def wait() -> str:
        os.kill(os.getpid(), signal.SIGINT)
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append("wait")
            raise
        return "never"

    @app.tool
    async def where(session: mcp.Session) -> str:
        listed = await session.list_roots()
        return " ".join(root.uri for root in listed.roots)

    paid: list[str] = []

    @app.tool
    async def pay() -> str:
        if paid:
            return "paid"
        paid.append("once")
        page = {"mode": "url", "message": "Sign in", "url": PAGE, "elicitationId": "1"}
        raise McpError(-32042, "sign in first", {"elicitations": [page]})

    del choose, dig, wait, where, pay


def _others(app: mcp.App) -> None:
    @app.resource("memo://today")
    def today() -> str:
        return "buy milk"

    @app.resource("memo://{day}/list", name="day")
    def of_day(day: str) -> str:
        return f"nothing on {day}"

    @app.resource("memo://logo", mime_type="image/png")
    def logo() -> bytes:
        return b"\x89PNG"

    @app.prompt
    def invite(guest: str) -> str:
        """Invite somebody."""
        return f"Write to {guest}"

    del today, of_day, logo, invite


if __name__ == "__main__":
    new_server().run()
