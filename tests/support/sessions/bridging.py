"""Bridges for tests, and a client of the stateless era that is played by hand."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from mcp_protogen.runtime.core.revision import Revision
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_revisions.v2025_11_25 import Server
from support.json_types import Json, JsonObject
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    modern,
    pkg,
)
from support.sessions.talking import form as form
from support.sessions.wiretap import ClientT

USUAL = pkg.Options()
ASKED: JsonObject = {**META, CAPABILITIES: {"elicitation": {}}}


@asynccontextmanager
async def serve_bridged(
    theirs: pkg.Opener | Server, server_revisions: Iterable[Revision] | None = None, **options: Any
) -> AsyncGenerator[Hand, None]:
    """Bridge to a server; yield the client's end."""
    ours, middle = memory_pair()
    opener = theirs if callable(theirs) else in_memory(theirs)
    chosen = pkg.Options(**options)
    bridge = pkg.Bridge(middle, opener, server_revisions=server_revisions, options=chosen)
    running = asyncio.create_task(bridge.run())
    try:
        yield Hand(ours)
    finally:
        await ours.close()
        await running


@asynccontextmanager
async def through(
    ours: ClientT, theirs: Accepting | Server, own: pkg.Options = USUAL, **options: Any
) -> AsyncGenerator[ClientT, None]:
    """Connect a client to a server through a bridge; both speak only their own revision.

    `own` are the options of the client, `options` those of the bridge.
    """
    async with serve_bridged(theirs, **options) as hand:

        async def open() -> pkg.Transport:
            return hand.transport

        async with pkg.connect(open, ours, options=own) as one:
            yield one


def call_x(id: int, name: str = "x", **members: Json) -> JsonObject:
    return modern("tools/call", id, name=name, _meta=ASKED, **members)


def answer_questions(asked: JsonObject, x: str = "y") -> JsonObject:
    given = {key: {"action": "accept", "content": {"x": x}} for key in asked["inputRequests"]}
    return {"inputResponses": given, "requestState": asked["requestState"]}


async def call_until_asked(hand: Hand, id: int, **members: Json) -> Json:
    """Call the tool; return its request for input."""
    await hand.send(call_x(id, **members))
    result = (await hand.take())["result"]
    assert result["resultType"] == "input_required"
    return result


async def text_of(hand: Hand) -> str:
    return str((await hand.take())["result"]["content"][0]["text"])
