"""Servers with a feature: a layer around requests, and its own wire format."""

import subprocess
import sys
from collections.abc import Collection
from functools import cached_property
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.messages.codec import Request
from mcp_protogen.runtime.messages.method_table import MethodTable
from mcp_protogen.runtime.rpc.jobs import Job
from mcp_protogen.runtime.server.base import ServerRuntime
from mcp_protogen.runtime.server.layers import Following, Layer
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.revisions import OLD, STATELESS
from support.sessions.talking import (
    INITIALIZED,
    hello,
    models,
    modern,
    request,
    serve_by_hand,
    tools,
)

# All is in memory.
pytestmark = pytest.mark.skips_time


async def echo(session: Session, params: CallToolRequestParams) -> str:
    return str(params.name)


class Counting(Layer):
    """A layer that counts requests, adds a method, and hides one."""

    hidden = ("prompts/get",)
    ids_member = "thingIds"

    def __init__(self) -> None:
        self.served: list[str] = []
        self.asked: Collection[str] = ()
        self.handlers = {"completion/complete": self._complete}

    async def _complete(self, session: Any, params: Any) -> Any:
        result, *_ = session.__mcp_runtime__.table.requests["completion/complete"].results
        return result.from_wire({"completion": {"values": [params.argument.value]}})

    def extend_capabilities(self, declared: JSONObject) -> JSONObject:
        return {**declared, "completions": {}}

    async def serve(self, connection: Any, job: Job) -> Any:
        self.served.append(job.request.spec.method)
        return await super().serve(connection, job)

    async def find_following(
        self, connection: Any, request: Request[Any], ids: Collection[str]
    ) -> Following:
        self.asked = sorted(ids)

        async def follow() -> None:
            await connection.publish("notifications/tools/list_changed", None)

        return {"one": follow}


def server_with_layer(revision: str, layer: Layer, **members: Any) -> Any:
    """A server of a revision with a layer."""

    class Runtime(ServerRuntime):
        def layer(self, table: MethodTable, tells_apart: bool) -> Layer:
            return layer

    return tools(revision, echo, __mcp_runtime__=cached_property(Runtime), **members)


async def get_prompt(self: object, session: Any, params: Any) -> Any:
    return models(OLD).GetPromptResult(messages=[])


COMPLETING = {"ref": {"type": "ref/prompt", "name": "p"}, "argument": {"name": "a", "value": "v"}}


async def test_layer_stands_around_requests_answers_further_ones_and_hides_others() -> None:
    layer = Counting()
    async with serve_by_hand(server_with_layer(OLD, layer, on_get_prompt=get_prompt)) as hand:
        await hand.send(hello())
        capabilities = (await hand.take())["result"]["capabilities"]
        assert capabilities.keys() == {"tools", "prompts", "completions"}
        await hand.send(INITIALIZED)
        await hand.send(request("completion/complete", 2, **COMPLETING))
        assert (await hand.take())["result"]["completion"]["values"] == ["v"]
        await hand.send(request("tools/call", 3, name="x"))
        assert (await hand.take())["result"]["content"][0]["text"] == "x"
        await hand.send(request("prompts/get", 4, name="p"))
        assert (await hand.take())["error"]["code"] == -32601
    assert layer.served == ["completion/complete", "tools/call", "prompts/get"]


async def test_listen_stream_hears_of_what_a_layer_follows() -> None:
    layer, changed = Counting(), "notifications/tools/list_changed"
    async with serve_by_hand(
        server_with_layer(STATELESS, layer, SENDS=frozenset({changed}))
    ) as hand:
        wanted = {"thingIds": ["two", "one"], "toolsListChanged": True}
        await hand.send(modern("subscriptions/listen", 1, notifications=wanted))
        acknowledged = (await hand.take())["params"]["notifications"]
        assert acknowledged == {"toolsListChanged": True, "thingIds": ["one"]}
        assert (await hand.take())["method"] == changed
    assert layer.asked == ["one", "two"]


GREETING = """
import asyncio, sys
from mcp_revisions import in_memory, v2025_11_25 as mcp, connect_in_memory
app = mcp.App("greeter")
@app.tool
def greet(name: str) -> str:
    return name
async def main():
    async with connect_in_memory(app, mcp.Client()) as client:
        await client.call_tool("greet", {"name": "Ada"})
asyncio.run(main())
print(*(name for name in sys.modules if "task" in name and "mcp_protogen" in name))
"""


def test_server_without_tasks_imports_nothing_of_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", GREETING], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["mcp_protogen.runtime.core.tasks"]
