"""Mounted servers that are absent, slow, expired or gone: what clients hear, and what goes on."""

import asyncio
import socket
import sys
from collections.abc import Awaitable, Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from support.http.serving import run_app
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import Accepting, Hand, client, error, notification
from support.sessions.wiretap import result, shake
from support.tables import case
from support.toolkit.kits import pkg
from support.toolkit.mounting import (
    Hearing,
    app,
    in_memory,
    mount_remote,
    names_of,
    only,
    program,
    text_of,
    until,
    weather,
)

FORECAST: dict[str, Any] = {"place": "Oslo"}
EMPTY: dict[str, Any] = {
    "tools/list": {"tools": []},
    "prompts/get": {"messages": []},
    "resources/read": {"contents": []},
    "completion/complete": {"completion": {"values": []}},
    "tools/call": {"content": []},
}
CAPABILITIES: dict[str, Any] = {
    "tools": {},
    "prompts": {},
    "resources": {"subscribe": True},
    "completions": {},
}


def between(address: Any, own: str = OLD, **settings: Any) -> Any:
    """Return an app in which a server and a working one are mounted."""
    above = app(own)
    mount_remote(above, "bad", address, **settings)
    mount_remote(above, "good", weather(OLD))
    return above


async def fails(one: Any, reason: str, words: str, name: str = "bad_x") -> None:
    """Call a tool of the bad server, then use the good one."""
    with pytest.raises(pkg.McpError) as raised:
        await one.call_tool(name, {})
    assert raised.value.code == -32603
    assert raised.value.message.startswith(f"The server of bad {words}")
    assert raised.value.data == {"server": "bad", "reason": reason}
    assert await text_of(one, "good_forecast", **FORECAST) == "rain in Oslo"
    assert "good_forecast" in (await names_of(one))["tools"]


async def test_server_that_cannot_be_reached_is_named_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "ends.py"
    path.write_text("raise SystemExit(3)")
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    addresses = {
        "absent": [str(tmp_path / "absent")],
        "ends": [sys.executable, str(path)],
        "refused": f"http://127.0.0.1:{port}/mcp",
    }
    for spoken in ERAS:
        for what, address in addresses.items():
            with case((spoken, what)):
                async with in_memory(Hearing(spoken).client, between(address)) as one:
                    for _ in range(2):
                        await fails(one, "unreachable", "cannot be reached")


def answering(status: int, after: int, posts: list[object]) -> Any:
    """Return an ASGI app that notes requests, and answers those after the first by a status."""
    answer = weather(OLD).http()

    async def serve(scope: Any, receive: Any, send: Any) -> None:
        posts.extend([scope] if scope["method"] == "POST" else [])
        if len(posts) <= after:
            await answer(scope, receive, send)
            return
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return serve


async def test_http_status_of_a_server_is_told_as_a_reason() -> None:
    opening = {401: "unauthorized", 403: "unauthorized", 404: "unreachable", 500: "unreachable"}
    words = {"unauthorized": "refuses the credentials", "unreachable": "cannot be reached"}
    words |= {"interrupted": "has gone before it answered"}
    sent = {**opening, 400: "unreachable", 500: "interrupted", 503: "interrupted"}
    del sent[404]
    cases = [(status, 0, reason) for status, reason in opening.items()]
    # The handshake takes two.
    cases += [(status, 2, reason) for status, reason in sent.items()]
    for status, after, reason in cases:
        posts: list[object] = []
        async with run_app(answering(status, after, posts)) as port:
            top = between(f"http://127.0.0.1:{port}/mcp")
            served = top.http()
            async with run_app(served) as above:
                with case((status, after)):
                    url = f"http://127.0.0.1:{above}/mcp"
                    async with pkg.connect(url, Hearing(OLD).client) as one:
                        with pytest.raises(pkg.McpError):
                            await one.call_tool("bad_x", {})
                        # A call that was sent is not repeated.
                        assert len(posts) == after + 1 or not after
                        await fails(one, reason, words[reason])
                await served.close()


async def test_server_without_a_usable_token_is_told_as_unauthorized() -> None:
    async def open() -> Any:
        raise pkg.AuthorizationError("the user has not logged in")

    async with in_memory(Hearing(OLD).client, between(open)) as one:
        await fails(one, "unauthorized", "refuses the credentials")


Play = Callable[[Hand, Any], Awaitable[None]]


def server(answer: Play) -> Accepting:
    """Return a server that answers each request by a function."""

    async def play(hand: Hand) -> None:
        await shake(hand, **CAPABILITIES)
        while (asked := await hand.take()) is not None:
            await answer(hand, asked)

    return Accepting(play)


