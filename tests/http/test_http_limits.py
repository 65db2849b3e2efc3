"""The limits of requests: the largest allowed, the first refused, and the defaults."""

import asyncio
import re
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mcp_protogen.runtime.core.quotas import Quota
from mcp_protogen.runtime.core.tasks import Tasks
from mcp_protogen.runtime.http.server import asgi, legacy_sse
from mcp_protogen.runtime.http.server.event_stream import EventResponse, KeepAlive
from mcp_protogen.runtime.http.server.param_header_check import ToolHeaders
from mcp_protogen.runtime.messages.envelope import CLIENT_CAPABILITIES
from mcp_protogen.runtime.server.connection import ServerConnection
from mcp_revisions import v2025_11_25 as mcp
from support.folders import ROOT
from support.http.exchanges import exchange_of
from support.http.fire import run
from support.sessions.talking import pkg
from support.tables import case

KIB = 1024
PAGE = Path(ROOT, "docs/http.md")


def bodies_within(most: int, seconds: float) -> Any:
    return asgi.Bodies(KIB * KIB, Quota(most, name="max_bodies"), seconds)


def refusal(call: Any, *given: Any) -> int | None:
    """Return the status of a refused call; None if accepted."""
    try:
        call(*given)
    except asgi.HttpRefusal as error:
        return int(error.status)
    return None


def test_head_may_have_so_many_fields_and_bytes() -> None:
    for number, status in ((200, None), (201, 431)):
        listed = [(b"x-%d" % i, b"1") for i in range(number)]
        with case(number):
            assert refusal(exchange_of(listed).read_head, 1000) == status
    for size, status in ((1000, None), (1001, 431)):
        with case(size):
            assert refusal(exchange_of([(b"x", b"1" * size)]).read_head, 1000) == status


def test_content_length_has_so_many_digits_and_such_a_value() -> None:
    rows: list[tuple[bytes, int | None]] = [
        (b"10", None),
        (b"11", 413),
        (b" 10\t", None),
        (b"0" * 18 + b"10", None),
        (b"0" * 19 + b"10", 413),
        (b"9" * 5000, 413),
        (b"", 400),
        (b"-1", 400),
        (b"1.0", 400),
        (b"0x1", 400),
    ]
    for value, status in rows:
        with case(value):
            assert refusal(asgi.length_of, value, 10) == status


async def test_small_bodies_do_not_count_and_larger_ones_do() -> None:
    for size, taken in ((16 * KIB, 0), (16 * KIB + 1, 16 * KIB + 1)):
        bodies, request = bodies_within(KIB * KIB, 1.0), exchange_of()
        bodies._take(request, size)
        with case(size):
            assert (bodies.quota.used, request.taken) == (taken, taken)
            bodies.release(request)
            assert (bodies.quota.used, request.taken) == (0, 0)


def test_only_as_many_slow_bodies_are_refused_as_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "_PAUSE", -1.0)

    async def script() -> None:
        size = 20 * KIB
        for wanted, refused in ((size, 1), (size + 1, 2), (2 * size, 2), (3 * size, 3)):
            bodies = bodies_within(3 * size, 1000.0)
            slow = [exchange_of() for _ in range(3)]
            readers = [asyncio.create_task(read(bodies, body, size)) for body in slow]
            await asyncio.sleep(0)
            assert bodies.quota.used == 3 * size
            bodies._take(exchange_of(), wanted)
            with case(wanted):
                assert bodies.quota.used == (3 - refused) * size + wanted
                await asyncio.sleep(0.01)
                assert [reader.done() for reader in readers].count(True) == refused
            for reader in readers:
                reader.cancel()
            await asyncio.gather(*readers, return_exceptions=True)

    async def read(bodies: Any, request: Any, size: int) -> None:
        async def receive() -> Any:
            await asyncio.Event().wait()

        request.fields = {b"content-length": b"%d" % size}
        request.receive = receive
        await bodies.read(request)

    run(script())


