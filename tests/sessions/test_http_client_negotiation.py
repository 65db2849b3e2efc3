"""A client and a server that it knows only by URL, and every answer to the probe.

Tests carry the ids of the decision tables' rows. The table of probe answers over HTTP has the rows
PH01, PH02, PH03, PH04, PH05, PH07, PH09, PH10 and PH12.
"""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import is_object
from mcp_protogen.runtime.core.spec import EraName
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.client import transport
from mcp_protogen.runtime.rules.client_negotiation import Ask, NegotiatedRevision, Negotiation
from mcp_protogen.runtime.rules.server_negotiation import Offer
from mcp_protogen.servers.connect.traffic import tap_opener
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.odd_servers import (
    TEXT,
    Handshaking,
    Modern,
    Play,
    Reply,
    Request,
    answer,
    answer_call,
    complete,
    connecting,
    http_error,
    odd_server,
)
from support.sessions.probe_answers import (
    DISCOVERED,
    FOLLOWS,
    GIVES_UP,
    HANDSHAKE,
    NEW,
    ONCE_MORE,
    OVER_HTTP,
    OVER_STDIO,
    RESTARTS,
    SPEAKS,
    WAITS,
    WAITS_IN_VAIN,
    Http,
    Row,
)
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    content_of,
    discover_result,
    error,
    pkg,
    welcome,
)
from support.tables import case


def requested_methods(server: Any) -> list[str]:
    """Return the requests to the server in order, up to the end of the handshake."""
    return [request.method or request.verb for request in server.requests]


def refusing_discover(status: int, value: Any = None) -> Play:
    """Return a server of the handshake era with this answer to the probe."""
    known = Handshaking()

    async def play(request: Request, reply: Reply) -> None:
        if request.method == "server/discover":
            await reply.send(status, value)
        else:
            await known(request, reply)

    return play


async def agreeing(play: Play, revision: str, *allowed: str, **more: Any) -> list[str]:
    """Connect, and call a tool in the negotiated revision; return the requests to the server."""
    async with odd_server(play) as server, connecting(server.url, *allowed, **more) as ours:
        assert ours.revision == revision
        assert content_of(await ours.call_tool("x"))[0].text == "done"
        return requested_methods(server)


async def failing(play: Play, raises: Any, *revisions: str, **more: Any) -> tuple[Any, list[str]]:
    """Connect in vain; return the error, and the requests to the server."""
    async with odd_server(play) as server:
        with raises as caught:
            async with connecting(server.url, *revisions, **more):
                raise AssertionError("connected")
        return caught.value, requested_methods(server)