@pytest.mark.skips_time
async def test_server_that_never_answers_the_opening_is_given_up() -> None:
    async def play(hand: Hand) -> None:
        while await hand.take() is not None:
            pass

    top = between(Accepting(play), open_timeout=7.0)
    async with in_memory(Hearing(OLD).client, top) as one:
        begin = asyncio.get_running_loop().time()
        with pytest.raises(pkg.McpError, match="did not answer in time"):
            await one.call_tool("bad_x", {})
        assert asyncio.get_running_loop().time() == pytest.approx(begin + 7, abs=0.1)


@pytest.mark.skips_time
async def test_call_without_an_answer_is_cancelled_at_the_server() -> None:
    heard: list[Any] = []

    async def answer(hand: Hand, asked: Any) -> None:
        heard.append(asked["method"])

    async with in_memory(Hearing(OLD).client, between(server(answer), timeout=5.0)) as one:
        with pytest.raises(pkg.McpError) as raised:
            await one.call_tool("bad_x", {}, timeout=100)
        assert raised.value.data == {"server": "bad", "reason": "timeout"}
        await until(lambda: heard == ["tools/call", "notifications/cancelled"])


@pytest.mark.skips_time
async def test_time_of_a_call_does_not_pass_while_a_person_answers() -> None:
    for spoken in ERAS:
        m: Any = pkg.load(spoken).models

        async def on_elicit(_: object, params: Any, m: Any = m) -> Any:
            await asyncio.sleep(9)
            return m.ElicitResult(action="accept", content={"value": 42})

        for of_remote in ERAS:
            top = between(only(weather(of_remote)), timeout=4.0, max_timeout=8.0)
            with case((spoken, of_remote)):
                patient = client(spoken, on_elicit=on_elicit)
                async with in_memory(patient, top) as one:
                    called = await one.call_tool("bad_age", {}, timeout=20)
                    assert called.content[0].text == "42 years"


@pytest.mark.skips_time
async def test_question_that_a_client_leaves_keeps_its_turn_for_the_time_of_the_server() -> None:
    asked = asyncio.Event()

    async def on_elicit(*_: object) -> Any:
        asked.set()
        await asyncio.Event().wait()

    top = app(STATELESS)
    mount_remote(top, "bad", only(weather(OLD)), concurrency=1, max_timeout=8.0)
    async with in_memory(client(STATELESS, on_elicit=on_elicit), top) as one:
        calling = asyncio.create_task(one.call_tool("bad_age", {}))
        await asked.wait()
        calling.cancel()
        touched = await one.call_tool("bad_touch", {}, timeout=20)
        assert touched.content[0].text == "touched"


@pytest.mark.skips_time
async def test_progress_extends_a_call_up_to_the_longest_time() -> None:
    async def answer(hand: Hand, asked: Any) -> None:
        token = asked.get("params", {}).get("_meta", {}).get("progressToken")
        for number in range(1, 9 if token is not None else 0):
            await asyncio.sleep(4)
            await hand.send(
                notification("notifications/progress", progressToken=token, progress=number)
            )
        if "id" in asked:
            await hand.send(result(asked["id"], content=[]))

    reports: list[Any] = []
    patient: dict[str, Any] = {"timeout": 100, "on_progress": reports.append}
    for longest, number in ((60.0, 8), (14.0, 3)):
        reports.clear()
        top = between(server(answer), timeout=5.0, max_timeout=longest)
        with case(longest):
            async with in_memory(Hearing(OLD).client, top) as one:
                if number == 8:
                    await one.call_tool("bad_x", {}, **patient)
                else:
                    with pytest.raises(pkg.McpError) as raised:
                        await one.call_tool("bad_x", {}, **patient)
                    assert raised.value.data == {"server": "bad", "reason": "timeout"}
                assert len(reports) == number


async def use(one: Any, method: str) -> Any:
    """Send a request to the bad server."""
    if method == "tools/call":
        return await one.call_tool("bad_x", {})
    if method == "prompts/get":
        return await one.get_prompt("bad_x")
    if method == "resources/read":
        return await one.read_resource("data://bad/x")
    if method == "tools/list":
        return await one.list_tools()
    m: Any = pkg.load(one.TABLE.revision).models
    about = m.ResourceTemplateReference(uri="data://bad/{x}")
    return await one.complete(about, m.CompleteRequestParamsArgument(name="x", value="r"))


