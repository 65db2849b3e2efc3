"""Answers over HTTP for a client: whole, as streams, unreadable, and none before a time."""

import asyncio
import json
import logging
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.client.connect import open_http
from mcp_protogen.runtime.http.headers import retry_after
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.odd_servers import (
    BOTH,
    TEXT,
    Handshaking,
    Modern,
    Play,
    Reply,
    Request,
    answer,
    answer_call,
    calling,
    complete,
    connecting,
    either,
    failing,
    http_error,
    odd_server,
)
from support.sessions.talking import client, error, notification, pkg
from support.sessions.talking import request as request_as_json
from support.tables import case

STREAMS = pytest.mark.parametrize("streams", [False, True])
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
DONE = b"""{"jsonrpc":"2.0","id":%d,"result":{
    "content":[{"type":"text","text":"done"}],"resultType":"complete"}}""".replace(b"\n", b"")


def sending(*bodies: bytes, streams: bool) -> Play:
    """Answer calls with a body, or with events of a stream; `%d` in them becomes the id."""

    async def call(request: Request, reply: Reply) -> None:
        said = [body.replace(b"%d", b"%d" % request.id) for body in bodies]
        if not streams:
            await reply.send(200, b"".join(said))
            return
        await reply.stream()
        for body in said:
            await reply.raw(b"data: %b\n\n" % body)
        await reply.wait_until_gone()

    return call


