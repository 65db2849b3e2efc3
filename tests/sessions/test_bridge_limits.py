"""Limits of a bridge: it stops no running work, asks no wrong client, and keeps no ended work."""

import asyncio
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import json_text
from mcp_protogen.runtime.features.bridge import forwarded_request
from mcp_protogen.runtime.features.bridge.proxies import ProxyServerRuntime
from mcp_protogen.runtime.http.client.outgoing import message_of
from mcp_protogen.runtime.transports import memory
from mcp_revisions.v2025_11_25 import Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams
from support.revisions import ERAS, OLD
from support.sessions.bridging import (
    answer_questions,
    call_until_asked,
    call_x,
    serve_bridged,
    text_of,
)
from support.sessions.talking import (
    META,
    Accepting,
    Hand,
    ask_form,
    modern,
    notification,
    request,
    tools,
)
from support.sessions.wiretap import ID, agree, result, shake, stream, until

# All is in memory.
pytestmark = pytest.mark.skips_time


def question_of(asked: Any) -> str:
    """The only question of a result."""
    (question,) = asked["inputRequests"].values()
    return str(question["params"]["message"])


async def test_a_carried_notification_keeps_its_params_whatever_its_name_ends_with() -> None:
    told = [notification(f"{name}/list_changed", n=3) for name in ("notifications/b", "c")]

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, extensions={"a/b": {}})
        asked = await hand.take()
        await hand.send(*told, result(asked["id"]))
        await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        await hand.greet()
        await hand.send(request("b/do", 2))
        assert [await hand.take() for _ in told] == told
        await hand.take()


async def test_notification_of_listen_stream_names_the_stream_of_the_client() -> None:
    async def play(hand: Hand) -> None:
        await agree(hand, tools={"listChanged": True}, extensions={"a/b": {}})
        stream_id, _ = await stream(hand)
        await hand.send(notification("notifications/b", n=3, _meta={ID: stream_id, "m": 4}))
        await hand.send(notification("notifications/b", n=4, _meta={"m": 5}))
        await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        await hand.send(
            modern("subscriptions/listen", 78, notifications={"toolsListChanged": True})
        )
        assert (await hand.take())["params"]["_meta"] == {ID: 78}
        assert (await hand.take())["params"] == {"n": 3, "_meta": {ID: 78, "m": 4}}
        assert (await hand.take())["params"] == {"n": 4, "_meta": {"m": 5}}


async def test_no_method_of_a_peer_writes_lines_of_its_own_into_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    evil = "evil\nCRITICAL \x1b[31m" + "x" * 1000

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, extensions={"a/b": {}})
        await hand.take()
        await hand.send(request(evil, 7))
        await hand.take()

    async with serve_bridged(Accepting(play)) as hand:
        await hand.greet()
        await hand.send(request("b/do", 2))
        assert (await hand.take())["method"] == evil
    assert all(message.isprintable() and len(message) < 300 for message in caplog.messages)
    assert message_of(json_text(request(evil))).name.isprintable()


