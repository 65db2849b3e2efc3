"""The limits of requests: what is just allowed, what is one too much, and the usual options."""

import asyncio
import re
from dataclasses import fields
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.folders import ROOT
from support.http.fire import run
from support.sessions.talking import pkg, runtime
from support.tables import case

asgi = runtime("http.server.asgi")
legacy_sse = runtime("http.server.legacy_sse")
quotas = runtime("core.quotas")
param_header_check = runtime("http.server.param_header_check")

KIB = 1024
PAGE = Path(ROOT, "docs/http.md")


def exchange(*headers: tuple[bytes, bytes]) -> Any:
    async def receive() -> Any:
        raise AssertionError("the body is not read here")

    scope = {"type": "http", "path": "/mcp", "headers": list(headers)}
    return asgi.HttpExchange(scope, receive, receive, 1.0, None)


def bodies_within(most: int, seconds: float) -> Any:
    return asgi.Bodies(KIB * KIB, quotas.Quota(most, name="max_bodies"), seconds)


def refusal(call: Any, *given: Any) -> int | None:
    """The status with which a call is refused; None if it is not."""
    try:
        call(*given)
    except asgi.HttpRefusal as error:
        return int(error.status)
    return None


def test_head_may_have_so_many_fields_and_bytes() -> None:
    for number, status in ((200, None), (201, 431)):
        listed = [(b"x-%d" % i, b"1") for i in range(number)]
        with case(number):
            assert refusal(exchange(*listed).read_head, 1000) == status
    for size, status in ((1000, None), (1001, 431)):
        with case(size):
            assert refusal(exchange((b"x", b"1" * size)).read_head, 1000) == status


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


def test_small_bodies_do_not_count_and_larger_ones_do() -> None:
    async def script() -> None:
        for size, taken in ((16 * KIB, 0), (16 * KIB + 1, 16 * KIB + 1)):
            bodies, request = bodies_within(KIB * KIB, 1.0), exchange()
            bodies._take(request, size)
            with case(size):
                assert (bodies.quota.used, request.taken) == (taken, taken)
                bodies.done(request)
                assert (bodies.quota.used, request.taken) == (0, 0)

    run(script())


def test_only_as_many_slow_bodies_are_refused_as_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asgi, "_PAUSE", -1.0)

    async def script() -> None:
        size = 20 * KIB
        for wanted, refused in ((size, 1), (size + 1, 2), (2 * size, 2), (3 * size, 3)):
            bodies = bodies_within(3 * size, 1000.0)
            slow = [exchange() for _ in range(3)]
            readers = [asyncio.create_task(read(bodies, one, size)) for one in slow]
            await asyncio.sleep(0)
            assert bodies.quota.used == 3 * size
            bodies._take(exchange(), wanted)
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


def test_old_transport_holds_so_many_messages_and_bytes() -> None:
    largest = 16 * KIB * KIB

    async def script() -> None:
        rows: list[tuple[list[int], int]] = [
            ([1] * 1000, 1),
            ([largest - 1], 2),
            ([largest // 2, largest // 2], 1),
        ]
        for sizes, more in rows:
            with case((len(sizes), sizes[0])):
                transport = legacy_sse._SseTransport(None, None, ())
                for size in sizes:
                    assert refusal(transport.take, bytes(size)) is None
                assert refusal(transport.take, bytes(more)) == 503
                assert len(await transport.receive()) == len(sizes)
                # What was taken in makes room.
                for size in sizes:
                    assert refusal(transport.take, bytes(size)) is None

    run(script())


def test_lists_of_tools_are_kept_for_so_many_principals() -> None:
    listed = {"tools": [{"name": "x"}]}

    class Asked:
        bound_server = type("BoundServer", (), {"changes": {}})()
        endpoint = type("Endpoint", (), {"options": pkg.Options()})()

        async def listed(self, *_: object) -> object:
            return listed

    async def script() -> None:
        headers, asked = param_header_check.ToolHeaders(60.0), Asked()
        for number in range(1001):
            assert len(headers._listed) == number
            await headers._ask(asked, None, ("revision", str(number), b""))
        assert len(headers._listed) == 1000
        # The one that was asked for first has made room.
        assert headers._known(asked, ("revision", "0", b"")) is None
        assert headers._known(asked, ("revision", "1", b"")) is not None

    run(script())


def test_short_capabilities_are_their_own_key_and_long_ones_have_a_digest() -> None:
    found: list[bytes] = []

    def known(_: object, key: tuple[str, str | None, bytes]) -> None:
        found.append(key[2])

    def check(*_: object) -> None:
        pass

    async def script() -> None:
        headers = param_header_check.ToolHeaders(60.0)
        headers._known, headers._check = known, check
        table = type("Table", (), {"revision": "r"})()
        connection = type("Connection", (), {"table": table})()
        endpoint = type("Endpoint", (), {"connection": connection})()
        for size in (200, 201):
            name = runtime("messages.envelope").CLIENT_CAPABILITIES
            meta = {name: {"x": "y" * (size - len('{"x":""}'))}}
            call = type("Job", (), {"request": type("Request", (), {"meta": meta})()})()
            headers.check(type("Asked", (), {"endpoint": endpoint})(), call, exchange())

    run(script())
    short, long = found
    assert len(short) == 200
    assert long == sha256(b'{"x":"%b"}' % (b"y" * 193)).digest()


def test_page_has_the_usual_value_of_each_limit() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", PAGE.read_text("utf-8"), re.MULTILINE))
    usual = pkg.HttpOptions()
    for option in fields(pkg.HttpOptions):
        with case(option.name):
            value: object = getattr(usual, option.name)
            assert rows.pop(option.name) == (f'"{value}"' if isinstance(value, str) else f"{value}")
