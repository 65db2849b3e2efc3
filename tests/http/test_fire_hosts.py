"""Host names and calling pages: DNS rebinding and similar attacks."""

from itertools import product

import pytest
from support.http.fire import call, http, modern_call, on_each_stack, serve_under_attack, wire
from support.revisions import STATELESS
from support.tables import case

EVIL = "evil.example"

HOSTS: dict[str | None, int] = {
    **dict.fromkeys(
        ("localhost", "LOCALHOST", "LocalHost:8000", "127.0.0.1:1", "[::1]", "[::1]:65535"), 200
    ),
    "localhost:80 ": 200,
    **dict.fromkeys((EVIL, f"{EVIL}:80", f"localhost.{EVIL}", f"localhost@{EVIL}"), 421),
    **dict.fromkeys((f"localhost:80@{EVIL}", f"{EVIL}#localhost", f"{EVIL}/localhost"), 421),
    **dict.fromkeys((f"{EVIL}\\@localhost", f"localhost,{EVIL}", f"localhost {EVIL}"), 421),
    **dict.fromkeys((f"user@{EVIL}:80", "user@localhost", "localhost.", "localhost.:80"), 421),
    **dict.fromkeys(("localhost:", "localhost:80:80", "localhost:x", "localhost:-1"), 421),
    **dict.fromkeys(("http://localhost", "0.0.0.0", "127.1", "127.0.0.1.nip.io", "*", ""), 421),
    **dict.fromkeys(("2130706433", "0x7f000001", "::1", "[::ffff:127.0.0.1]", "[::1]]"), 421),
    **dict.fromkeys(("[0:0:0:0:0:0:0:1]", "[::1"), 421),
    None: 400,
}

OWN_PAGES = (
    *("http://localhost", "https://localhost:5173", "HTTP://LOCALHOST:80", "http://[::1]:3000"),
    "http://127.0.0.1",
)
STRANGE_PAGES = (
    *("null", "", "*", "localhost", f"http://{EVIL}", f"https://{EVIL}:443", "//localhost"),
    *(f"http://localhost.{EVIL}", f"http://localhost@{EVIL}", f"http://localhost:80@{EVIL}"),
    *(f"http://{EVIL}\\@localhost", f"http://{EVIL}#@localhost", f"http://{EVIL}?localhost"),
    *(f"http://localhost http://{EVIL}", f"http://localhost, http://{EVIL}", "http://localhost/"),
    *("http://user@localhost", "http://localhost.", "http://localhost:", "http:localhost"),
    *("http:///localhost", "file://", "file://localhost", "chrome-extension://localhost"),
    *("javascript://localhost", "http://[::1", "http://::1]", "http://[localhost]"),
    *("http://[::1]x", "http://[::ffff:127.0.0.1]", "http://\xbd\xb2", "http://localhost\xff"),
)


