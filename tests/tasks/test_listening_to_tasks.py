"""Changes of tasks on listen streams, from a server to its clients."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_revisions import TaskOptions
from support.coroutines import until
from support.json_types import JsonObject
from support.sessions.talking import META, Hand, pkg, serve_by_hand
from support.tasks.asking import DECLARED, TASKS, refused, text_in
from support.tasks.by_hand import Before, Clock, ScriptedServer, Since, calling, set_clock
from support.tasks.gateway import OfStateless

SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
LISTEN = "subscriptions/listen"
CURIOUS: JsonObject = {"progressToken": "p", "io.modelcontextprotocol/logLevel": "debug"}


async def call(hand: Hand) -> str:
    """Call the tool, with a wish for reports; the id of the task that it becomes."""
    answer = await hand.ask("tools/call", 1, name="slow", _meta={**DECLARED, **CURIOUS})
    return str(answer["result"]["taskId"])


@asynccontextmanager
async def serving(**options: Any) -> AsyncGenerator[tuple[OfStateless, Hand], None]:
    """A server, and the client's end of a connection to it."""
    server = OfStateless()
    tasks = TaskOptions(poll_interval=0.01)
    async with serve_by_hand(server, tasks=tasks, **options) as hand:
        yield server, hand
        server.go_on.set()


@pytest.mark.shows("TX-17", "TX-18")
async def test_a_stream_tells_where_its_tasks_stand_until_they_have_ended() -> None:
    async with serving() as (server, hand):
        id = await call(hand)
        wanted = {"taskIds": [id, "unknown"], "toolsListChanged": True}
        said = await hand.ask(LISTEN, 2, notifications=wanted, _meta=DECLARED)
        assert said["method"] == "notifications/subscriptions/acknowledged"
        assert said["params"]["notifications"]["taskIds"] == [id]
        first = await hand.take()
        assert first["method"] == "notifications/tasks"
        assert first["params"]["status"] == "working"
        server.go_on.set()
        last = await hand.take()
        assert last["params"]["taskId"] == id and last["params"]["status"] == "completed"
        assert text_in(last["params"]) == "slow is done"
        assert last["params"]["_meta"][SUBSCRIPTION] == 2
        assert await hand.is_silent(0.02), "and neither progress nor a log"


@pytest.mark.shows("TX-17")
async def test_a_client_without_the_extension_hears_of_no_task() -> None:
    async with serving() as (_, hand):
        id = await call(hand)
        answer = await hand.ask(LISTEN, 2, _meta=META, notifications={"taskIds": [id]})
        assert refused(answer) == -32021
        needed: JsonObject = {"extensions": {TASKS: {}}}
        assert answer["error"]["data"] == {"requiredCapabilities": needed}
        # It can listen to what else there is.
        said = await hand.ask(LISTEN, 3, _meta=META, notifications={})
        assert said["params"]["notifications"] == {}


async def test_a_stream_has_no_more_tasks_than_a_connection_may_subscribe_to() -> None:
    async with serving(max_subscriptions=2) as (_, hand):
        wanted = {"taskIds": ["a", "b", "c"]}
        answer = await hand.ask(LISTEN, 2, notifications=wanted, _meta=DECLARED)
        assert "No more than 2" in answer["error"]["message"]


@pytest.mark.shows("TX-09", "TX-17")
async def test_a_client_that_listens_hears_of_the_end_and_asks_no_more() -> None:
    server, clock = OfStateless(), Clock()
    client = set_clock(Since(), clock)

    async def notify() -> None:
        server.go_on.set()

    async with pkg.connect_in_memory(server, client):
        handle = await client.start_task("slow")
        listening = asyncio.create_task(client.listen_to_tasks(handle))
        # The first message is the state of the task.
        await until(lambda: handle.has_news)
        clock.notified = notify
        assert await handle.result(as_=str) == "slow is done"
        listening.cancel()
    assert len(clock.waits) == 1


async def test_there_is_nothing_to_listen_to_in_the_other_kind() -> None:
    async with calling(Before(), ScriptedServer("2025-11-25")) as client:
        with pytest.raises(pkg.LocalError):
            await client.listen_to_tasks()
