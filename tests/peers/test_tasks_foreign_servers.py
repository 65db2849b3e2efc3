"""A client made of our stubs calls tools that are tasks, of servers that others wrote."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any, Final

import mcp_revisions as pkg
import pytest
from mcp_revisions import McpError, TaskCalls, TaskCancelled, TaskReceiver
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient
from support.json_types import JsonObject
from support.peers.places import PROGRAMS, Command, node_modules, python_with
from support.peers.visits import Peers
from support.revisions import OLD, STATELESS


class Host:
    """Answers what servers ask, and remembers that."""

    m: Any

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def on_elicit(self, params: Any) -> Any:
        self.asked.append(params.message)
        content = {"name": "ada"} if "name" in params.message else {"confirm": True}
        return self.m.ElicitResult(action="accept", content=content)

    async def on_create_message(self, params: Any) -> Any:
        text = self.m.TextContent(text="sampled")
        return self.m.CreateMessageResult(role="assistant", model="model", content=text)


class OfHandshake(TaskCalls, TaskReceiver, Host, handshake.Client):
    m = handshake.models


class OfStateless(TasksClient, TaskCalls, Host, stateless.Client):
    m = stateless.models


CLIENTS: Final[dict[str, type[OfHandshake] | type[OfStateless]]] = {
    OLD: OfHandshake,
    STATELESS: OfStateless,
}


def mcp1() -> Command:
    return (python_with("mcp-1"), PROGRAMS / "mcp1_tasks_server.py")


def typescript() -> Command:
    return ("node", PROGRAMS / "sdk_tasks_server.mjs", node_modules())


@asynccontextmanager
async def launch_server(command: Command, own: str) -> AsyncGenerator[Any, None]:
    launch = pkg.stdio_client([str(word) for word in command], inherit=True)
    async with (
        asyncio.timeout(30),
        pkg.connect(launch, CLIENTS[own](), revisions=pkg.REVISIONS) as client,
    ):
        yield client


async def use_tools(client: Any) -> JsonObject:
    """Use each tool, as a task where the server makes one of it; return the results."""
    seen: JsonObject = {"tools": [tool.name async for tool in client.iter_tools()][:3]}
    seen["greet"] = (await client.call_tool("greet", {"name": "Ada"})).text
    slow = {"seconds": 0.1, "label": "x"}
    begun = await client.start_task("slow_compute", slow, ttl=60)
    assert begun.id is not None
    seen["taken up"] = (await client.task(begun.to_json()).result()).text
    seen["slow"] = (await client.call_tool("slow_compute", slow)).text
    failed = await client.call_tool("failing_job")
    seen["failed"] = (failed.is_error, failed.text)
    seen["confirmed"] = (await client.call_tool("confirm_delete", {"filename": "a.txt"})).text
    seen["asked"] = client.asked.copy()
    endless = await client.start_task("slow_compute", {"seconds": 1, "label": ""}, ttl=60)
    await endless.cancel()
    with pytest.raises(TaskCancelled):
        await endless.result()
    seen["cancelled"] = (await endless.status()).status
    with pytest.raises(McpError) as caught:
        await client.task({**begun.to_json(), "taskId": "nobody"}).status()
    seen["unknown"] = caught.value.code
    return seen


SEEN: Final[JsonObject] = {
    "tools": ["greet", "slow_compute", "failing_job"],
    "greet": "Hello, Ada!",
    "taken up": "computed x in 0.1 s",
    "slow": "computed x in 0.1 s",
    "failed": (True, "This job always fails"),
    "confirmed": "Deleted a.txt",
    "asked": ["Delete a.txt?"],
    "cancelled": "cancelled",
    "unknown": -32602,
}


@pytest.mark.parametrize("own", CLIENTS)
@pytest.mark.parametrize("server", [mcp1, typescript])
async def test_tasks_of_the_official_sdks(server: Callable[[], Command], own: str) -> None:
    async with launch_server(server(), own) as client:
        assert client.revision == OLD
        assert await use_tools(client) == SEEN


@pytest.mark.parametrize("own", CLIENTS)
def test_tasks_of_fastmcp(peers: Peers, own: str) -> None:
    async def main() -> None:
        program = PROGRAMS / "fastmcp_tasks_server.py"
        site = await peers.server(python_with("fastmcp-tasks"), program, "PORT")
        url = f"http://127.0.0.1:{site.port}/mcp"
        async with pkg.connect_http(url, CLIENTS[own](), revisions=pkg.REVISIONS) as client:
            assert client.revision == STATELESS
            assert await use_tools(client) == SEEN
            with pytest.raises(McpError, match="always breaks"):
                await client.call_tool("protocol_error_job")

    peers.run(main())


@pytest.mark.parametrize("server", [mcp1, typescript])
async def test_servers_ask_for_tasks_of_the_client(server: Callable[[], Command]) -> None:
    async with launch_server(server(), OLD) as client:
        # Some servers mark a tool as a task only in the list.
        assert [tool async for tool in client.iter_tools()]
        assert (await client.call_tool("ask_as_task", {})).text == "accept ada"
        assert (await client.call_tool("sample_as_task", {})).text == "model sampled"
