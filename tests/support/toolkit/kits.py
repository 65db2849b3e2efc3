"""Toolkits for tests: server classes of any revision, and somebody who asks them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from mcp_revisions import (
    CheckedResults,
    InvalidParams,
    LocalError,
    McpError,
    MissingCapability,
    RemoteError,
    ResourceNotFound,
    ToolError,
    Toolkit,
    UriTemplate,
    handles,
    prompt,
    resource,
    tool,
)
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as stateless

from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD
from support.sessions.talking import Hand, modern, pkg, run, served, shaken

Ask = Callable[..., Awaitable[Any]]


def kit(revision: str = OLD, /, **members: Any) -> Any:
    """A class of a revision with these members, most of which are marked."""
    return type("Kit", (Toolkit, pkg.load(revision).Server), members)


def text_of(result: Any) -> str:
    """The text of a result's only block."""
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


@asynccontextmanager
async def asking(
    server: Any, revision: str = OLD, *, bridged: bool = False, **options: Any
) -> AsyncGenerator[Ask, None]:
    """Asks a server in a revision; gives the result, or raises the error as `Refused`."""
    revisions = pkg.REVISIONS if bridged else None
    connected = (
        shaken(server, revision, revisions=revisions, **options)
        if revision in HANDSHAKE
        else served(server, revisions=revisions, **options)
    )
    async with connected as hand:

        async def ask(method: str, **params: Any) -> Any:
            ask.id += 1  # type: ignore[attr-defined]
            id = ask.id  # type: ignore[attr-defined]
            return outcome(await asked(hand, revision, method, id, **params))

        ask.id = 0  # type: ignore[attr-defined]
        yield ask


async def asked(hand: Hand, revision: str, method: str, id: int, **params: Any) -> Any:
    """The next message after a request."""
    if revision in HANDSHAKE:
        return await hand.ask(method, id, **params)
    await hand.send(modern(method, id, revision, **params))
    return await hand.take()


class Refused(Exception):
    """An error that a server answered with."""

    def __init__(self, error: Any) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data = error.get("data")


def outcome(message: Any) -> Any:
    """The result in an answer; raises `Refused`."""
    if "error" in message:
        raise Refused(message["error"])
    return message["result"]


def answers(server: Any, revision: str, *requests: tuple[str, JsonObject]) -> list[Any]:
    """What a server answers to requests: results, and `Refused` where it refuses."""
    found: list[Any] = []

    async def script() -> None:
        async with asking(server, revision) as ask:
            for method, params in requests:
                try:
                    found.append(await ask(method, **params))
                except Refused as refused:
                    found.append(refused)

    run(script())
    return found


def call(server: Any, name: str, revision: str = OLD, /, **arguments: Any) -> Any:
    """What a server answers to the call of a tool."""
    (answer,) = answers(server, revision, ("tools/call", {"name": name, "arguments": arguments}))
    return answer


def listed_tools(server: Any, revision: str = OLD) -> JsonObject:
    """The tools of a server, by name, as it lists them."""
    (answer,) = answers(server, revision, ("tools/list", {}))
    return {tool["name"]: tool for tool in answer["tools"]}


__all__ = [
    "CheckedResults",
    "InvalidParams",
    "LocalError",
    "McpError",
    "MissingCapability",
    "Refused",
    "RemoteError",
    "ResourceNotFound",
    "ToolError",
    "Toolkit",
    "UriTemplate",
    "answers",
    "asked",
    "asking",
    "call",
    "handles",
    "kit",
    "listed_tools",
    "mcp",
    "pkg",
    "prompt",
    "resource",
    "run",
    "served",
    "shaken",
    "stateless",
    "text_of",
    "tool",
]
