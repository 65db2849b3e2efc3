"""Servers over HTTP that have no time for a request now, and say when to come back."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from mcp_protogen.runtime.http.client import request as http_request
from mcp_protogen.runtime.http.headers import retry_after
from support.sessions.odd_servers import (
    BOTH,
    Handshaking,
    Play,
    Reply,
    Request,
    answer_call,
    calling,
    connecting,
    either,
    failing,
    http_error,
    odd_server,
)
from support.sessions.talking import error
from support.tables import case


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
    options = {"timeout": 30, "timeouts": {}}
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