class TestEra:
    async def test_PH06_SC09_a_method_that_a_new_server_lacks_says_nothing_about_its_era(
        self,
    ) -> None:
        async def lacking(request: Request, reply: Reply) -> None:
            if request.value["params"]["name"] == "lacking":
                await reply.send(404, error(request.id, -32601, "no tools"))
            else:
                await answer_call(request, reply)

        async with odd_server(Modern(lacking)) as server, connecting(server.url) as ours:
            with pytest.raises(pkg.McpError, match="no tools"):
                await ours.call_tool("lacking")
            await ours.call_tool("x")
            assert requested_methods(server) == ["server/discover", "tools/call", "tools/call"]

    async def test_PH08_who_knows_no_old_revision_is_told_what_the_server_said(self) -> None:
        play = refusing_discover(404)
        raised, seen = await failing(play, pytest.raises(pkg.NegotiationError), STATELESS)
        assert f"the client allows {STATELESS}" in str(raised)
        assert "HTTP 404 to POST server/discover" in str(raised)
        assert seen == ["server/discover"]

    @pytest.mark.parametrize(
        ("status", "value", "raises", "text"),
        [
            (400, error(0, -32602, "too new"), pkg.McpError, "too new"),
            (502, {"why": 1}, pkg.HttpError, 'HTTP 502 to POST initialize: {"why": 1'),
            (200, welcome(0, "1999-01-01"), pkg.NegotiationError, "no revision in common"),
            (0, None, pkg.Disconnected, "POST http://127.0.0.1"),
        ],
    )
    async def test_PH11_failures_of_both_probe_and_handshake_are_told(
        self, status: int, value: Any, raises: type[Exception], text: str
    ) -> None:
        async def play(request: Request, reply: Reply) -> None:
            if request.method != "initialize":
                await reply.send(500, b"no handler", "text/plain")
            elif status:
                await reply.send(status, {**value, "id": request.id})
            else:
                reply.hang_up()
                reply.closing = True

        raised, seen = await failing(play, pytest.raises(raises))
        assert text in str(raised)
        assert str(raised).endswith("; before that, HTTP 500 to POST server/discover: no handler")
        assert seen[:2] == ["server/discover", "initialize"]

    @pytest.mark.parametrize("status", [500, 502, 503])
    async def test_PH11_server_that_fails_is_reported_by_a_client_without_handshake(
        self, status: int
    ) -> None:
        _, seen = await failing(refusing_discover(status), http_error(status), STATELESS)
        assert seen == ["server/discover"]

    @pytest.mark.parametrize(
        ("server", "revisions"),
        [(Modern(), [STATELESS]), (Modern(), []), (Handshaking(), [])],
        ids=["new", "new to both", "old to both"],
    )
    async def test_PH11_a_server_may_take_its_time_to_start(
        self, server: Play, revisions: list[str]
    ) -> None:
        async def slow(request: Request, reply: Reply) -> None:
            if request.method == "server/discover":
                await asyncio.sleep(0.05)
            await server(request, reply)

        revision = STATELESS if isinstance(server, Modern) else OLD
        seen = await agreeing(slow, revision, *revisions, options={"probe_timeout": 0.01})
        assert seen.count("server/discover") == 1

    async def test_PH11_a_server_that_cannot_be_reached_is_of_no_era(self) -> None:
        async with odd_server(Modern()) as server:
            url = server.url
        with pytest.raises(pkg.Disconnected, match=r"POST http://127\.0\.0\.1:\d+/mcp: "):
            async with connecting(url):
                raise AssertionError("connected")

    def test_PH11_a_connection_that_ends_is_not_made_again_in_another_way(self) -> None:
        both: dict[str, EraName] = {OLD: "handshake", STATELESS: "stateless"}
        negotiation = Negotiation(Offer(both), over_http=True)
        assert negotiation.start() == Ask("server/discover", STATELESS)
        assert isinstance(negotiation.next(pkg.Disconnected("the end")), pkg.Disconnected)

    async def test_PH11_what_was_negotiated_is_not_put_aside_for_trouble(self) -> None:
        known = NegotiatedRevision(STATELESS, "stateless")
        _, seen = await failing(refusing_discover(503), http_error(503), negotiated=known)
        assert seen == ["server/discover"]

    async def test_PH12_redirects_without_end_are_reported(self) -> None:
        async def play(request: Request, reply: Reply) -> None:
            await reply.send(307, location=request.path + "x")

        _, seen = await failing(play, http_error(307))
        assert len(seen) == 6


class Old:
    """A server of HTTP+SSE: its stream names the URI that takes messages."""

    def __init__(self, status: int = 405, endpoint: str = "/messages?session=1") -> None:
        self.status = status
        self.endpoint = endpoint
        self.streams: list[Reply] = []
        self.opened = asyncio.Event()

    async def __call__(self, request: Request, reply: Reply) -> None:
        if request.verb == "GET":
            await reply.stream()
            await reply.raw(f"event: endpoint\ndata: {self.endpoint}\n\n".encode())
            self.streams.append(reply)
            await reply.wait_until_gone()
        elif request.path.startswith("/mcp"):
            await reply.send(self.status)
        else:
            await self.post(request, reply)

    async def post(self, request: Request, reply: Reply) -> None:
        assert request.path == "/messages?session=1"
        await reply.send(202)
        if request.method == "initialize":
            await self.say(welcome(request.id, "2024-11-05", tools={}))
        elif "id" in request.value:
            await self.say(answer(request, TEXT))

    async def say(self, message: object) -> None:
        await self.streams[-1].event(message, event="message")