async def test_interrupted_requests_are_repeated_once_unless_they_have_effects(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for spoken, method in ((spoken, method) for spoken in ERAS for method in EMPTY):
        for breaks in (1, 2):
            count = 0

            async def play(hand: Hand, method: str = method, breaks: int = breaks) -> None:
                nonlocal count
                await shake(hand, **CAPABILITIES)
                while (asked := await hand.take()) is not None:
                    count += asked["method"] == method
                    if asked["method"] == method and count <= breaks:
                        return
                    await hand.send(result(asked["id"], **EMPTY[asked["method"]]))

            top = app(OLD)
            mount_remote(top, "bad", Accepting(play))
            with case((spoken, method, breaks)):
                async with in_memory(Hearing(spoken).client, top) as one:
                    if method == "tools/call" or (breaks == 2 and method != "tools/list"):
                        with pytest.raises(pkg.McpError) as raised:
                            await use(one, method)
                        assert raised.value.data == {"server": "bad", "reason": "interrupted"}
                        had_effects = "the call may have had effects" in raised.value.message
                        assert had_effects == (method == "tools/call")
                    else:
                        await use(one, method)
                    assert count == (1 if method == "tools/call" else 2)
    assert "are not listed: The server of bad has gone before it answered" in caplog.text
    assert "effects" not in caplog.text


async def test_server_above_does_what_it_declares_without_the_mounted_one() -> None:
    async def answer(hand: Hand, asked: Any) -> None:
        refused = error(asked["id"], -32601) if asked["method"] != "tools/call" else None
        await hand.send(refused or result(asked["id"], content=[]))

    heard: list[Any] = []

    async def play_bare(hand: Hand) -> None:
        await shake(hand)
        while (asked := await hand.take()) is not None:
            heard.append(asked)

    for own, spoken in product(ERAS, ERAS):
        for what, bad in (("refusing", server(answer)), ("bare", Accepting(play_bare))):
            top = app(own)
            mount_remote(top, "bad", bad)
            hearing = Hearing(spoken)
            with case((own, spoken, what)):
                async with in_memory(hearing.client, top) as one:
                    assert (await use(one, "completion/complete")).completion.values == []
                    async with hearing.hearing("data://bad/x"):
                        assert hearing.heard == []
                    if spoken == OLD:
                        await one.set_level("error")
                    if what == "bare":
                        for method, wrong in (
                            ("tools/call", "Unknown tool: bad_x"),
                            ("prompts/get", "Unknown prompt: bad_x"),
                            ("resources/read", "(?i)resource not found"),
                        ):
                            with pytest.raises(pkg.McpError, match=wrong):
                                await use(one, method)
    assert heard == []


async def test_lost_http_session_is_begun_anew_without_notice(tmp_path: Path) -> None:
    for spoken in ERAS:
        hearing = Hearing(spoken)
        uri = "data://bad/now"
        with case(spoken):
            async with run_app(first := only(weather(OLD)).http()) as port:
                top = between(f"http://127.0.0.1:{port}/mcp")
                connecting = in_memory(hearing.client, top)
                one = await connecting.__aenter__()
                assert await text_of(one, "bad_age") == "42 years"
                listening = hearing.hearing(uri)
                await listening.__aenter__()
                await text_of(one, "bad_touch")
                await hearing.hears(uri)
                await first.close()
            second = only(weather(OLD)).http()
            async with run_app(second, port=port):
                calls = (text_of(one, "bad_forecast", **FORECAST) for _ in range(5))
                assert {*await asyncio.gather(*calls)} == {"rain in Oslo"}
                assert await text_of(one, "bad_age") == "42 years"
                await hearing.hears(uri, "tool", "prompt", "resource")
                await text_of(one, "bad_touch")
                await hearing.hears(uri)
                await listening.__aexit__(None, None, None)
                await connecting.__aexit__(None, None, None)
                await second.close()


async def test_subscriptions_go_on_after_a_server_has_gone(tmp_path: Path) -> None:
    path = tmp_path / "weather.py"
    made = f"made = weather({OLD!r})\nmade.add_tool(lambda: os._exit(3), name='end')\n"
    path.write_text("import os\n" + program("made").replace("made.run()", f"{made}made.run()"))
    uri = "data://bad/now"
    for spoken in (OLD, STATELESS):
        hearing = Hearing(spoken)
        with case(spoken):
            connecting = in_memory(hearing.client, between(str(path)))
            async with connecting as one, hearing.hearing(uri):
                await fails(one, "interrupted", "has gone before it answered", "bad_end")
                await text_of(one, "bad_forecast", **FORECAST)
                await hearing.hears(uri, "tool", "prompt", "resource")
                await text_of(one, "bad_touch")
                await hearing.hears(uri)