class TestAnswers:
    @pytest.mark.shows("S3-13", "S3-14", "S3-19")
    @BOTH
    async def test_json_and_streams_are_understood(self, revision: str) -> None:
        async def stream(request: Request, reply: Reply) -> None:
            assert request.headers["accept"] == "application/json, text/event-stream"
            assert request.headers["content-type"] == "application/json"
            await reply.stream()
            await reply.event(notification("notifications/tools/list_changed"))
            await reply.event(answer(request, complete(request, TEXT)))

        await calling(either(answer_call, revision))
        await calling(either(stream, revision))

    async def test_a_content_type_may_have_parameters(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(200, answer(request, TEXT), "Application/JSON; charset=utf-8")

        await calling(Handshaking(call))

    @pytest.mark.parametrize("size", [1, 2, 7, 1000])
    @pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
    async def test_events_come_in_any_pieces(self, size: int, end: bytes) -> None:
        async def call(request: Request, reply: Reply) -> None:
            text = {"content": [{"type": "text", "text": "done"}, {"type": "text", "text": "é世"}]}
            data = f"data: {{}}\n: ping\n\ndata: {_json(answer(request, text))}\n\n".encode()
            await reply.stream()
            data = data.replace(b"\n", end)
            for at in range(0, len(data), size):
                await reply.raw(data[at : at + size])
                await asyncio.sleep(0)

        await calling(Handshaking(call))

    async def test_an_answer_is_taken_before_its_stream_has_ended(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.event(answer(request, TEXT))
            await reply.wait_until_gone()

        await calling(Handshaking(call))

    @pytest.mark.parametrize("status", [200, 400, 500])
    @pytest.mark.parametrize("id", [None, "server-error"])
    async def test_an_error_without_the_id_is_the_answer_to_what_was_posted(
        self, status: int, id: Any
    ) -> None:
        async def call(request: Request, reply: Reply) -> None:
            if request.method == "ping":
                await reply.send(200, answer(request, {}))
            else:
                await reply.send(status, error(id if status != 200 else None, -32000, "busy"))

        raised, _ = await failing(Handshaking(call), pytest.raises(pkg.McpError))
        assert (raised.code, raised.message) == (-32000, "busy")

    @BOTH
    @pytest.mark.parametrize("status", [200, 202, 204, 302, 400, 404, 409, 503])
    async def test_a_status_alone_fails_the_call(self, status: int, revision: str) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(status)

        raised, _ = await failing(either(call, revision), http_error(status))
        assert f"HTTP {status}" in str(raised)
        assert "tools/call" in str(raised)

    @pytest.mark.parametrize(
        ("value", "media", "message"),
        [
            (b"{", "application/json", "Parse error"),
            (b"<p>hello</p>", "text/html", "HTTP 200 does not answer tools/call"),
            (request_as_json("ping", 7), "application/json", "does not answer it"),
            (notification("x"), "application/json", "does not answer it"),
            ([], "application/json", "does not answer it"),
            (error("7", -5), "application/json", "with the id '7', which is not open"),
            (error(0, -5, "too long"), "application/json", r"the id 0.*'too long \(code -5\)'"),
        ],
    )
    async def test_a_body_that_holds_no_answer_fails_the_call(
        self, value: object, media: str, message: str
    ) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(200, value, media)

        await failing(Handshaking(call), pytest.raises(pkg.RemoteError, match=message))

    @STREAMS
    @pytest.mark.parametrize("revision", ["2025-06-18", STATELESS])
    async def test_an_array_fails_the_call_where_there_are_no_batches(
        self, revision: str, streams: bool
    ) -> None:
        call = sending(b"[" + DONE + b"]", streams=streams)
        play = Modern(call) if revision == STATELESS else Handshaking(call, version=revision)
        async with odd_server(play) as server, connecting(server.url, revision) as ours:
            with pytest.raises(pkg.RemoteError, match=f"{revision} has no batches"):
                await ours.call_tool("x")

    async def test_a_flood_of_rubbish_is_no_flood_of_log_entries(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.raw(b"data: {\n\n" * 2000)
            await reply.event(answer(request, TEXT))

        with caplog.at_level(logging.INFO, "mcp_protogen.runtime"):
            await calling(Handshaking(call))
        assert "(1000 of these within a minute" in caplog.text
        assert len(caplog.records) < 30

    async def test_error_quotes_part_of_response(self) -> None:
        async def call(request: Request, reply: Reply) -> None:
            await reply.send(503, b"down  for\nmaintenance" + b"!" * 1000, "text/plain")

        raised, _ = await failing(Handshaking(call), http_error(503))
        assert "HTTP 503 to POST tools/call: down for maintenance!" in str(raised)
        assert len(str(raised)) < 300

    @BOTH
    @STREAMS
    async def test_large_answer_is_refused(self, streams: bool, revision: str) -> None:
        call = sending(DONE.replace(b"done", b"x" * 10_000), streams=streams)
        async with odd_server(either(call, revision)) as server:
            opening = open_http(server.url, limit=1000)
            async with pkg.connect(opening, client(revision)) as ours:
                with pytest.raises(pkg.RemoteError, match="more than 1000 bytes"):
                    await ours.call_tool("x")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


class TestUnreadable:
    @STREAMS
    async def test_bodies_and_events_are_repaired(
        self, streams: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        body = b"\xef\xbb\xbf" + DONE.replace(b'"content"', b'"x":"\\ud83d","content"')
        await calling(Handshaking(sending(body, streams=streams)))
        assert "repaired a message that is not strict JSON" in caplog.text

    @STREAMS
    async def test_unreadable_answer_fails_its_call(self, streams: bool) -> None:
        bodies = [*[CHANGED] * streams, DONE.replace(b'"done"', b"NaN")]
        with pytest.raises(pkg.RemoteError, match=r"NaN is not JSON.*answer to tools/call"):
            await calling(Handshaking(sending(*bodies, streams=streams)))

    async def test_values_that_are_not_objects_are_not_errors_without_id(self) -> None:
        values = (b'["error"]', b'"error"', b"5")
        await calling(Handshaking(sending(*values, DONE, streams=True)))

    async def test_error_without_id_in_a_stream_is_that_of_the_request(self) -> None:
        body = _json(error(None, -32602, "too long")).encode()
        with pytest.raises(pkg.McpError, match="too long"):
            await calling(Handshaking(sending(body, streams=True)))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client would have waited each time."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds:
            waited.append(seconds)

    monkeypatch.setattr(http_request, "sleep", sleep)
    return waited


def busy(status: int, times: int = 1, value: object = None, **headers: str) -> Play:
    """Refuses the first calls with a status, and answers later ones."""
    left = [times]

    async def call(request: Request, reply: Reply) -> None:
        if left[0]:
            left[0] -= 1
            await reply.send(status, value, **headers)
        else:
            await answer_call(request, reply)

    return call


async def test_date_counts_from_the_date_of_the_answer(waits: list[float]) -> None:
    then = datetime(1999, 12, 31, 23, 59, 50, tzinfo=UTC)
    later = format_datetime(then + timedelta(seconds=12), usegmt=True)
    date = format_datetime(then, usegmt=True)
    await calling(Handshaking(busy(429, retry_after=later, date=date)))
    assert waits == [12]


async def test_server_that_asks_for_no_delay_is_asked_less_and_less_often(
    waits: list[float],
) -> None:
    await calling(Handshaking(busy(429, 3, retry_after="0")))
    assert waits == [0.1, 0.2, 0.4]


@pytest.mark.parametrize("status", [429, 503])
async def test_server_that_never_has_time_is_reported(status: int, waits: list[float]) -> None:
    raised, _ = await failing(Handshaking(busy(status, 4, retry_after="2")), http_error(status))
    assert (raised.retry_after, waits) == (2, [2, 2, 2])


async def test_429_without_a_time_is_tried_a_few_times(waits: list[float]) -> None:
    await calling(Handshaking(busy(429, 3)))
    assert waits == [1, 2, 4]
    waits.clear()
    raised, _ = await failing(Handshaking(busy(429, 4)), http_error(429))
    assert waits == [1, 2, 4]
    assert raised.retry_after is None


async def test_error_of_the_call_counts_whatever_the_status(waits: list[float]) -> None:
    async def call(request: Request, reply: Reply) -> None:
        await reply.send(429, error(request.id, -32602, "no"), retry_after="2")

    with pytest.raises(pkg.McpError, match="no"):
        await calling(Handshaking(call))
    assert not waits
    await calling(Handshaking(busy(429, 1, error(None, -32602, "later"), retry_after="2")))
    assert waits == [2]


@pytest.mark.parametrize("status", [500, 502, 503, 504])
async def test_other_failures_of_a_call_are_raised_at_once(status: int, waits: list[float]) -> None:
    _, requests = await failing(Handshaking(busy(status)), http_error(status))
    assert [request.method for request in requests].count("tools/call") == 1
    assert not waits


@BOTH
async def test_delay_beyond_the_timeout_fails_the_call_at_once(
    revision: str, waits: list[float]
) -> None:
    play = either(busy(429, 9, b"slow down", retry_after="31"), revision)
    options: JsonObject = {"timeout": 30, "timeouts": {}}
    raised, requests = await failing(play, http_error(429), options=options)
    assert [request.method for request in requests].count("tools/call") == 1
    assert (raised.retry_after, waits) == (31, [])


async def test_timeout_of_the_single_call_counts(waits: list[float]) -> None:
    play = Handshaking(busy(429, 4, retry_after="20"))
    async with odd_server(play) as server, connecting(server.url) as ours:
        with http_error(429):
            await ours.call_tool("x", timeout=19)
        assert not waits
        await ours.call_tool("x", timeout=600)
        assert set(waits) == {20}


async def test_handshake_waits_as_well(waits: list[float]) -> None:
    left = [1]

    async def play(request: Request, reply: Reply) -> None:
        if request.method == "initialize" and left:
            left.clear()
            await reply.send(503, error(request.id, -32000, "starting"), retry_after="2")
        else:
            await Handshaking()(request, reply)

    await calling(play)
    assert waits == [2]


@pytest.mark.parametrize(("seconds", "is_again"), [(2, True), (9.9, True), (10, False)])
async def test_notification_is_sent_again_after_less_than_ten_seconds(
    seconds: float, is_again: bool, waits: list[float]
) -> None:
    left = [1]

    async def play(request: Request, reply: Reply) -> None:
        if request.method == "notifications/initialized" and left:
            left.clear()
            await reply.send(429, retry_after=str(seconds))
        else:
            await Handshaking()(request, reply)

    requests = await calling(play)
    sent = [request.method for request in requests].count("notifications/initialized")
    assert (sent, waits) == ((2, [seconds]) if is_again else (1, []))


async def test_call_that_is_cancelled_is_not_sent_again() -> None:
    refused = asyncio.Event()

    async def call(request: Request, reply: Reply) -> None:
        refused.set()
        await reply.send(429, retry_after="0.2")

    async with odd_server(Handshaking(call)) as server, connecting(server.url) as ours:
        task = asyncio.create_task(ours.call_tool("x"))
        await refused.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.3)
        assert len(server.requests_of("POST", "tools/call")) == 1


def test_retry_after_is_read_as_seconds_or_date() -> None:
    date = "Sat, 01 Jan 2124 00:00:00 GMT"
    for value, seconds in [
        ("0", 0),
        (" 120 ", 120),
        ("1.5", 1.5),
        ("Sat, 01 Jan 2124 00:01:00 GMT", 60),
        ("Saturday, 01-Jan-24 00:00:00 GMT", 0),
        ("Fri, 31 Dec 2123 00:00:00 GMT", 0),
    ]:
        with case(value):
            assert retry_after(value, date) == seconds
    for malformed in ["", "-1", "soon", "1e3", "nan", "9" * 5000, "Sat, 99 Jan 2124", "1;2", None]:
        with case(malformed):
            assert retry_after(malformed, date) is None
    assert retry_after("Fri, 31 Dec 1999 00:00:00 GMT", "no date") == 0
    assert (retry_after(date) or 0) > 1e9
