"""The contract of transports: what a client may rely on, whatever carries its messages.

A case gets an opener of connections to `Contract`. A transport to a program starts this module,
with the name of the function of `mcp_revisions` that serves it:

    python -m support.sessions.transport_contract serve_stdio
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import InformedTransport, Opener, Received, Transport
from mcp_revisions import McpError
from mcp_revisions import v2026_07_28 as mcp
from support.json_types import JsonObject
from support.sessions.talking import META, VERSION, pkg

m = mcp.models

TIME: Final = 30.0
"""Seconds for a case, on a busy machine."""
REFUSED: Final = -32050
LONG: Final = "a line\nand \N{SNOWMAN}" * 40_000
MANY: Final = 60
# A later revision may be the newest.
_META: Final = {**META, VERSION: mcp.REVISION}

Case = Callable[[Opener], Awaitable[None]]


class Contract(mcp.Server):
    """A server whose tools answer, refuse, wait, or end its program."""

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult:
        if params.name == "refuse":
            raise McpError(REFUSED, "refused", {"by": "the server"})
        if params.name == "wait":
            await asyncio.Event().wait()
        if params.name == "leave":
            os._exit(3)
        return m.CallToolResult(content=[m.TextContent(text=str((params.arguments or {})["text"]))])


def call(id: object, tool: str, text: str = "") -> bytes:
    """Return a call of a tool as one message."""
    params = {"name": tool, "arguments": {"text": text}, "_meta": _META}
    return _message(id=id, method="tools/call", params=params)


def _message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@asynccontextmanager
async def open_transport(opener: Opener) -> AsyncGenerator[Transport, None]:
    """Open a connection as a client does, and close it."""
    transport = await opener()
    if isinstance(transport, InformedTransport):
        transport.know({mcp.REVISION: mcp.methods.TABLE.wire}.__getitem__)
    try:
        yield transport
    finally:
        await transport.close()


async def answers(transport: Transport, *ids: object) -> dict[object, JsonObject]:
    """Receive until all of these requests are answered; return the answers by id."""
    found: dict[object, JsonObject] = {}
    while not {*ids} <= found.keys():
        received = await transport.receive()
        assert received, "the connection ended"
        for message in received:
            answer = _decode(message)
            assert answer["id"] not in found, "a request was answered twice"
            found[answer["id"]] = answer
    return found


def _decode(received: Received) -> JsonObject:
    assert isinstance(received, bytes), received
    decoded: JsonObject = json.loads(received)
    return decoded


def text_in(answer: JsonObject) -> str:
    """Return the text of a result."""
    return str(answer["result"]["content"][0]["text"])


async def message_is_whole(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        await transport.send([call(1, "echo", LONG)])
        assert text_in((await answers(transport, 1))[1]) == LONG


async def each_request_of_many_is_answered_once(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        await transport.send([call(id, "echo", str(id)) for id in range(MANY)])
        found = await answers(transport, *range(MANY))
        assert {id: text_in(answer) for id, answer in found.items()} == {
            id: str(id) for id in range(MANY)
        }


async def error_of_server_is_message(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        await transport.send([call("one", "refuse")])
        error = (await answers(transport, "one"))["one"]["error"]
        assert (error["code"], error["data"]) == (REFUSED, {"by": "the server"})


async def notification_has_no_answer(opener: Opener) -> None:
    cancelled = {"requestId": 1, "reason": "enough", "_meta": _META}
    async with open_transport(opener) as transport:
        await transport.send([call(1, "wait")])
        await transport.send([_message(method="notifications/cancelled", params=cancelled)])
        await transport.send([call(2, "echo", "on")])
        found = await answers(transport, 2)
        assert {*found} == {2}
        assert text_in(found[2]) == "on"


async def cancelled_receive_loses_nothing(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        for id in range(5):
            await transport.send([call(id, "echo", "kept")])
            receiving = None
            while receiving is None or receiving.cancelled():
                receiving = asyncio.create_task(transport.receive())
                await asyncio.wait({receiving}, timeout=0.001)
                receiving.cancel()
                await asyncio.wait({receiving})
            (message,) = receiving.result()
            assert (_decode(message)["id"], text_in(_decode(message))) == (id, "kept")


async def connections_are_apart(opener: Opener) -> None:
    async with open_transport(opener) as one, open_transport(opener) as other:
        await one.send([call(1, "echo", "one")])
        await other.send([call(1, "echo", "other")])
        assert text_in((await answers(other, 1))[1]) == "other"
        assert text_in((await answers(one, 1))[1]) == "one"


async def closed_transport_sends_nothing(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        await transport.close()
        with pytest.raises(Disconnected):
            await transport.send([call(1, "echo")])


async def end_of_program_has_reason(opener: Opener) -> None:
    async with open_transport(opener) as transport:
        await transport.send([call(1, "leave")])
        with pytest.raises(Disconnected, match="ended with code 3"):
            while await transport.receive():
                pass


CASES: Final[tuple[Case, ...]] = (
    message_is_whole,
    each_request_of_many_is_answered_once,
    error_of_server_is_message,
    notification_has_no_answer,
    cancelled_receive_loses_nothing,
    connections_are_apart,
    closed_transport_sends_nothing,
)
"""The contract of every transport."""
OF_PROGRAMS: Final[tuple[Case, ...]] = (*CASES, end_of_program_has_reason)
"""The contract of a transport that starts a program."""


def program_of(serve: str) -> tuple[list[str], Mapping[str, str]]:
    """Return the words of a program that serves, and its environment."""
    words = [sys.executable, "-m", __name__, serve]
    return words, {"PYTHONPATH": os.pathsep.join(sys.path)}


if __name__ == "__main__":
    pkg.run_stdio(Contract, serve=getattr(pkg, sys.argv[1]))
