"""A connection that outlasts its server: a new process takes over, and clients notice a change."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_protogen.runtime.core.connection_errors import (
    Disconnected,
    NegotiationError,
    RequestTimeout,
)
from mcp_protogen.runtime.core.subscriptions import Selectors
from mcp_protogen.runtime.messages.jsonrpc import write_error
from mcp_protogen.runtime.transports.memory import memory_pair
from mcp_protogen.servers.dev.lasting_connection import LastingConnection
from mcp_protogen.servers.dev.unavailable import unavailable
from mcp_revisions import REVISIONS, Accepted, McpError, Opener, connect, in_memory
from mcp_revisions import v2024_11_05 as oldest
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as stateless
from pydantic import BaseModel
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


class Answer(BaseModel):
    text: str


class Server(mcp.App):
    """A process: it notes what it is told, and some of its tools wait for `go_on`."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.go_on = asyncio.Event()
        self.told: list[str] = []
        self.cancelled = 0
        name_of_tool = f"of_{name}"

        @self.tool(name=name_of_tool)
        async def of_this() -> str:
            return name

        @self.tool
        async def wait() -> str:
            try:
                await self.go_on.wait()
            except asyncio.CancelledError:
                self.cancelled += 1
                raise
            return name

        @self.tool
        async def ask(session: mcp.Session) -> str:
            answer = await session.ask(name, Answer)
            assert isinstance(answer, Accepted)
            return f"{name} {answer.value.text}"

        @self.resource("memo://x")
        def memo() -> str:
            return name

        del of_this, wait, ask, memo

    async def note(self, call: Any, next: Callable[[Any], Any]) -> Any:
        if call.method in ("resources/subscribe", "logging/setLevel"):
            self.told.append(call.method)
        return await next(call)

    async def open(self) -> Any:
        self.middleware = (self.note,)
        self.transport: Any = await in_memory(self)()
        return self.transport


class Client(mcp.Client):
    """A client that answers each question with its number, once all are there."""

    def __init__(self, questions: int = 1) -> None:
        self.changes: list[str] = []
        self.asked: list[str] = []
        self.expected, self.are_asked = questions, asyncio.Event()
        self.withdrawn = 0

    async def on_tool_list_changed(self, params: Any) -> None:
        self.changes.append("tools")

    async def on_resource_list_changed(self, params: Any) -> None:
        self.changes.append("resources")

    async def on_resource_updated(self, params: Any) -> None:
        self.changes.append(params.uri)

    async def on_elicit(self, params: Any) -> Any:
        self.asked.append(params.message)
        if len(self.asked) == self.expected:
            self.are_asked.set()
        try:
            await self.are_asked.wait()
        except asyncio.CancelledError:
            self.withdrawn += 1
            raise
        return mcp.models.ElicitResult(action="accept", content={"text": f"to {params.message}"})


class Kept:
    """The connection of a client, as it is opened."""

    def __init__(self, first: Opener) -> None:
        self.first = first
        self.closed = 0

    async def open(self) -> LastingConnection:
        def on_close(_: object) -> None:
            self.closed += 1

        filters = Selectors(stateless.methods.TABLE.notifications)
        self.connection = LastingConnection(lambda why: unavailable(lambda: why), filters, on_close)
        await self.connection.begin(self.first)
        return self.connection


@asynccontextmanager
async def connect_lasting(server: Server, client: Any) -> AsyncGenerator[tuple[Any, Kept], None]:
    kept = Kept(server.open)
    async with connect(kept.open, client) as one:
        yield one, kept
    assert kept.closed == 1


async def text_of(client: Any, tool: str) -> str:
    result: Any = await client.call_tool(tool, {})
    return str(result.content[0].text)


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.01)


async def test_client_calls_the_new_process_on_its_old_connection() -> None:
    for client in (mcp.Client(), stateless.Client()):
        with case(client.TABLE.revision):
            async with connect_lasting(Server("old"), client) as (one, kept):
                assert await text_of(one, "of_old") == "old"
                await kept.connection.renew(Server("new").open)
                names = [tool.name async for tool in one.iter_tools()]
                assert sorted(names) == ["ask", "of_new", "wait"]
                assert await text_of(one, "of_new") == "new"


async def test_new_process_is_told_what_the_old_one_was() -> None:
    new, client = Server("new"), Client()
    async with connect_lasting(Server("old"), client) as (one, kept):
        await one.subscribe("memo://x")
        await one.subscribe("memo://gone")
        await one.unsubscribe("memo://gone")
        await one.set_level("debug")
        await kept.connection.renew(new.open)
        assert sorted(new.told) == ["logging/setLevel", "resources/subscribe"]
        await until(lambda: len(client.changes) == 3)
        assert sorted(client.changes) == ["memo://x", "resources", "tools"]
        await new.tools_list_changed()
        await until(lambda: len(client.changes) == 4)


async def test_listen_stream_goes_on_at_the_new_process() -> None:
    heard: list[str] = []

    class Listening(stateless.Client):
        async def on_tool_list_changed(self, params: Any) -> None:
            heard.append("tools")

        async def on_resource_updated(self, params: Any) -> None:
            heard.append(str(params.uri))

        async def on_subscriptions_acknowledged(self, params: Any) -> None:
            heard.append("acknowledged")

    new = Server("new")
    async with connect_lasting(Server("old"), Listening()) as (one, kept):
        wanted = stateless.models.SubscriptionFilter(
            tools_list_changed=True, resource_subscriptions=["memo://x"]
        )
        listening = asyncio.create_task(one.subscriptions_listen(notifications=wanted))
        await until(lambda: heard == ["acknowledged"])
        await kept.connection.renew(new.open)
        await until(lambda: sorted(heard[1:]) == ["memo://x", "tools"])
        await new.tools_list_changed()
        await until(lambda: heard[3:] == ["tools"])
        assert not listening.done()
        listening.cancel()