@on_each_stack
async def test_only_its_own_names_reach_a_server(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        got = {
            host: (await site.ask(http(call("echo"), **{**mine, "host": host}))).status
            for host in HOSTS
        }
        assert got == HOSTS
        await site.is_fine()
        served = sum(status == 200 for status in HOSTS.values())
        assert site.attacked.begun == served + 2


@pytest.mark.shows("S3-10")
@on_each_stack
async def test_RJ01_only_pages_at_its_own_names_may_call_a_server(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        # Twice: what was found of an origin is kept in mind.
        for origin in (*OWN_PAGES, *STRANGE_PAGES, *OWN_PAGES):
            with case(origin):
                answer = await site.ask(http(call("echo"), origin=origin, **mine))
                assert answer.status == (200 if origin in OWN_PAGES else 403)
                assert ("id" in answer.message) == (origin in OWN_PAGES)
        await site.is_fine()


async def test_a_strange_page_is_refused_whatever_it_asks_for() -> None:
    for path, method in product(
        ["/mcp", "/sse", "/messages?session_id=x"], ["GET", "DELETE", "OPTIONS", "PUT"]
    ):
        with case((path, method)):
            async with serve_under_attack(old_sse=True) as site:
                mine = await site.session()
                for strange in ({"origin": f"http://{EVIL}"}, {"host": EVIL}):
                    answer = await site.ask(http(b"", method, path, **{**mine, **strange}))
                    assert answer.status == (403 if "origin" in strange else 421)
                    assert answer.field("access-control-allow-origin") is None
                await site.is_fine()


async def test_where_any_host_is_allowed_pages_still_have_to_be_named() -> None:
    async with serve_under_attack(
        allowed_hosts=["*"], allowed_origins=["https://app.example"]
    ) as site:
        for origin, status in [
            ("https://app.example", 200),
            ("https://app.example.", 403),
            ("http://app.example", 403),
            ("http://localhost", 403),
            (f"http://{EVIL}", 403),
            ("null", 403),
        ]:
            data = http(
                modern_call("echo").partition(b"\r\n\r\n")[2],
                host=EVIL,
                origin=origin,
                **{
                    "mcp-protocol-version": STATELESS,
                    "mcp-method": "tools/call",
                    "mcp-name": "echo",
                },
            )
            assert (await site.ask(data)).status == status, origin
        await site.is_fine()


@pytest.mark.parametrize(
    ("target", "httptools", "h11"),
    [
        ("http://localhost/mcp", 200, 404),
        (f"http://{EVIL}/mcp", 200, 404),
        ("http://localhost", 400, 404),
        (f"//{EVIL}/mcp", 404, 404),
        (f"/mcp#@{EVIL}", 200, 404),
        (f"ftp://{EVIL}/mcp", 200, 404),
    ],
)
@on_each_stack
async def test_a_target_with_a_host_of_its_own_gives_no_way_past_the_guard(
    target: str, httptools: int, h11: int, stack: str
) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        status = {"httptools": httptools, "h11": h11}[stack]
        data = http(call("echo"), "POST", target, **mine)
        assert (await site.ask(data)).status == status
        foreign = http(call("echo"), "POST", target, **{**mine, "host": EVIL})
        assert (await site.ask(foreign)).status in (400, 404, 421)
        await site.is_fine()


async def test_guard_memory_is_bounded() -> None:
    async with serve_under_attack() as site:
        for number in range(50):
            long = "0" * 30_000 + str(number)
            await site.ask(http(b"", host=f"localhost:{long}", origin=f"http://[::1]:{long}"))
        known = site.app.guard.passed
        assert sum(len(host) + len(origin or b"") for host, origin in known) < 10_000
        for number in range(1500):
            site.app.guard.check(b"localhost:%d" % number, None)
            assert len(known) <= 1000
        await site.is_fine()


ECHOED = [
    "<script>",
    "\xe9\xff",
    "=?base64?DQpTZXQtQ29va2llOiBhPWI=?=",
    "%0d%0aset-cookie:a=b",
    "\t\tx",
]


async def test_response_heads_do_not_echo_client_input() -> None:
    for value in ECHOED:
        with case(value):
            async with serve_under_attack() as site:
                mine = await site.session()
                for name in (
                    *("origin", "host", "accept", "content-type", "authorization", "user-agent"),
                    *("mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"),
                    *("last-event-id", "x-request-id"),
                ):
                    for method in ("POST", "GET"):
                        data = http(call(value), method, **{**mine, name: f"echoed {value}"})
                        async with wire(site.port) as one:
                            await one.send(data)
                            answer = await one.head()
                        assert b"echoed" not in answer.head
                        assert answer.status in (200, 400, 403, 404, 406, 415, 421)
                await site.is_fine()


@on_each_stack
async def test_a_websocket_is_not_opened(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        for fields in (mine, {**mine, "origin": f"http://{EVIL}"}):
            data = http(
                b"",
                "GET",
                **{
                    **fields,
                    "content-length": None,
                    "connection": "Upgrade",
                    "upgrade": "websocket",
                    "sec-websocket-key": "dGhlIHNhbXBsZSBub25jZQ==",
                    "sec-websocket-version": "13",
                },
            )
            assert (await site.ask(data)).status == 403
        await site.is_fine()
