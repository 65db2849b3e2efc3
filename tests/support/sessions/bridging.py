"""Bridges for tests, and a client of the stateless era that is played by hand."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.talking import (
    CAPABILITIES,
    META,
    Accepting,
    Hand,
    models,
    modern,
    pkg,
    runtime,
)
from support.sessions.wiretap import FORM

ASKED: JsonObject = {**META, CAPABILITIES: {"elicitation": {}}}


@asynccontextmanager
async def bridged(
    theirs: Any, server_revisions: Any = None, **options: Any
) -> AsyncGenerator[Hand, None]:
    """The client's end of a bridge to a server, which has ended when this has."""
    ours, middle = runtime("transports.memory").memory_pair()
    opener = theirs if isinstance(theirs, Accepting) else runtime("testing").in_memory(theirs)
    chosen = pkg.Options(**options)
    bridge = pkg.Bridge(middle, opener, server_revisions=server_revisions, options=chosen)
    running = asyncio.create_task(bridge.run())
    try:
        yield Hand(ours)
    finally:
        await ours.close()
        await running


@asynccontextmanager
async def through(ours: Any, theirs: Any, **options: Any) -> AsyncGenerator[Any, None]:
    """A client that speaks to a server through a bridge; both speak their own revision only."""
    async with bridged(theirs, **options) as hand:

        async def open() -> Any:
            return hand.transport

        async with pkg.connect(open, ours) as one:
            yield one


def form(message: str, revision: str = OLD) -> Any:
    return models(revision).ElicitRequestFormParams(message=message, requested_schema=FORM)


def called(id: int, name: str = "x", **members: Any) -> JsonObject:
    return modern("tools/call", id, name=name, _meta=ASKED, **members)


def answered(asked: Any, x: str = "y") -> JsonObject:
    """What a client sends back to all the questions of a result."""
    given = {key: {"action": "accept", "content": {"x": x}} for key in asked["inputRequests"]}
    return {"inputResponses": given, "requestState": asked["requestState"]}


async def asked_for(hand: Hand, id: int, **members: Any) -> Any:
    """Call the tool; the result, which asks for input."""
    await hand.send(called(id, **members))
    result = (await hand.take())["result"]
    assert result["resultType"] == "input_required"
    return result


async def text_of(hand: Hand) -> str:
    return str((await hand.take())["result"]["content"][0]["text"])
