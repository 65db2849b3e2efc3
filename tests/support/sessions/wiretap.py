"""A client of one revision and a server of another: a tapped connection, and one played by hand."""

import json
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from mcp_protogen.runtime.testing import in_memory
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import Client, Server
from support.coroutines import until as until
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import FORM as FORM
from support.sessions.talking import (
    Accepting,
    Hand,
    discover_result,
    error,
    models,
    notification,
    pkg,
    welcome,
)

m, new = models(OLD), models(STATELESS)
ID = "io.modelcontextprotocol/subscriptionId"
LEVEL = "io.modelcontextprotocol/logLevel"
LISTEN, UPDATED = "subscriptions/listen", "notifications/resources/updated"
TOOLS_CHANGED = "notifications/tools/list_changed"
ELICIT, SET_LEVEL = "elicitation/create", "logging/setLevel"

ClientT = TypeVar("ClientT", Client, stateless.Client)


class Wire(list[Json]):
    """A tap that records every message."""

    def __call__(self, sender: str, data: bytes) -> None:
        self.append(json.loads(data))

    def calls(self, method: str) -> list[Json]:
        return [message.get("params") for message in self if message.get("method") == method]


def over(
    ours: ClientT, theirs: Accepting | Server, wire: Wire | None = None, **options: Any
) -> AbstractAsyncContextManager[ClientT]:
    """Connect to `theirs`, which speaks only its own revision, so that our side adapts."""
    opener = theirs if isinstance(theirs, Accepting) else in_memory(theirs, tap=wire)
    return pkg.connect(opener, ours, revisions=pkg.REVISIONS, options=pkg.Options(**options))


def noting(
    told: list[Json], of: Callable[[Json], object]
) -> Callable[[object, Json], Awaitable[None]]:
    """Return a handler that records a part of its params."""

    async def note(self: object, params: Json) -> None:
        told.append(of(params))

    return note


def result(id: object, **members: object) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "result": members}


async def agree(hand: Hand, **capabilities: object) -> None:
    """Play a server of the stateless era with these capabilities."""
    asked = await hand.take()
    if asked["method"] == "initialize":
        supported = {"supported": [STATELESS], "requested": asked["params"]["protocolVersion"]}
        await hand.send(error(asked["id"], -32022, data=supported))
        asked = await hand.take()
    await hand.send(discover_result(asked["id"], **capabilities))


async def shake(hand: Hand, **capabilities: object) -> None:
    """Play a server of the handshake era with these capabilities."""
    asked = await hand.take()
    if asked["method"] == "server/discover":
        await hand.send(error(asked["id"], -32601))
        asked = await hand.take()
    await hand.send(welcome(asked["id"], OLD, **capabilities))
    assert (await hand.take())["method"] == "notifications/initialized"


async def answer(hand: Hand, method: str, **members: object) -> Json:
    """Take a request of that method and answer it; return its params."""
    asked = await hand.take()
    assert asked is not None and asked["method"] == method, asked
    await hand.send(result(asked["id"], **members))
    return asked["params"]


async def stream(hand: Hand, *besides: object) -> tuple[int, Json]:
    """Take a listen request and acknowledge it together with more; return its id and filter."""
    asked = await hand.take()
    assert asked["method"] == LISTEN, asked
    wanted, id = asked["params"]["notifications"], asked["id"]
    told = [notification(UPDATED, uri=uri, _meta={ID: id}) for uri in besides]
    await hand.send(acknowledgment(id, wanted), *told)
    return id, wanted


def acknowledgment(id: int, wanted: object) -> JsonObject:
    name = "notifications/subscriptions/acknowledged"
    return notification(name, _meta={ID: id}, notifications=wanted)


async def take_cancellation(hand: Hand) -> int:
    """Take a cancellation; return the id of the cancelled request."""
    said = await hand.take()
    assert said["method"] == "notifications/cancelled", said
    id: int = said["params"]["requestId"]
    return id


def questions(*asked: object, **members: object) -> JsonObject:
    inputs = {f"{number}": question for number, question in enumerate(asked)}
    return {"resultType": "input_required", "inputRequests": inputs, **members}


def uri(name: str) -> Json:
    return m.SubscribeRequestParams(uri=name)