class TestOldTransport:
    """How the transport of the first revision is found and used."""

    @pytest.mark.shows("S0-41", "S3-52", "S3-53", "S3-54")
    async def test_LF02_LF04_LF05_it_is_found_and_used(self) -> None:
        for status in [400, 404, 405, 500, 501, 502]:
            with case(status):
                async with (
                    odd_server(Old(status)) as server,
                    connecting(server.url, "2024-11-05", STATELESS) as ours,
                ):
                    assert ours.revision == "2024-11-05"
                    result = await ours.call_tool("x")
                    assert content_of(result)[0].text == "done"
                    assert requested_methods(server) == [
                        "server/discover",
                        "initialize",
                        "GET",
                        "initialize",
                        "notifications/initialized",
                        "tools/call",
                    ]
                    (get,) = server.requests_of("GET")
                    assert (get.path, get.headers["accept"]) == ("/mcp", "text/event-stream")

    async def test_old_sse_messages_come_on_single_stream(self) -> None:
        old = Old()
        async with odd_server(old) as server, connecting(server.url, "2024-11-05") as ours:
            await old.say({"jsonrpc": "2.0", "id": 0, "method": "ping"})
            while not server.requests_of("POST", ""):
                await asyncio.sleep(0)
            assert server.requests_of("POST", "")[0].value == {
                "jsonrpc": "2.0",
                "id": 0,
                "result": {},
            }
            assert ours.revision == "2024-11-05"

    async def test_the_end_of_its_stream_ends_the_connection(self) -> None:
        class Ending(Old):
            async def post(self, request: Request, reply: Reply) -> None:
                if request.method != "tools/call":
                    await super().post(request, reply)
                    return
                await reply.send(202)
                self.streams[-1].hang_up()

        async with odd_server(Ending()) as server, connecting(server.url, "2024-11-05") as ours:
            for _ in range(2):
                with pytest.raises(pkg.Disconnected, match="ended its stream"):
                    await ours.call_tool("x")

    async def test_a_message_that_it_does_not_take_fails_its_call_alone(self) -> None:
        class Refusing(Old):
            async def post(self, request: Request, reply: Reply) -> None:
                if request.method == "tools/list":
                    await reply.send(503)
                else:
                    await super().post(request, reply)

        async with odd_server(Refusing()) as server, connecting(server.url, "2024-11-05") as ours:
            with http_error(503):
                await ours.list_tools()
            await ours.call_tool("x")

    async def test_LF01_a_handshake_that_succeeds_is_no_reason_to_look_further(self) -> None:
        async def play(request: Request, reply: Reply) -> None:
            if request.method == "initialize":
                await reply.stream()
                await reply.event(welcome(request.id, tools={}))
            else:
                await Handshaking()(request, reply)

        seen = await agreeing(play, OLD)
        assert seen[:4] == ["server/discover", "initialize", "notifications/initialized", "GET"]

    @pytest.mark.parametrize("status", [401, 403])
    async def test_LF03_statuses_about_the_sender_are_no_sign_of_it(self, status: int) -> None:
        async def play(request: Request, reply: Reply) -> None:
            await reply.send(status if request.method == "initialize" else 400)

        _, seen = await failing(play, http_error(status))
        assert seen == ["server/discover", "initialize"]

    @pytest.mark.parametrize("status", [400, 404, 405, 500, 503])
    @pytest.mark.parametrize(
        ("listen", "why"),
        [
            ("405", "HTTP 405 to GET"),
            ("json", "application/json instead of an event stream"),
            ("message", "'message' instead of 'endpoint'"),
            ("end", "ended its stream"),
            ("silence", "no event within"),
        ],
    )
    async def test_LF06_when_it_is_not_found_both_attempts_are_reported(
        self, status: int, listen: str, why: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        patience = 0.05 if listen == "silence" else 5
        monkeypatch.setattr(transport, "_ENDPOINT", patience)

        async def play(request: Request, reply: Reply) -> None:
            if request.verb == "POST":
                await reply.send(status)
            elif listen == "405":
                await reply.send(405)
            elif listen == "json":
                await reply.send(200, {})
            else:
                await reply.stream()
                if listen == "message":
                    await reply.event({})
                if listen == "silence":
                    await reply.wait_until_gone()

        raised, seen = await failing(play, http_error(status))
        assert f"HTTP {status} to POST initialize" in str(raised)
        assert why in str(raised)
        assert seen == ["server/discover", "initialize", "GET"]

    async def test_LF07_an_endpoint_of_another_origin_is_refused(self) -> None:
        for endpoint in ["http://127.0.0.1:9/messages", "//evil.example/m", "https://127.0.0.1/m"]:
            with case(endpoint):
                raised, _ = await failing(Old(endpoint=endpoint), http_error(405))
                assert "another origin" in str(raised)

    @pytest.mark.parametrize(
        ("status", "code"), [(400, -32020), (400, -32021), (404, -32601), (405, -32022)]
    )
    async def test_LF02_a_new_server_that_has_no_handshake_is_no_old_one(
        self, status: int, code: int
    ) -> None:
        async def play(request: Request, reply: Reply) -> None:
            await reply.send(status, error(request.id, code))

        raised, seen = await failing(play, pytest.raises(pkg.McpError), OLD)
        assert raised.code == code
        assert seen == ["initialize"]


class TestHandshake:
    @pytest.mark.shows("S1-13", "S3-42", "S3-46", "S3-48")
    async def test_negotiated_version_is_sent_with_later_requests(self) -> None:
        for row, version in [("HC09", OLD), ("HC09", "2025-06-18"), ("HC10", "2025-03-26")]:
            with case((row, version)):
                play = Handshaking(session="s-1", version=version)
                async with odd_server(play) as server:
                    async with connecting(server.url, version) as ours:
                        await ours.call_tool("x")
                    first, *later = server.requests
                    assert first.method == "initialize"
                    assert "mcp-protocol-version" not in first.headers, row
                    assert "mcp-session-id" not in first.headers
                    assert [request.verb for request in later] == ["POST", "GET", "POST", "DELETE"]
                    for request in later:
                        assert request.headers["mcp-protocol-version"] == version
                        # HC11
                        assert request.headers["mcp-session-id"] == "s-1"
                        assert "mcp-method" not in request.headers

    async def test_HC11_a_session_id_that_is_no_visible_text_is_not_sent(self) -> None:
        async with odd_server(Handshaking(session="a b")) as server:
            async with connecting(server.url) as ours:
                await ours.call_tool("x")
            assert not any("mcp-session-id" in request.headers for request in server.requests)
            assert not server.requests_of("DELETE")

    async def test_without_a_session_there_is_none_to_end(self) -> None:
        async with odd_server(Handshaking()) as server:
            async with connecting(server.url) as ours:
                await ours.call_tool("x")
            assert not server.requests_of("DELETE")


async def test_a_session_id_of_a_stateless_server_means_nothing() -> None:
    async def play(request: Request, reply: Reply) -> None:
        if request.method == "server/discover":
            await reply.send(200, discover_result(request.id, tools={}), mcp_session_id="s")
        else:
            await reply.result(request, complete(request, TEXT), mcp_session_id="s")

    async with odd_server(play) as server:
        async with connecting(server.url) as ours:
            await ours.call_tool("x")
        assert requested_methods(server) == ["server/discover", "tools/call"]
        assert not any("mcp-session-id" in sent.headers for sent in server.requests)


PROBE = "server/discover"
ASKED = {
    SPEAKS: (NEW, [PROBE]),
    HANDSHAKE: (OLD, [PROBE, "initialize"]),
    ONCE_MORE: (NEW, [PROBE, PROBE]),
    RESTARTS: (OLD, [PROBE, "restart", "initialize"]),
    WAITS: (NEW, [PROBE, PROBE]),
    WAITS_IN_VAIN: (OLD, [*[PROBE] * 4, "initialize"]),
    FOLLOWS: (NEW, [PROBE, PROBE]),
    GIVES_UP: (None, [PROBE]),
}
"""The revision that is spoken then, and what the server is asked up to there."""


def with_id(value: Any, id: Json) -> Any:
    return {**value, "id": id} if is_object(value) and value.get("id") == 0 else value


def examples(rows: Iterable[Row]) -> Iterable[tuple[Row, Any]]:
    return ((row, example) for row in rows for example in row.examples)


class HttpServer:
    """A server that answers the first probe, or all of them, with an example."""

    def __init__(self, row: Row, example: Any) -> None:
        self.asked: list[str] = []
        self._row = row
        self._example = example
        self._old, self._new = Handshaking(), Modern()

    async def __call__(self, request: Request, reply: Reply) -> None:
        self.asked.append(request.method)
        first = len(self.asked) == 1 or self._row.does == WAITS_IN_VAIN
        if request.method == PROBE and first:
            await self._answer(request, reply)
        elif request.method == PROBE or "mcp-method" in request.headers:
            await self._new(request, reply)
        else:
            await self._old(request, reply)

    async def _answer(self, request: Request, reply: Reply) -> None:
        if self._example == "end":
            reply.hang_up()
            reply.closing = True
        elif self._example == "silence":
            await reply.wait_until_gone()
        else:
            answer: Http = self._example
            body = with_id(answer.body, request.id)
            await reply.send(answer.status, body, answer.media, **answer.headers)


async def test_probe_answers_over_http_lead_where_the_page_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        if seconds:
            waits.append(seconds)

    monkeypatch.setattr(http_request, "sleep", sleep)
    for row, example in examples(OVER_HTTP):
        with case((row.answer, example)):
            waits.clear()
            revision, asked = ASKED[row.does]
            play = HttpServer(row, example)
            limits: JsonObject = {"timeout": 0.2} if example == "silence" else {}
            async with odd_server(play) as server:
                try:
                    async with connecting(server.url, OLD, NEW, options=limits) as ours:
                        assert ours.revision == revision
                except (pkg.ProtocolError, pkg.Disconnected):
                    assert revision is None
            assert play.asked[: len(asked)] == asked
            assert revision or play.asked == asked
            if row.does == WAITS_IN_VAIN:
                assert waits == [1, 2, 4]
            else:
                assert bool(waits) == (row.does == WAITS)


class Program:
    """Opens connections to a program, in memory, which answers the first probe with an example."""

    def __init__(self, example: Any) -> None:
        self.asked: list[str] = []
        self._example = example
        self._accepting = Accepting(self._play)

    async def __call__(self) -> Any:
        if self._accepting.opened:
            self.asked.append("restart")
        transport: Any = await self._accepting()

        async def close_within(grace: float) -> None:
            await transport.close()

        transport.close_within = close_within
        return transport

    async def _play(self, hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            first = not self.asked
            self.asked.append(message["method"])
            if message["method"] == "initialize":
                await hand.send(welcome(message["id"]))
            elif message["method"] != PROBE:
                continue
            elif not first:
                await hand.send(with_id(DISCOVERED, message["id"]))
            elif self._example == "end":
                return
            elif self._example != "silence":
                await hand.send(with_id(self._example, message["id"]))


@pytest.mark.skips_time
@pytest.mark.parametrize("recorded", [False, True])
async def test_probe_answers_over_stdio_lead_where_the_page_says(recorded: bool) -> None:
    for row, example in examples(OVER_STDIO):
        with case((row.answer, example)):
            revision, asked = ASKED[row.does]
            program = Program(example)
            opener: Any = tap_opener(program, lambda sender, data: None) if recorded else program
            try:
                async with pkg.connect(opener, client(OLD), client(NEW)) as ours:
                    assert ours.revision == revision
            except pkg.ProtocolError:
                assert revision is None
            assert program.asked[: len(asked)] == asked
