"""Calls in a session: concurrent, timed out, cancelled, with progress and log entries."""

import asyncio
import contextlib
import math
from collections.abc import Sequence
from typing import Any

import pytest
from mcp_protogen.runtime.rpc.send_queue import SendQueue
from mcp_protogen.runtime.transports import memory
from mcp_revisions import client_of
from mcp_revisions.v2025_11_25 import Client, Server, Session
from mcp_revisions.v2025_11_25.models import CallToolRequestParams, LoggingMessageNotificationParams
from pydantic import ValidationError
from support.json_types import JsonObject
from support.revisions import HANDSHAKE, OLD, REVISIONS, STATELESS
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    content_of,
    discover_result,
    models,
    notification,
    pkg,
    request,
    shaken,
    tools,
    welcome,
)
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time


def connect(server: Any, ours: Any = None, **options: Any) -> Any:
    ours = ours or client(server.TABLE.revision)
    return pkg.connect_in_memory(ours, server, options=pkg.Options(**options))


class TestSideBySide:
    @pytest.mark.shows("S2-38", "S4-26")
    async def test_a_failing_handler_harms_no_other_and_says_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> object:
            match params.name:
                case "crash":
                    raise RuntimeError("the password is hunter2")
                case "chosen":
                    raise pkg.McpError(-5, "not today", {"retry": True})
                case "wrong":
                    return 5
                case _:
                    return "fine"

        async with shaken(tools(OLD, call)) as hand:
            for name in ("crash", "wrong"):
                refused = await hand.ask("tools/call", 1, name=name)
                assert refused["error"] == {"code": -32603, "message": "Internal error"}
            refused = await hand.ask("tools/call", 1, name="chosen")
            described = {"code": -5, "message": "not today", "data": {"retry": True}}
            assert refused["error"] == described
            assert "result" in await hand.ask("tools/call", 1, name="x")
        assert "hunter2" in caplog.text

    async def test_reading_pauses_while_too_much_waits(self) -> None:
        gate = asyncio.Event()

        async def call(session: Session, params: CallToolRequestParams) -> str:
            await gate.wait()
            return "done"

        async with shaken(tools(OLD, call), max_in_flight=1, max_waiting=2) as hand:
            for id in range(1, 6):
                await hand.send(request("tools/call", id, name="x"))
            await hand.send(request("ping", 99))
            assert await hand.is_silent()
            gate.set()
            answers = [await hand.take() for _ in range(6)]
            assert [answer["id"] for answer in answers] == [1, 2, 3, 4, 5, 99]

    async def test_while_an_answer_is_awaited_reading_goes_on_and_the_rest_is_refused(self) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> str:
            roots = await session.list_roots()
            return str(len(roots.roots))

        async with shaken(tools(OLD, call), max_in_flight=1, max_waiting=1) as hand:
            for id in (1, 2, 3):
                await hand.send(request("tools/call", id, name="x"))
            asked: Any = await hand.take()
            refused = await hand.take()
            assert (refused["id"], refused["error"]["code"]) == (3, -32603)
            for _ in range(2):
                result: Any = {"roots": []}
                await hand.send({"jsonrpc": "2.0", "id": asked["id"], "result": result})
                assert "result" in await hand.take()
                asked = await hand.take() if _ == 0 else None

    async def test_a_peer_that_does_not_read_makes_senders_wait(self) -> None:
        sent = 0

        async def call(session: Session, params: CallToolRequestParams) -> str:
            nonlocal sent
            for number in range(10_000):
                await session.log("info", number)
                sent += 1
            return "done"

        server = tools(OLD, call, SENDS=frozenset({"notifications/message"}))
        async with shaken(server, max_outgoing=10, drain=0.05) as hand:
            await hand.send(request("tools/call", 1, name="x"))
            stalled = 0
            while not sent or sent != stalled:
                stalled = sent
                await asyncio.sleep(0.05)
            assert stalled < 5_000