async def test_refused_body_stays_refused_though_middleware_ends_its_wait_with_a_piece() -> None:
    from_outside = False

    async def receive() -> Any:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if from_outside:
                raise
            return {"type": "http.request", "body": b"x"}

    async def read(bodies: Any, request: Any) -> None:
        await bodies.read(request)

    for from_outside, error in ((False, asgi.HttpRefusal), (True, asyncio.CancelledError)):
        bodies, request = bodies_within(KIB, 1000.0), exchange_of()
        request.receive, request.fields = receive, {}
        reader = asyncio.create_task(read(bodies, request))
        await asyncio.sleep(0)
        bodies.refuse_incoming("too late")
        if from_outside:
            reader.cancel()
        with case(from_outside), pytest.raises(error):
            await reader


async def test_old_transport_queues_limited_messages_and_bytes() -> None:
    largest = 16 * KIB * KIB

    rows: list[tuple[list[int], int]] = [
        ([1] * 1000, 1),
        ([largest - 1], 2),
        ([largest // 2, largest // 2], 1),
    ]
    for sizes, more in rows:
        with case((len(sizes), sizes[0])):
            response = EventResponse(exchange_of(), KeepAlive(1.0, Tasks()))
            kind = legacy_sse._SseTransport  # pyright: ignore[reportPrivateUsage]
            transport = kind(response, None, ())
            for size in sizes:
                assert refusal(transport.take, bytes(size)) is None
            assert refusal(transport.take, bytes(more)) == 503
            assert len(await transport.receive()) == len(sizes)
            # Finished work makes room.
            for size in sizes:
                assert refusal(transport.take, bytes(size)) is None


class Listing(ServerConnection):
    """A connection whose server lists one tool, which has nothing to repeat in header fields."""

    def __init__(self) -> None:
        table = SimpleNamespace(revision="r")
        connection: Any = SimpleNamespace(table=table)
        self.bound_server: Any = SimpleNamespace(changes={})
        self.endpoint: Any = SimpleNamespace(options=pkg.Options(), connection=connection)
        self.server: Any = SimpleNamespace(TABLE=mcp.methods.TABLE, SESSION=mcp.Session)
        self.handlers: Any = {"tools/list": self.list_tools}

    async def list_tools(self, session: object, params: object) -> mcp.models.ListToolsResult:
        tool = mcp.models.Tool(name="x", input_schema={"type": "object"})
        return mcp.models.ListToolsResult(tools=[tool])


class Keeping(ToolHeaders):
    """A check that shows for which principals it keeps lists."""

    async def asks(self, principal: str, capabilities: object) -> bool:
        """Return whether it must fetch the list for a principal, as it then does."""
        request = SimpleNamespace(id=1, raw={}, meta={CLIENT_CAPABILITIES: capabilities})
        job: Any = SimpleNamespace(request=request, reply=None)
        exchange = exchange_of()
        exchange.set_principal(pkg.Principal(principal))
        work = self.check(Listing(), job, exchange)
        if work is not None:
            await work
        return work is not None

    def kept(self) -> list[tuple[str, str | None, bytes]]:
        return [*self._listed]


async def test_lists_of_tools_are_kept_for_so_many_principals() -> None:
    headers = Keeping(60.0)
    for number in range(1001):
        assert len(headers.kept()) == number
        assert await headers.asks(str(number), {})
    assert len(headers.kept()) == 1000
    assert not await headers.asks("1", {})
    # The oldest one has made room.
    assert await headers.asks("0", {})


async def test_short_capabilities_are_their_own_key_and_long_ones_have_a_digest() -> None:
    headers = Keeping(60.0)
    for size in (200, 201):
        await headers.asks("ada", {"x": "y" * (size - len('{"x":""}'))})
    (*_, short), (*_, long) = headers.kept()
    assert short == b'{"x":"%b"}' % (b"y" * 192)
    assert long == sha256(b'{"x":"%b"}' % (b"y" * 193)).digest()


def test_page_has_the_defaults_of_options_it_lists() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    usual = pkg.HttpOptions()
    options = {option.name for option in fields(pkg.HttpOptions)} & rows.keys()
    assert len(options) > 10
    for name in options:
        with case(name):
            value: object = getattr(usual, name)
            assert rows[name] == (f'"{value}"' if isinstance(value, str) else f"{value}")
