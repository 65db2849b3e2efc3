"""A client of one revision at a server of another: its connection, tapped, and played by hand."""

import asyncio
import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import (
    Accepting,
    Hand,
    discovered,
    error,
    models,
    notification,
    pkg,
    runtime,
    welcome,
)

m, new = models(OLD), models(STATELESS)
ID = "io.modelcontextprotocol/subscriptionId"
LEVEL = "io.modelcontextprotocol/logLevel"
LISTEN, UPDATED = "subscriptions/listen", "notifications/resources/updated"
TOOLS_CHANGED = "notifications/tools/list_changed"
ELICIT, SET_LEVEL = "elicitation/create", "logging/setLevel"
FORM = {"type": "object", "properties": {"x": {"type": "string"}}}


class Wire(list[Any]):
    """Everything that went over the wire; a tap."""

    def __call__(self, sender: str, data: bytes) -> None:
        self.append(json.loads(data))

    def calls(self, method: str) -> list[Any]:
        """The params of all messages of a method."""
        return [one.get("params") for one in self if one.get("method") == method]


def over(
    ours: Any, theirs: Any, wire: Wire | None = None, **options: Any
) -> AbstractAsyncContextManager[Any]:
    """A connection on which `theirs` speaks its own revision only; all that is to do is ours."""
    opener: Any = theirs
    if not isinstance(theirs, Accepting):
        opener = runtime("testing").in_memory(theirs, tap=wire)
    talk: AbstractAsyncContextManager[Any] = pkg.connect(
        opener, ours, revisions=pkg.REVISIONS, options=pkg.Options(**options)
    )
    return talk


def noting(told: list[Any], of: Callable[[Any], Any]) -> Any:
    """A handler that writes down something of what it is told."""

    async def note(self: object, params: Any) -> None:
        told.append(of(params))

    return note


def result(id: Any, **members: Any) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "result": members}


async def agree(hand: Hand, **capabilities: Any) -> None:
    """Play a server of the stateless era that declares these."""
    await hand.send(discovered((await hand.take())["id"], **capabilities))


async def shake(hand: Hand, **capabilities: Any) -> None:
    """Play a server of the handshake era that declares these."""
    await hand.send(error((await hand.take())["id"], -32601))
    await hand.send(welcome((await hand.take())["id"], OLD, **capabilities))
    assert (await hand.take())["method"] == "notifications/initialized"


async def answer(hand: Hand, method: str, **members: Any) -> Any:
    """Take a request of that method, which is answered; its params."""
    asked = await hand.take()
    assert asked is not None and asked["method"] == method, asked
    await hand.send(result(asked["id"], **members))
    return asked["params"]


async def stream(hand: Hand, *besides: Any) -> tuple[int, Any]:
    """Take a listen request and acknowledge it, with more in the same breath; its id and filter."""
    asked = await hand.take()
    assert asked["method"] == LISTEN, asked
    wanted, id = asked["params"]["notifications"], asked["id"]
    told = [notification(UPDATED, uri=uri, _meta={ID: id}) for uri in besides]
    await hand.send(acknowledged(id, wanted), *told)
    return id, wanted


def acknowledged(id: int, wanted: Any) -> Any:
    name = "notifications/subscriptions/acknowledged"
    return notification(name, _meta={ID: id}, notifications=wanted)


async def cancelled(hand: Hand) -> int:
    """Take a cancellation; the id of what is cancelled."""
    said = await hand.take()
    assert said["method"] == "notifications/cancelled", said
    id: int = said["params"]["requestId"]
    return id


def questions(*asked: Any, **members: Any) -> Any:
    """A result that asks."""
    inputs = {f"{number}": one for number, one in enumerate(asked)}
    return {"resultType": "input_required", "inputRequests": inputs, **members}


def uri(name: str) -> Any:
    return m.SubscribeRequestParams(uri=name)


async def until(condition: Callable[[], bool]) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(2):
        while not condition():
            await asyncio.sleep(0.001)