class TestTimeouts:
    async def never(self, session: Session, params: CallToolRequestParams) -> str:
        await asyncio.sleep(60)
        return "never"

    @pytest.mark.shows("S1-34", "S1-35")
    @pytest.mark.parametrize("revision", REVISIONS)
    async def test_S1_34_S1_35_a_call_that_takes_too_long_is_given_up_and_the_peer_told(
        self, revision: str
    ) -> None:
        heard: list[Any] = []

        async def play(hand: Hand) -> None:
            first = await hand.take()
            if revision not in HANDSHAKE:
                await hand.send(discover_result(first["id"], revision, tools={}))
            else:
                await hand.send(welcome(first["id"], revision, tools={}))
            while (message := await hand.take()) is not None:
                heard.append(message)

        async with pkg.connect(Accepting(play), client(revision)) as ours:
            with pytest.raises(pkg.RequestTimeout, match=r"tools/call .* 0.03 s"):
                await ours.call_tool("x", timeout=0.03)
            await asyncio.sleep(0.02)
        *_, asked, told = heard
        assert told["method"] == "notifications/cancelled"
        assert told["params"]["requestId"] == asked["id"]
        assert "0.03 s" in told["params"]["reason"]

    @pytest.mark.shows("S1-33", "S1-36", "S1-40", "S2-49")
    async def test_S1_36_each_call_has_its_own_and_a_method_its_default(self) -> None:
        options = pkg.Options()
        table = pkg.load(OLD).methods
        assert options.patience(table.CALL_TOOL, {}).timeout == 60
        assert options.patience(table.PING, {}).timeout == 5
        assert options.patience(table.CREATE_MESSAGE, {}).timeout == 120
        assert options.patience(table.READ_RESOURCE, {}).timeout == 30
        assert options.initialize_timeout == 30
        assert options.patience(table.PING, {"timeout": 1}).timeout == 1
        listen = pkg.load(STATELESS).methods.SUBSCRIPTIONS_LISTEN
        assert options.patience(listen, {}).timeout == float("inf")
        async with connect(tools(OLD, self.never), timeouts={"tools/call": 0.02}) as ours:
            with pytest.raises(pkg.RequestTimeout):
                await ours.call_tool("x")

    async def reporting(self, session: Session, params: CallToolRequestParams) -> str:
        for number in range(40):
            await session.progress(number)
            await asyncio.sleep(0.02)
        return "done"

    @pytest.mark.shows("S1-37")
    async def test_S1_37_progress_may_start_the_time_anew(self) -> None:
        server = tools(OLD, self.reporting)
        async with connect(server, progress_interval=0) as ours:
            told: list[Any] = []
            limits = {"timeout": 0.5, "on_progress": told.append}
            result = await ours.call_tool("x", reset_on_progress=True, **limits)
            assert result.content[0].text == "done"
            with pytest.raises(pkg.RequestTimeout, match=r"0\.5 s"):
                await ours.call_tool("x", **limits)

    @pytest.mark.shows("S1-38", "S1-39")
    async def test_S1_38_a_maximum_applies_whatever_is_reported(self) -> None:
        server = tools(OLD, self.reporting)
        async with connect(server, progress_interval=0) as ours:
            with pytest.raises(pkg.RequestTimeout, match=r"0\.6 s"):
                await ours.call_tool(
                    "x", timeout=0.5, max_timeout=0.6, reset_on_progress=True, on_progress=print
                )

    async def test_timed_out_request_is_dropped_from_queue(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        heard, reading = list[Any](), asyncio.Event()

        async def play(hand: Hand) -> None:
            await hand.send(welcome((await hand.take())["id"], tools={}))
            await reading.wait()
            while (message := await hand.take()) is not None:
                heard.append(message)

        monkeypatch.setattr(memory, "_MOST", 1)
        options = pkg.Options(max_outgoing=1)
        async with pkg.connect(Accepting(play), client(OLD), options=options) as ours:
            calls = [ours.call_tool(name, timeout=0.05) for name in "abcde"]
            outcomes = await asyncio.gather(*calls, return_exceptions=True)
            assert all(isinstance(outcome, pkg.RequestTimeout) for outcome in outcomes)
            reading.set()
            await asyncio.sleep(0.05)
        names = [message["params"]["name"] for message in heard if "id" in message]
        assert names == ["a", "b"]
        told = [message["method"] for message in heard if "id" not in message]
        assert told == ["notifications/initialized", *["notifications/cancelled"] * 2]


class TestCancellation:
    @pytest.mark.parametrize("revision", REVISIONS)
    async def test_cancelling_a_call_stops_the_handler_and_nothing_is_answered(
        self, revision: str
    ) -> None:
        stopped = asyncio.Event()
        travelled: list[Any] = []

        async def wait(session: Session, params: CallToolRequestParams) -> str:
            if params.name == "fine":
                return "fine"
            try:
                await asyncio.sleep(60)
            finally:
                await session.progress(1)
                stopped.set()
            return "never"

        ours = client(revision)
        server = tools(revision, wait)

        def tap(sender: str, data: bytes) -> None:
            travelled.append((sender, data))

        async with pkg.connect_in_memory(ours, server, tap=tap):
            told: list[Any] = []
            call = ours.call_tool("x", on_progress=told.append)
            task = asyncio.create_task(call)
            await asyncio.sleep(0.02)
            travelled.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            await stopped.wait()
            await asyncio.sleep(0.01)
            assert told == []
            assert [sender for sender, _ in travelled] == ["client"]
            assert b"notifications/cancelled" in travelled[0][1]
            assert content_of(await ours.call_tool("fine"))[0].text == "fine"

    async def test_a_request_that_waits_its_turn_can_be_cancelled(self) -> None:
        gate = asyncio.Event()
        began: list[str] = []

        async def call(session: Session, params: CallToolRequestParams) -> str:
            began.append(params.name)
            await gate.wait()
            return "done"

        async with shaken(tools(OLD, call), max_in_flight=1) as hand:
            await hand.send(request("tools/call", 1, name="a"), request("tools/call", 2, name="b"))
            await hand.send(notification("notifications/cancelled", requestId=2, reason="r"))
            await hand.send(notification("notifications/cancelled", requestId=77))
            await asyncio.sleep(0.01)
            gate.set()
            assert (await hand.take())["id"] == 1
            assert await hand.is_silent()
        assert began == ["a"]

    async def test_handler_of_cancellations_is_told_of_each_that_counts(self) -> None:
        told: list[object] = []

        async def call(session: Session, params: CallToolRequestParams) -> str:
            await asyncio.Event().wait()
            return ""

        async def on_cancelled(_: object, session: Session, params: Any) -> None:
            told.append(params.request_id)

        async with shaken(tools(OLD, call, on_cancelled=on_cancelled)) as hand:
            await hand.send(request("tools/call", 1, name="x"))
            await asyncio.sleep(0.01)
            await hand.send(notification("notifications/cancelled", requestId=1))
            while not told:
                await asyncio.sleep(0)
        assert told == [1]

    async def test_a_member_of_a_batch_that_is_cancelled_is_left_out_of_the_answer(self) -> None:
        revision = "2025-03-26"

        async def call(session: Session, params: CallToolRequestParams) -> str:
            await asyncio.sleep(60 if params.name == "slow" else 0)
            return "done"

        async with shaken(tools(revision, call), revision) as hand:
            await hand.send(
                [request("tools/call", 1, name="slow"), request("tools/call", 2, name="x")]
            )
            await asyncio.sleep(0.01)
            await hand.send(notification("notifications/cancelled", requestId=1))
            assert [message["id"] for message in await hand.take()] == [2]
            await hand.send([request("tools/call", 1, name="slow"), notification("x")])
            await asyncio.sleep(0.01)
            await hand.send(notification("notifications/cancelled", requestId=1))
            assert await hand.is_silent()


class TestProgress:
    async def test_progress_belongs_to_request_and_only_grows(self) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> str:
            for done in (1, 2, 2, 1, 3):
                await session.progress(done, 3, f"at {done}")
            return "done"

        for revision in REVISIONS:
            with case(revision):
                server = tools(revision, call)
                async with connect(server, progress_interval=0) as ours:
                    told: list[Any] = []
                    await ours.call_tool("x", on_progress=told.append)
                    words = [None] * 3 if revision == "2024-11-05" else ["at 1", "at 2", "at 3"]
                    expected = [pkg.Progress(done, 3, words[done - 1]) for done in (1, 2, 3)]
                    assert told == expected
                    await ours.call_tool("x")
                    assert told == expected

    async def test_progress_is_throttled_except_the_last(self) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> str:
            for done in range(1, 1001):
                await session.progress(done, int(params.name))
            return "done"

        async with connect(tools(OLD, call), progress_interval=10) as ours:
            for total, expected in (("1000", [1, 1000]), ("2", [1, 2, 1000]), ("0", [1, 1000])):
                told: list[Any] = []
                await ours.call_tool(total, on_progress=told.append)
                assert [progress.done for progress in told] == expected

    async def test_a_wrong_report_fails_where_it_is_made_and_harms_no_answer(self) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> str:
            await session.progress(1)
            reports: list[JsonObject] = [
                {"done": 2, "message": 5},
                {"done": 2, "total": "x"},
                {"done": math.nan},
            ]
            for wrong in reports:
                with pytest.raises(ValidationError):
                    await session.progress(**wrong)
            await session.progress(2)
            if params.name == "surrogate":
                await session.progress(3, message="cut \ud800")
            return str(params.name)

        async with connect(tools(OLD, call), progress_interval=10) as ours:
            for name, expected in (("x", [1, 2]), ("surrogate", [1, 3])):
                told: list[Any] = []
                result = await ours.call_tool(name, on_progress=told.append)
                assert result.content[0].text == name
                assert [progress.done for progress in told] == expected
        assert told[-1].message == "cut \ufffd"

    async def test_error_of_handler_is_kept_after_client_is_gone(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        gone = asyncio.Event()

        async def call(session: Session, params: CallToolRequestParams) -> str:
            await session.progress(1)
            await session.progress(2)
            await gone.wait()
            with contextlib.suppress(pkg.Disconnected):
                while True:
                    await session.ping()
            raise RuntimeError("on the way")

        async with shaken(tools(OLD, call), progress_interval=10) as hand:
            await hand.ask("tools/call", 1, name="x", _meta={"progressToken": "t"})
            await hand.transport.close()
            gone.set()
        assert "on the way" in caplog.text

    async def test_a_callback_may_be_a_coroutine_and_may_fail(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        told = asyncio.Event()

        async def call(session: Session, params: CallToolRequestParams) -> str:
            await session.progress(1)
            return "done"

        async def later(progress: Any) -> None:
            told.set()

        def failing(progress: Any) -> None:
            raise RuntimeError("in the callback")

        async with connect(tools(OLD, call)) as ours:
            await ours.call_tool("x", on_progress=later)
            await told.wait()
            assert await ours.call_tool("x", on_progress=failing)
        assert "in the callback" in caplog.text


class TestLogging:
    async def speak(self, session: Session, params: CallToolRequestParams) -> str:
        for level in ("debug", "info", "error"):
            await session.log(level, {"level": level}, "ours")
        return "done"

    def server(self, revision: str) -> Any:
        return tools(revision, self.speak, SENDS=frozenset({"notifications/message"}))

    def listener(self, revision: str, heard: list[str]) -> Any:
        async def on_logging_message(
            self: object, params: LoggingMessageNotificationParams
        ) -> None:
            assert params.logger == "ours"
            heard.append(params.level)

        return client(revision, on_logging_message=on_logging_message)

    async def test_a_client_sets_the_level(self) -> None:
        for revision in HANDSHAKE:
            with case(revision):
                heard: list[str] = []
                ours = self.listener(revision, heard)
                async with connect(self.server(revision), ours):
                    assert ours.server_capabilities.to_wire() == {"logging": {}, "tools": {}}
                    await ours.call_tool("x")
                    assert heard == ["debug", "info", "error"]
                    await ours.set_level("warning")
                    await ours.call_tool("x")
                    assert heard == ["debug", "info", "error", "error"]

    async def test_a_server_that_does_not_declare_it_does_not_log_and_says_so_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        for revision in (OLD, STATELESS):
            with case(revision):
                caplog.clear()
                heard: list[str] = []
                ours = self.listener(revision, heard)
                meta = models(STATELESS).RequestMetaObject(log_level="debug")
                told: Any = {} if revision == OLD else {"meta": meta}
                async with connect(tools(revision, self.speak), ours):
                    assert content_of(await ours.call_tool("x", **told))[0].text == "done"
                assert heard == []
                (record,) = caplog.records
                assert record.levelname == "WARNING"
                advice = 'write SENDS = frozenset({"notifications/message"}) in the class'
                assert advice in record.getMessage()

    async def test_unserialisable_log_entry_is_not_sent(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def call(session: Session, params: CallToolRequestParams) -> str:
            await session.log("info", object())
            return "done"

        server = tools(OLD, call, SENDS=frozenset({"notifications/message"}))
        async with connect(server) as ours:
            assert content_of(await ours.call_tool("x"))[0].text == "done"
        assert "a log entry was not sent" in caplog.text


class Writer:
    """A writer whose `send` waits for room, and which writes at once all the same."""

    def __init__(self) -> None:
        self.written: list[bytes] = []
        self.room = asyncio.Event()

    async def send(self, messages: Sequence[bytes]) -> None:
        await self.room.wait()
        self.written += messages

    def write_now(self, messages: Sequence[bytes]) -> bool:
        self.written += messages
        return True


async def test_no_message_overtakes_those_that_wait() -> None:
    writer = Writer()
    queue = SendQueue(writer, 10)
    running = asyncio.create_task(queue.run())
    assert queue.put_now(b"1")
    queue.put(b"2")
    assert not queue.put_now(b"in the queue")
    await asyncio.sleep(0)
    assert not queue.put_now(b"being sent")
    writer.room.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert queue.put_now(b"3")
    queue.end()
    assert not queue.put_now(b"after the end")
    await running
    assert writer.written == [b"1", b"2", b"3"]


async def test_a_lone_call_and_its_answer_are_written_at_once() -> None:
    senders: list[str] = []
    async with client_of(Server(), Client(), tap=lambda sender, _: senders.append(sender)) as one:
        await one.ping()
        senders.clear()
        call = asyncio.create_task(one.ping())
        await asyncio.sleep(0)
        assert senders == ["client"]
        # The message is delivered; then the handler begins.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert senders == ["client", "server"]
        await call
