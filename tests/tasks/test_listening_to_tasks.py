"""Changes of tasks on listen streams, from a server to its clients."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_revisions import TaskOptions, Toolkit, tool
from mcp_revisions.v2026_07_28 import Server, Session
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from support.coroutines import until
from support.json_types import JsonObject
from support.sessions.talking import CAPABILITIES, META, Hand, pkg, serve_by_hand
from support.tasks.by_hand import DECLARED, Before, Clock, ScriptedServer, Since, calling, set_clock

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LISTEN = "subscriptions/listen"
WITH: JsonObject = {"_meta": {**META, CAPABILITIES: DECLARED}}
CURIOUS: JsonObject = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}


class Slow(TasksServer, Toolkit, Server):
    """A server whose tool works until a test lets it go on."""

    def __init__(self) -> None:
        self.go_on = asyncio.Event()

    @tool(task=True)
    async def slow(self, session: Session) -> str:
        """Wait, and report that to all listeners."""
        await session.progress(1, 2)
        await self.go_on.wait()
        await session.progress(2, 2)
        await session.log("error", "It took long")
        return "done"


async def call(hand: Hand) -> str:
    """Call the tool; the id of the task that it becomes."""
    meta = {**WITH["_meta"], **CURIOUS}
    answer = await ask(hand, 1, "tools/call", name="slow", arguments={}, _meta=meta)
    return str(answer["result"]["taskId"])


async def ask(hand: Hand, id: int, method: str, **params: Any) -> Any:
    """Send a request of a client with the extension, and take the next message."""
    return await hand.ask(method, id, **{**WITH, **params})


@asynccontextmanager
async def serving() -> AsyncGenerator[tuple[Slow, Hand], None]:
    """A server, and the client's end of a connection to it."""
    server = Slow()
    async with serve_by_hand(server, tasks=TaskOptions(poll_interval=0.01)) as hand:
        yield server, hand
        server.go_on.set()


@pytest.mark.shows("TX-17", "TX-18")
async def test_a_stream_tells_where_its_tasks_stand_until_they_have_ended() -> None:
    async with serving() as (server, hand):
        id = await call(hand)
        wanted = {"taskIds": [id, "unknown"], "toolsListChanged": True}
        said = await ask(hand, 2, LISTEN, notifications=wanted)
        assert said["method"] == "notifications/subscriptions/acknowledged"
        assert said["params"]["notifications"]["taskIds"] == [id]
        first = await hand.take()
        assert first["method"] == "notifications/tasks"
        assert first["params"]["status"] == "working"
        server.go_on.set()
        last = await hand.take()
        assert last["params"]["taskId"] == id and last["params"]["status"] == "completed"
        assert last["params"]["result"]["content"][0]["text"] == "done"
        assert last["params"]["_meta"][SUBSCRIPTION] == 2
        assert await hand.is_silent(0.02), "and neither progress nor a log"


@pytest.mark.shows("TX-17")
async def test_a_client_without_the_extension_hears_of_no_task() -> None:
    async with serving() as (_, hand):
        id = await call(hand)
        refused = await hand.ask(LISTEN, 2, _meta=META, notifications={"taskIds": [id]})
        assert refused["error"]["code"] == -32021
        needed = refused["error"]["data"]["requiredCapabilities"]
        assert needed == DECLARED
        # It can listen to what else there is.
        said = await hand.ask(LISTEN, 3, _meta=META, notifications={})
        assert said["params"]["notifications"] == {}


async def test_a_stream_has_no_more_tasks_than_a_connection_may_subscribe_to() -> None:
    async with serve_by_hand(Slow(), max_subscriptions=2) as hand:
        refused = await ask(hand, 2, LISTEN, notifications={"taskIds": ["a", "b", "c"]})
        assert "No more than 2" in refused["error"]["message"]


@pytest.mark.shows("TX-09", "TX-17")
async def test_a_client_that_listens_hears_of_the_end_and_asks_no_more() -> None:
    server, clock = Slow(), Clock()
    client = set_clock(Since(), clock)

    async def notify() -> None:
        server.go_on.set()

    async with pkg.connect_in_memory(server, client):
        handle = await client.start_task("slow")
        listening = asyncio.create_task(client.listen_to_tasks(handle))
        # The first message is the state of the task.
        await until(lambda: handle.has_news)
        clock.notified = notify
        assert await handle.result(as_=str) == "done"
        listening.cancel()
    assert len(clock.waits) == 1


async def test_there_is_nothing_to_listen_to_in_the_other_kind() -> None:
    async with calling(Before(), ScriptedServer("2025-11-25")) as client:
        with pytest.raises(pkg.LocalError):
            await client.listen_to_tasks()
