"""Questions and log entries of remote servers: they reach the request that they belong to."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import permutations
from typing import Any

import pytest
from support.http.serving import Events, Site, calling_app, serving, text_in
from support.json_types import Json, JsonObject
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.bridging import ASKED
from support.sessions.talking import client, pkg
from support.toolkit.kits import mcp
from support.toolkit.mounting import (
    app,
    app_with_remote,
    in_memory,
    only,
    serving_over_http,
    text_of,
    until,
)

LOGGING: JsonObject = {**ASKED, "io.modelcontextprotocol/logLevel": "debug"}


class Asking:
    """A remote server with a tool that logs and asks; each call waits until it may go on."""

    def __init__(self) -> None:
        self.server = only(app(OLD, "remote"))
        self.begun: list[str] = []
        self.go: dict[str, asyncio.Event] = {}

        async def ask(who: str, session: Any) -> str:
            self.begun.append(who)
            await self.go.setdefault(who, asyncio.Event()).wait()
            await session.log("info", who)
            answer = await session.ask(f"Who are you, {who}?", str)
            return f"{who} is {answer.value}"

        ask.__annotations__["session"] = mcp.Session
        self.server.add_tool(ask)


@asynccontextmanager
async def before(way: str, url: str) -> AsyncGenerator[Site, None]:
    """Serve a mount of a remote server in an app of a revision, or a bridge to it."""
    if way == "bridge":
        served: Any = pkg.bridge_app(pkg.Bridge, pkg.open_http(url))
    else:
        top = app(way)
        top.mount("r", connect_to=url)
        served = top.http()
    async with calling_app(served) as site:
        yield site


WAYS = (*ERAS, "bridge")
NAMES = {way: "ask" if way == "bridge" else "r_ask" for way in WAYS}
ORDERS = tuple(permutations("ab"))


Come = dict[str, asyncio.Queue[Json]]


async def read(stream: AbstractAsyncContextManager[Events], come: asyncio.Queue[Json]) -> None:
    """Read a response, which may begin late, into a queue."""
    async with stream as events:
        while (message := await events.take()) is not None:
            come.put_nowait(message)


@asynccontextmanager
async def asking_both(
    asking: Asking, stream: Callable[[str], AbstractAsyncContextManager[Events]]
) -> AsyncGenerator[Come, None]:
    """Send two calls at once; yield the messages in the response to each."""
    come: Come = {who: asyncio.Queue() for who in "ab"}
    async with asyncio.TaskGroup() as group:
        for who in "ab":
            group.create_task(read(stream(who), come[who]))
            await until(lambda who=who: who in asking.begun)  # type: ignore[misc]
        yield come


def answers_to(asked: JsonObject, value: str) -> JsonObject:
    """Return the members of a request that answers the questions in a result."""
    answer = {"action": "accept", "content": {"value": value}}
    given = dict.fromkeys(asked["inputRequests"], answer)
    return {"inputResponses": given, "requestState": asked["requestState"]}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
async def test_question_and_log_entry_reach_the_stateless_request_they_belong_to(
    way: str, order: tuple[str, ...]
) -> None:
    asking = Asking()
    async with serving(asking.server) as remote, before(way, remote.url) as site:

        def call_params(who: str) -> Any:
            return {"meta": LOGGING, "name": NAMES[way], "arguments": {"who": who}}

        def call(who: str) -> Any:
            return site.modern_stream("tools/call", **call_params(who))

        async with asking_both(asking, call) as come:
            for who in order:
                asking.go[who].set()
                assert (await come[who].get())["params"]["data"] == who
                asked = (await come[who].get())["result"]
                (question,) = asked["inputRequests"].values()
                assert question["params"]["message"] == f"Who are you, {who}?"
                answers = answers_to(asked, f"{who}!")
                told = await site.modern("tools/call", id=2, **call_params(who), **answers)
                assert text_in(told) == f"{who} is {who}!"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ORDERS)
async def test_question_and_log_entry_come_in_the_stream_of_their_request(
    way: str, order: tuple[str, ...]
) -> None:
    asking = Asking()
    async with serving(asking.server) as remote, before(way, remote.url) as site:
        session = await site.initialize(elicitation={})

        def call(who: str) -> Any:
            return session.calling(NAMES[way], who, arguments={"who": who})

        async with asking_both(asking, call) as come:
            for who in order:
                asking.go[who].set()
                assert (await come[who].get())["params"]["data"] == who
                asked = await come[who].get()
                assert asked["params"]["message"] == f"Who are you, {who}?"
                answer = {"action": "accept", "content": {"value": f"{who}!"}}
                await session.post({"jsonrpc": "2.0", "id": asked["id"], "result": answer})
                told = await come[who].get()
                assert told["result"]["content"][0]["text"] == f"{who} is {who}!"


async def test_requests_wait_for_their_turn_so_that_a_question_is_for_the_one_under_way() -> None:
    asking = Asking()
    opener = pkg.in_memory(asking.server)
    async with serving_over_http(app_with_remote(STATELESS, opener, concurrency=1)) as connect:
        answers: dict[str, asyncio.Task[str]] = {}
        for who in "abc":
            # Equal clients share a connection to the server.
            connected = await connect(client_of(who))
            asking.go[who] = asyncio.Event()
            answers[who] = asyncio.create_task(text_of(connected, "r_ask", who=who))
            await until(lambda: asking.begun != [])
        for number, who in enumerate("abc", 1):
            await until(lambda number=number: len(asking.begun) == number)  # type: ignore[misc]
            asking.go[who].set()
            assert await answers[who] == f"{who} is {who}!"
        assert asking.begun == [*"abc"]
        assert len(asking.server.sessions) == 1


def client_of(who: str) -> Any:
    """Return a client of the stateless era that answers only questions to `who`."""
    m: Any = pkg.load(STATELESS).models

    async def on_elicit(_: object, params: Any) -> Any:
        action = "accept" if f", {who}?" in params.message else "decline"
        return m.ElicitResult(action=action, content={"value": f"{who}!"})

    return client(STATELESS, on_elicit=on_elicit)


@pytest.mark.parametrize("spoken", ERAS)
@pytest.mark.parametrize("of_remote", ERAS)
async def test_questions_and_log_entries_say_what_server_they_are_from(
    of_remote: str, spoken: str
) -> None:
    remote = only(app(of_remote, "remote"))
    m: Any = pkg.load(spoken).models
    said: list[str] = []
    loggers: list[str] = []

    async def ask(session: Any) -> str:
        await session.log("info", "x", logger="db")
        await session.log("info", "x")
        answer = await session.ask("Who are you?", str)
        return str(answer.value)

    async def on_elicit(_: object, params: Any) -> Any:
        said.append(params.message)
        return m.ElicitResult(action="accept", content={"value": "Ada"})

    async def on_logging_message(_: object, params: Any) -> None:
        loggers.append(params.logger)

    ask.__annotations__["session"] = pkg.load(of_remote).Session
    remote.add_tool(ask)
    ours = client(spoken, on_elicit=on_elicit, on_logging_message=on_logging_message)
    top = app_with_remote(spoken, pkg.in_memory(remote), name="archive")
    async with in_memory(ours, top) as one:
        assert await text_of(one, "r_ask") == "Ada"
    assert said == ["archive: Who are you?"]
    if spoken == OLD:
        assert loggers[:2] == ["archive/db", "archive"]
