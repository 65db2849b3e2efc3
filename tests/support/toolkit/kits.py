"""Toolkits for tests: server classes of any revision, and their callers."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from itertools import count
from typing import Any, cast

from mcp_revisions import CheckedResults as CheckedResults
from mcp_revisions import LocalError as LocalError
from mcp_revisions import McpError as McpError
from mcp_revisions import RemoteError as RemoteError
from mcp_revisions import ResourceNotFound as ResourceNotFound
from mcp_revisions import ToolError as ToolError
from mcp_revisions import Toolkit as Toolkit
from mcp_revisions import UriTemplate as UriTemplate
from mcp_revisions import handles as handles
from mcp_revisions import prompt as prompt
from mcp_revisions import resource as resource
from mcp_revisions import tool as tool
from mcp_revisions import v2025_11_25, v2026_07_28
from support.json_types import Json, JsonObject
from support.revisions import HANDSHAKE, OLD
from support.sessions.talking import Servers, modern, request
from support.sessions.talking import pkg as pkg
from support.sessions.talking import run as run
from support.sessions.talking import serve_by_hand as serve_by_hand
from support.sessions.talking import shaken as shaken

mcp = v2025_11_25
stateless = v2026_07_28
Ask = Callable[..., Awaitable[Json]]


class Kit(Toolkit, mcp.Server):
    """A server that uses a toolkit."""


def kit(revision: str = OLD, /, **members: object) -> type[Kit]:
    """Make a class of a revision with these members, most of them marked."""
    return cast(type[Kit], type("Kit", (Toolkit, pkg.load(revision).Server), members))


def text_of(result: Json) -> str:
    (block,) = result["content"]
    assert block["type"] == "text"
    return str(block["text"])


@asynccontextmanager
async def asking(
    server: Servers, revision: str = OLD, *, bridged: bool = False, **options: Any
) -> AsyncGenerator[Ask, None]:
    """Yield a function that asks a server in a revision, and raises errors as `Refused`."""
    revisions = pkg.REVISIONS if bridged else None
    connected = (
        shaken(server, revision, revisions=revisions, **options)
        if revision in HANDSHAKE
        else serve_by_hand(server, revisions=revisions, **options)
    )
    ids = count(1)
    async with connected as hand:

        async def ask(method: str, **params: Any) -> Json:
            """Return the result of a request; raise `Refused`."""
            send = request if revision in HANDSHAKE else partial(modern, revision=revision)
            await hand.send(send(method, next(ids), **params))
            message = await hand.take()
            if "error" in message:
                raise Refused(message["error"])
            return message["result"]

        yield ask


class Refused(Exception):
    """An error response of a server."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(error["message"])
        self.code = error["code"]
        self.message = error["message"]
        self.data: Json = error.get("data")


def answers(server: Servers, revision: str, *requests: tuple[str, JsonObject]) -> list[Json]:
    """Return the answers of a server to requests: results, or `Refused`."""
    found: list[Json] = []

    async def script() -> None:
        async with asking(server, revision) as ask:
            for method, params in requests:
                try:
                    found.append(await ask(method, **params))
                except Refused as refused:
                    found.append(refused)

    run(script())
    return found


def call(server: Servers, name: str, revision: str = OLD, /, **arguments: object) -> Json:
    (answer,) = answers(server, revision, ("tools/call", {"name": name, "arguments": arguments}))
    return answer


def listed_tools(server: Servers, revision: str = OLD) -> JsonObject:
    (answer,) = answers(server, revision, ("tools/list", {}))
    return {tool["name"]: tool for tool in answer["tools"]}