async def test_call_in_flight_finishes_at_the_old_process() -> None:
    old = Server("old")
    async with connect_lasting(old, mcp.Client()) as (one, kept):
        call = asyncio.create_task(text_of(one, "wait"))
        await asyncio.sleep(0.1)
        await kept.connection.renew(Server("new").open)
        assert await text_of(one, "of_new") == "new"
        old.go_on.set()
        assert await call == "old"


async def test_call_that_the_old_process_does_not_finish_in_time_fails() -> None:
    old = Server("old")
    async with connect_lasting(old, mcp.Client()) as (one, kept):
        call = asyncio.create_task(text_of(one, "wait"))
        await asyncio.sleep(0.1)
        await kept.connection.renew(Server("new").open)
        with pytest.raises(McpError, match="started again, and had not answered within 10 s"):
            await call
        await until(lambda: old.cancelled)
        assert await text_of(one, "of_new") == "new"


async def test_call_in_flight_can_still_be_cancelled() -> None:
    old = Server("old")
    async with connect_lasting(old, mcp.Client()) as (one, kept):
        call = asyncio.create_task(text_of(one, "wait"))
        await asyncio.sleep(0.1)
        await kept.connection.renew(Server("new").open)
        call.cancel()
        await until(lambda: old.cancelled)
        assert await text_of(one, "of_new") == "new"


async def test_questions_of_two_processes_get_their_own_answers() -> None:
    client = Client(questions=2)
    async with connect_lasting(Server("old"), client) as (one, kept):
        first = asyncio.create_task(text_of(one, "ask"))
        await until(lambda: client.asked)
        await kept.connection.renew(Server("new").open)
        second = asyncio.create_task(text_of(one, "ask"))
        assert await first == "old to old" and await second == "new to new"


async def test_question_of_a_process_that_is_gone_is_withdrawn() -> None:
    client = Client(questions=2)
    async with connect_lasting(Server("old"), client) as (one, kept):
        call = asyncio.create_task(text_of(one, "ask"))
        await until(lambda: client.asked)
        await kept.connection.renew(Server("new").open)
        with pytest.raises(McpError):
            await call
        await until(lambda: client.withdrawn)


async def fail_to_start() -> Any:
    raise Disconnected("no such program")


async def hang() -> Any:
    return memory_pair()[0]


async def refuse() -> Any:
    ours, theirs = memory_pair()

    async def answer() -> None:
        (asked,) = await theirs.receive()
        await theirs.send([write_error(json.loads(asked)["id"], -32000, "not today")])

    ours.serving = asyncio.create_task(answer())
    return ours


async def test_old_process_goes_on_if_the_new_one_does_not_take_over() -> None:
    older = oldest.App("older")
    failures: list[tuple[Opener, type[Exception], str]] = [
        (fail_to_start, Disconnected, "no such program"),
        (refuse, McpError, "not today"),
        (in_memory(older, revisions=REVISIONS[:1]), NegotiationError, "speaks 2024-11-05, and no"),
        (hang, RequestTimeout, "initialize was not answered within 30 s"),
    ]
    for opener, kind, text in failures:
        with case(text):
            async with connect_lasting(Server("old"), mcp.Client()) as (one, kept):
                with pytest.raises(kind, match=text):
                    await kept.connection.renew(opener)
                assert await text_of(one, "of_old") == "old"


async def test_process_that_ends_by_itself_is_replaced_by_its_reason() -> None:
    for client in (Client(), stateless.Client()):
        with case(client.TABLE.revision):
            old = Server("old")
            async with connect_lasting(old, client) as (one, kept):
                call = asyncio.create_task(text_of(one, "wait"))
                await asyncio.sleep(0.1)
                old.transport.feed_eof()
                with pytest.raises(Disconnected, match="closed the connection"):
                    await call
                if isinstance(client, Client):
                    with pytest.raises(McpError, match="closed the connection"):
                        await text_of(one, "of_old")
                    assert client.changes == []
                await kept.connection.renew(Server("new").open)
                assert await text_of(one, "of_new") == "new"


async def test_connection_begins_with_the_reason_if_the_program_cannot_be_started() -> None:
    client, kept = Client(), Kept(fail_to_start)
    async with connect(kept.open, client) as one:
        with pytest.raises(McpError, match="no such program"):
            await text_of(one, "of_new")
        await kept.connection.renew(Server("new").open)
        await until(lambda: client.changes)
        assert await text_of(one, "of_new") == "new"


async def test_introduction_that_a_process_leaves_unanswered_goes_to_the_next() -> None:
    kept = Kept(hang)
    connecting = connect(kept.open, mcp.Client())
    entering = asyncio.create_task(connecting.__aenter__())
    await asyncio.sleep(0.1)
    await kept.connection.renew(Server("new").open)
    assert await text_of(await entering, "of_new") == "new"
    await connecting.__aexit__(None, None, None)


async def test_connection_that_is_closed_meanwhile_leaves_no_process() -> None:
    opened: list[Any] = []

    async def open_slowly() -> Any:
        await asyncio.sleep(1)
        opened.append(await Server("new").open())
        return opened[0]

    async with connect_lasting(Server("old"), mcp.Client()) as (_, kept):
        renewal = asyncio.create_task(kept.connection.renew(open_slowly))
        await asyncio.sleep(0.1)
    await renewal
    assert opened[0].serving.done()
