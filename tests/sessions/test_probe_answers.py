"""Servers that answer the probe in every way that the page on negotiation lists.

Over HTTP, these are the rows PH01, PH02, PH03, PH04, PH05, PH07, PH09, PH10 and PH12.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from mcp_protogen.runtime.core.json import is_object
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.servers.connect.traffic import tap_opener
from support.json_types import Json, JsonObject
from support.sessions.odd_servers import Handshaking, Modern, Reply, Request, connecting, odd_server
from support.sessions.probe_answers import (
    DISCOVERED,
    FOLLOWS,
    GIVES_UP,
    HANDSHAKE,
    NEW,
    OLD,
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
from support.sessions.talking import Accepting, Hand, client, pkg, welcome
from support.tables import case

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
