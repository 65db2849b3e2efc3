"""Answers over HTTP for a client, whole and as streams."""

import asyncio
import json
import logging
from typing import Any

import pytest
from mcp_protogen.runtime.http.client.connect import open_http
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

STREAMS = pytest.mark.parametrize("streams", [False, True])
CHANGED = b'{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}'
DONE = b"""{"jsonrpc":"2.0","id":%d,"result":{
    "content":[{"type":"text","text":"done"}],"resultType":"complete"}}""".replace(b"\n", b"")


def sending(*bodies: bytes, streams: bool) -> Play:
    """Answer calls with a body, or with events of a stream; `%d` in them becomes the id."""

    async def call(request: Request, reply: Reply) -> None:
        said = [body.replace(b"%d", b"%d" % request.id) for body in bodies]
        if not streams:
            await reply.send(200, *said)
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
    async def test_bodies_and_events_are_repaired(self, streams: bool) -> None:
        await calling(Handshaking(sending(b"\xef\xbb\xbf" + DONE, streams=streams)))

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
