"""Streams that are resumed, and the one that a server may use without being asked."""

import asyncio
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.runtime.http.client import client_state
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.client import transport as http_transport
from mcp_protogen.runtime.http.client.client_state import Cursor
from mcp_protogen.runtime.http.sse import Event
from mcp_revisions.v2025_11_25.models import ElicitRequestParams
from support.json_types import JsonObject
from support.revisions import OLD
from support.sessions.odd_servers import (
    TEXT,
    Handshaking,
    Modern,
    Play,
    Reply,
    Request,
    answer,
    answer_call,
    calling,
    connecting,
    failing,
    gets,
    http_error,
    odd_server,
    over,
)
from support.sessions.talking import client, models, notification, pkg
from support.sessions.talking import request as request_as_json
from support.tables import case


def record_waits(monkeypatch: pytest.MonkeyPatch, module: ModuleType) -> list[float]:
    """How long this module would have waited, had it not been kept from it."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)
        await asyncio.sleep(0)

    monkeypatch.setattr(module, "sleep", sleep)
    return waited


class TestResumption:
    """Streams that end before their answer (2025-11-25, "Resumability and Redelivery")."""

    @staticmethod
    def play(primed: Play, resumed: Play) -> Play:
        async def listen(request: Request, reply: Reply) -> None:
            if "last-event-id" in request.headers:
                await resumed(request, reply)
            else:
                await reply.send(405)

        return Handshaking(primed, listen, session="s")

    @staticmethod
    async def priming(request: Request, reply: Reply) -> None:
        await reply.stream()
        await reply.event(id="p-1", retry=1)

    @pytest.mark.shows("S3-28", "S3-36")
    async def test_a_primed_stream_is_resumed_from_its_last_event(self) -> None:
        ids: list[Any] = []

        async def prime(request: Request, reply: Reply) -> None:
            ids.append(request)
            await self.priming(request, reply)
            await reply.event(notification("notifications/tools/list_changed"), id="p-2")

        async def resume(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.event(answer(ids[0], TEXT), id="p-3")

        seen = await calling(self.play(prime, resume))
        assert gets(seen) == [None, "p-2"]
        assert seen[-2].headers["mcp-session-id"] == "s"
        assert seen[-2].headers["accept"] == "text/event-stream"

    @pytest.mark.parametrize(
        ("retry", "seconds"), [(500, 0.5), (70_000, 70.0), (None, 1.0), (0, 0.1), (10**15, 600.0)]
    )
    async def test_client_waits_as_told_within_bounds(
        self, retry: int | None, seconds: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited = record_waits(monkeypatch, http_request)
        calls: list[Request] = []

        async def prime(request: Request, reply: Reply) -> None:
            calls.append(request)
            await reply.stream()
            await reply.event(id="1", retry=retry)

        async def resume(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.event(answer(calls[0], TEXT))

        await calling(self.play(prime, resume), reconnection=pkg.Reconnection())
        assert waited == [seconds]

    async def test_a_stream_may_be_resumed_as_often_as_it_brings_a_message(self) -> None:
        calls: list[Request] = []

        async def prime(request: Request, reply: Reply) -> None:
            calls.append(request)
            await self.priming(request, reply)

        async def resume(request: Request, reply: Reply) -> None:
            at = int(request.headers["last-event-id"].removeprefix("p-"))
            await reply.stream()
            value = notification("notifications/tools/list_changed")
            value = answer(calls[0], TEXT) if at == 12 else value
            await reply.event(value, id=f"p-{at + 1}", retry=1)

        seen = await calling(self.play(prime, resume))
        assert gets(seen) == [None, *(f"p-{at}" for at in range(1, 13))]

    @pytest.mark.parametrize(("id", "sent"), [("é世", "é世".encode()), ("a b", b"a b")])
    async def test_an_id_may_be_any_text(self, id: str, sent: bytes) -> None:
        calls: list[Request] = []

        async def prime(request: Request, reply: Reply) -> None:
            calls.append(request)
            await reply.stream()
            await reply.event(id=id, retry=1)

        async def resume(request: Request, reply: Reply) -> None:
            assert request.headers["last-event-id"].encode("latin-1") == sent
            await reply.stream()
            await reply.event(answer(calls[0], TEXT))

        await calling(self.play(prime, resume))

    @pytest.mark.parametrize("how", ["nothing", "new ids", "no messages", "503", "hang up"])
    async def test_a_stream_that_brings_no_message_is_given_up(
        self, how: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        waited = record_waits(monkeypatch, http_request)
        caplog.set_level("INFO", "mcp_protogen.runtime")

        async def resume(request: Request, reply: Reply) -> None:
            if how == "503":
                await reply.send(503)
            elif how == "hang up":
                reply.hang_up()
            else:
                await reply.stream()
                if how == "new ids":
                    await reply.event(id=f"p-{len(waited)}", retry=0)
                elif how == "no messages":
                    await reply.event({}, event="other")

        raised, seen = await failing(
            self.play(self.priming, resume),
            pytest.raises(pkg.Disconnected),
            reconnection=pkg.Reconnection(max_attempts=9),
        )
        assert "no message in 9 more connections" in str(raised)
        assert len(gets(seen)) == 10
        assert waited == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6]
        # However many attempts there may be.
        logged = [entry for entry in caplog.records if entry.module == "request"]
        assert len(logged) == (5 if how in ("503", "hang up") else 0)

    def test_a_stream_that_brings_no_message_but_lasts_may_be_resumed_as_often(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        times = iter(range(0, 1000, 10))
        monkeypatch.setattr(client_state, "monotonic", lambda: next(times))
        cursor = Cursor(pkg.Reconnection())
        for _ in range(20):
            cursor.opens()
            cursor.broke()
            assert (cursor.wait, cursor.failures) == (1.0, 1)

    def test_no_wait_is_longer_than_the_longest(self) -> None:
        cursor = Cursor(pkg.Reconnection(max_wait=1.5))
        waits: list[float] = []
        for _ in range(3):
            cursor.broke()
            waits.append(cursor.wait)
        assert waits == [1.0, 1.5, 1.5]
        for asked, waited in ((599_000, 599.0), (600_000, 600.0), (601_000, 600.0)):
            cursor = Cursor(pkg.Reconnection())
            cursor.take_event(Event(None, "message", "", asked))
            cursor.broke()
            assert cursor.wait == waited

    def test_bounds_that_make_no_sense_are_refused(self) -> None:
        for bounds in [{"min_wait": 0}, {"min_wait": 2, "max_wait": 1}, {"max_attempts": -1}]:
            with case(bounds), pytest.raises(ValueError, match=next(iter(bounds))):
                pkg.Reconnection(**bounds)

    @pytest.mark.parametrize("status", [400, 401, 404, 405])
    async def test_a_server_that_does_not_resume_says_so(self, status: int) -> None:
        async def resume(request: Request, reply: Reply) -> None:
            await reply.send(status)

        _, seen = await failing(self.play(self.priming, resume), http_error(status))
        assert gets(seen) == [None, "p-1"]

    @pytest.mark.parametrize("event", [{}, {"retry": 1}, {"id": ""}, {"id": "\x1b"}])
    async def test_a_stream_without_ids_is_lost_at_once(self, event: JsonObject) -> None:
        async def prime(request: Request, reply: Reply) -> None:
            await reply.stream()
            await reply.event(notification("notifications/tools/list_changed"), **event)

        _, seen = await failing(self.play(prime, answer_call), pytest.raises(pkg.Disconnected))
        assert gets(seen) == [None]

    async def test_SC13_in_the_stateless_era_no_stream_is_resumed(self) -> None:
        raised, seen = await failing(Modern(self.priming), pytest.raises(pkg.Disconnected))
        assert "ended before tools/call was answered" in str(raised)
        assert gets(seen) == []


class TestListener:
    """The stream that a server may use without being asked."""

    async def test_a_request_on_it_is_answered_whatever_its_id(self) -> None:
        answered = asyncio.Event()
        posts: list[Request] = []

        class Asking(Handshaking):
            async def __call__(self, request: Request, reply: Reply) -> None:
                if request.verb == "POST" and not request.method:
                    posts.append(request)
                    answered.set()
                await super().__call__(request, reply)

        async def listen(request: Request, reply: Reply) -> None:
            await reply.stream()
            schema: JsonObject = {"type": "object", "properties": {}}
            asked = request_as_json("elicitation/create", 0, message="Who?", requestedSchema=schema)
            await reply.event(asked)
            await reply.wait_until_gone()

        async def call(request: Request, reply: Reply) -> None:
            await answered.wait()
            await answer_call(request, reply)

        m = models(OLD)

        async def on_elicit(self: object, params: ElicitRequestParams) -> object:
            return m.ElicitResult(action="decline")

        ours = client(OLD, on_elicit=on_elicit)
        async with odd_server(Asking(call, listen, session="s")) as server, over(server.url, ours):
            await ours.call_tool("x")
            (get,) = server.requests_of("GET")
            assert get.headers["mcp-session-id"] == "s"
        (post,) = posts
        assert post.value == {"jsonrpc": "2.0", "id": 0, "result": {"action": "decline"}}
        assert post.headers["mcp-session-id"] == "s"

    async def test_calls_wait_until_the_server_has_answered_whether_there_is_one(self) -> None:
        order: list[str] = []

        async def listen(request: Request, reply: Reply) -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            order.append("GET")
            await reply.send(405)

        async def call(request: Request, reply: Reply) -> None:
            order.append("call")
            await answer_call(request, reply)

        await calling(Handshaking(call, listen))
        assert order == ["GET", "call"]

    @pytest.mark.parametrize("status", [200, 204, 400, 401, 403, 404, 405, 406])
    async def test_a_server_without_one_is_not_asked_again(self, status: int) -> None:
        async def listen(request: Request, reply: Reply) -> None:
            await reply.send(status)

        async with (
            odd_server(Handshaking(listen=listen, session="s")) as server,
            connecting(server.url) as ours,
        ):
            await ours.call_tool("x")
            assert len(server.requests_of("GET")) == 1
            # Nobody is left who could ask.
            names = [repr(task.get_coro()) for task in asyncio.all_tasks()]
            assert not [name for name in names if "Listener" in name]

    async def test_delay_grows_while_stream_brings_no_messages(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited = record_waits(monkeypatch, http_transport)
        come: list[Request] = []

        async def listen(request: Request, reply: Reply) -> None:
            come.append(request)
            if "last-event-id" in request.headers and len(come) % 2:
                # The last event is unknown: it is opened anew, without progress.
                await reply.send(400)
                return
            await reply.stream()
            await reply.event(id=f"g-{len(come)}", retry=0)

        async with (
            odd_server(Handshaking(listen=listen)) as server,
            connecting(server.url, reconnection=pkg.Reconnection()),
        ):
            while len(waited) < 5:
                await asyncio.sleep(0)
            assert waited[:5] == [0.1, 0.2, 0.4, 0.8, 1.6]
            assert gets(come)[:4] == [None, "g-1", "g-2", None]

    async def test_broken_stream_resumes_at_last_event(self) -> None:
        come: list[Request] = []
        third = asyncio.Event()

        async def listen(request: Request, reply: Reply) -> None:
            come.append(request)
            if len(come) == 2:
                await reply.send(503)
                return
            await reply.stream(content_length="1000")
            await reply.event(id="g-1", retry=1)
            if len(come) == 3:
                third.set()
                await reply.wait_until_gone()
            reply.hang_up()

        async with odd_server(Handshaking(listen=listen)) as server, connecting(server.url):
            await third.wait()
            assert gets(come) == [None, "g-1", "g-1"]