async def test_a_notification_for_a_client_that_has_gone_is_no_fault(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told = asyncio.Event()

    async def play(hand: Hand) -> None:
        await shake(hand, tools={}, extensions={"a/b": {}})
        await hand.take()
        await hand.send(*[notification("notifications/b")] * 2000)
        told.set()
        await hand.take()

    async with serve_bridged(Accepting(play), max_outgoing=5) as hand:
        await hand.greet()
        await hand.send(request("b/do", 2))
        await told.wait()
    assert "failed" not in caplog.text


async def test_a_question_goes_to_a_request_whose_client_is_there() -> None:
    go, begun = asyncio.Event(), asyncio.Event()

    async def call(session: Session, params: CallToolRequestParams) -> str:
        if params.name == "there":
            begun.set()
            await go.wait()
        return f"{params.name} {await ask_form(session, params.name)}"

    async with serve_bridged(tools(OLD, call)) as hand:
        await hand.send(call_x(1, "there"))
        await begun.wait()
        # The later one is likelier, but its client has gone to find an answer.
        waiting = await call_until_asked(hand, 2, name="waiting")
        assert question_of(waiting) == "waiting"
        go.set()
        said = await hand.take()
        assert (said["id"], question_of(said["result"])) == (1, "there")
        for name, asked in (("waiting", waiting), ("there", said["result"])):
            await hand.send(call_x(3, name, **answer_questions(asked, "yes")))
            assert await text_of(hand) == f"{name} yes"


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return all servers' halves of bridges, as they are made."""
    made: list[object] = []
    begin = ProxyServerRuntime.__init__

    def record_begin(self: Any, owner: Any) -> None:
        begin(self, owner)
        made.append(self)

    monkeypatch.setattr(ProxyServerRuntime, "__init__", record_begin)
    return made


@pytest.mark.parametrize("revision", ERAS)
async def test_cancelled_requests_leave_nothing_behind(proxies: list[Any], revision: str) -> None:
    log: list[str] = []

    async def call(session: Session, params: CallToolRequestParams) -> str:
        log.append("run")
        try:
            return str(await asyncio.Event().wait())
        finally:
            log.append("stopped")

    def cancel(id: int) -> Any:
        return notification("notifications/cancelled", requestId=id)

    old = revision == OLD
    async with serve_bridged(tools(OLD, call)) as hand:
        if old:
            await hand.greet()
        asked = [request("tools/call", id, name="x") if old else call_x(id) for id in (1, 2, 3)]
        await hand.send(*asked[:2])
        await until(lambda: log == ["run", "run"])
        (server,) = proxies
        assert len(server._open_contexts()) == 2
        await hand.send(cancel(1), cancel(2), asked[2], cancel(3))
        await until(
            lambda: log.count("stopped") == log.count("run") and not server._open_contexts()
        )
        assert await hand.is_silent()
        assert not server._open_contexts()
        assert not server._forwarded


async def test_a_question_that_was_withdrawn_is_not_put_to_the_client() -> None:
    withdrawn = asyncio.Event()

    async def hasty(session: Any) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(ask_form(session, "two"), 0.05)
        withdrawn.set()

    async def call(session: Session, params: CallToolRequestParams) -> str:
        beside = asyncio.create_task(hasty(session))
        said = await ask_form(session, "one")
        await beside
        return said

    async with serve_bridged(tools(OLD, call)) as hand:
        asked = await call_until_asked(hand, 1)
        assert question_of(asked) == "one"
        await withdrawn.wait()
        assert await hand.is_silent()
        await hand.send(call_x(2, **answer_questions(asked)))
        assert await text_of(hand) == "y"


async def test_of_progress_only_the_newest_reports_are_kept_for_a_client_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = asyncio.Event()
    more: list[int] = []

    async def play(hand: Hand) -> None:
        await shake(hand, tools={})
        asked = await hand.take()
        token = asked["params"]["_meta"]["progressToken"]
        before = len(asyncio.all_tasks())
        for done in range(50):
            step = {"progressToken": token, "progress": done}
            await hand.send(notification("notifications/progress", **step))
        # Once that is answered, all before it has come.
        await hand.ask("ping", 7)
        more.append(len(asyncio.all_tasks()) - before)
        await hand.send(result(asked["id"], content=[]))
        told.set()
        await hand.take()

    monkeypatch.setattr(memory, "_MOST", 1)
    monkeypatch.setattr(forwarded_request, "_MOST_REPORTS", 16)
    async with serve_bridged(Accepting(play), max_outgoing=1) as hand:
        await hand.send(modern("tools/call", 1, name="x", _meta={**META, "progressToken": "t"}))
        await told.wait()
        steps: list[int] = []
        while "params" in (said := await hand.take()):
            steps.append(said["params"]["progress"])
        assert said["result"]["content"] == []
        assert (len(steps) < 30, steps[-16:]) == (True, [*range(34, 50)])
    assert more[0] <= 1
