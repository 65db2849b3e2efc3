"""Abnormal request heads: each gets its status, and harms no other client.

What both parsers refuse by themselves is not among them.
"""

from collections.abc import Callable
from typing import NamedTuple

from support.http.fire import Fields, http, on_each_stack, serve_under_attack, wire

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


class Case(NamedTuple):
    """The bytes to send for the fields of a session, and the status by parser."""

    name: str
    data: Callable[[Fields], bytes]
    httptools: int
    h11: int


def same(name: str, status: int, data: Callable[[Fields], bytes]) -> Case:
    return Case(name, data, status, status)


def ping(**changed: str | bytes | None) -> Callable[[Fields], bytes]:
    return lambda mine: http(PING, **{**mine, **changed})


def other(method: str, target: str = "/mcp") -> Callable[[Fields], bytes]:
    return lambda mine: http(b"", method, target, **mine)


def at(target: str) -> Callable[[Fields], bytes]:
    return lambda mine: http(PING, "POST", target, **mine)


def line(raw: bytes, **changed: str | bytes | None) -> Callable[[Fields], bytes]:
    """A normal request with one more line in its head."""
    return lambda mine: http(PING, **{**mine, **changed}).replace(
        b"\r\n", b"\r\n" + raw + b"\r\n", 1
    )


def swap(old: bytes, new: bytes, **changed: str | bytes | None) -> Callable[[Fields], bytes]:
    """A normal request with some bytes replaced."""
    return lambda mine: http(PING, **{**mine, **changed}).replace(old, new, 1)


def pieces(mine: Fields, length: str | None = None) -> bytes:
    """A request whose body comes in chunks."""
    head = http(b"", **{**mine, "transfer-encoding": "chunked", "content-length": length})
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(PING), PING)


def both(mine: Fields) -> bytes:
    """Return the request with a contradicting length."""
    return pieces(mine, "40")


METHODS = [
    same("OPTIONS", 405, other("OPTIONS")),
    same("PUT", 405, other("PUT")),
    same("PATCH", 405, other("PATCH")),
    same("TRACE", 405, other("TRACE")),
    Case("a method in lower case", other("post"), 400, 405),
    Case("a method of its own", other("FROBNICATE"), 400, 405),
    Case("CONNECT", other("CONNECT", "localhost:80"), 400, 404),
    same("OPTIONS *", 404, other("OPTIONS", "*")),
]

PATHS = [
    same("a query", 200, at("/mcp?a=b")),
    same("an encoded letter", 200, at("/%6dcp")),
    same("a slash at the end", 200, at("/mcp/")),
    same("two slashes at the end", 404, at("/mcp//")),
    same("two slashes", 404, at("//mcp")),
    same("an encoded slash", 404, at("/mcp%2f")),
    same("an encoded slash before", 404, at("/x%2fmcp")),
    same("dot segments", 404, at("/x/../mcp")),
    same("encoded dot segments", 404, at("/x/%2e%2e/mcp")),
    same("a dot at the end", 404, at("/mcp/.")),
    same("an encoded NUL", 404, at("/mcp%00")),
    same("bad encoding", 404, at("/mcp%zz")),
    same("not UTF-8", 404, at("/mcp%ff")),
    same("another case", 404, at("/MCP")),
    same("a parameter", 404, at("/mcp;a=b")),
    Case("no slash", at("mcp"), 400, 404),
    same("very long", 404, at("/" + "a" * 20_000)),
    same("another place", 404, at("/.well-known/oauth-protected-resource")),
]

LINES = [
    # One parser takes this for HTTP/0.9, which needs no version.
    Case("no version", swap(b" HTTP/1.1", b""), 200, 400),
    same("HTTP/2 by name only", 200, swap(b"HTTP/1.1", b"HTTP/2.0")),
    same("bytes beyond ASCII in a value", 200, line(b"x-a: \xe9\xff")),
]

OLD_HTTP = [
    same("HTTP/1.0", 200, swap(b"HTTP/1.1", b"HTTP/1.0")),
    same("HTTP/1.0 without a host", 400, swap(b"HTTP/1.1", b"HTTP/1.0", host=None)),
    same("HTTP/1.1 without a host", 400, ping(host=None)),
]

LENGTHS = [
    same("no length and no body", 400, ping(**{"content-length": None})),
    same("two lengths", 400, line(b"content-length: 41")),
    same("a length beyond the limit", 413, ping(**{"content-length": "4194305"})),
    same("chunks", 200, pieces),
    # RFC 9112, section 6.3: refused, or the chunks alone count.
    Case("a length and chunks", both, 400, 200),
]

DOUBLES = [
    same("Host twice", 400, line(b"host: localhost")),
    same("Host twice, the second evil", 400, line(b"host: evil.example")),
    same("Origin twice", 400, line(b"origin: http://localhost", origin="http://localhost")),
    same("Content-Type twice", 400, line(b"content-type: application/json")),
    same("Mcp-Session-Id twice", 400, line(b"mcp-session-id: x")),
    same(
        "MCP-Protocol-Version twice",
        400,
        line(b"mcp-protocol-version: 2025-11-25", **{"mcp-protocol-version": "2025-11-25"}),
    ),
    same("Authorization twice", 400, line(b"authorization: Bearer a", authorization="Bearer b")),
    same("Last-Event-ID twice", 400, line(b"last-event-id: a", **{"last-event-id": "b"})),
    same(
        "Accept in two fields", 200, line(b"accept: text/event-stream", accept="application/json")
    ),
    same("names in upper case", 200, swap(b"mcp-session-id", b"MCP-SESSION-ID")),
    same("space around a value", 200, swap(b"accept: ", b"accept: \t  ")),
    same("500 fields", 431, line(b"\r\n".join([b"x-%d: a" % i for i in range(500)]))),
    same("64 kB of a field", 431, line(b"x-a: " + b"a" * 65_530)),
    Case("folded", swap(b"application/json, text", b"application/json,\r\n text"), 400, 200),
]

KINDS = [
    same("no Content-Type", 415, ping(**{"content-type": None})),
    same("plain text", 415, ping(**{"content-type": "text/plain"})),
    same("a form", 415, ping(**{"content-type": "application/x-www-form-urlencoded"})),
    same("several parts", 415, ping(**{"content-type": "multipart/form-data; boundary=x"})),
    same("nearly JSON", 415, ping(**{"content-type": "application/jsonp"})),
    same("JSON in Latin-1", 415, ping(**{"content-type": "application/json; charset=latin-1"})),
    same("two kinds", 415, ping(**{"content-type": "application/json, text/plain"})),
    same("JSON in UTF-8", 200, ping(**{"content-type": 'Application/JSON; charset="UTF-8"'})),
    same("no Accept", 200, ping(accept=None)),
    same("half an Accept", 406, ping(accept="application/json")),
    same("the other half", 406, ping(accept="text/event-stream")),
    same("a refusing Accept", 406, ping(accept="application/json, text/event-stream;q=0")),
    same("a lavish Accept", 200, ping(accept="text/html, */*;q=0.1")),
    same("wide ranges", 200, ping(accept="application/*, text/*")),
    same("an Accept that is none", 406, ping(accept=";;;,,,===")),
]

VERSIONS = [
    same("an unknown version", 400, ping(**{"mcp-protocol-version": "1.0"})),
    same("a version that was not agreed on", 400, ping(**{"mcp-protocol-version": "2025-06-18"})),
    same("an empty version", 400, ping(**{"mcp-protocol-version": ""})),
    same("a version beyond ASCII", 400, ping(**{"mcp-protocol-version": b"\xff\xfe"})),
]

ALL = [*METHODS, *PATHS, *LINES, *OLD_HTTP, *LENGTHS, *DOUBLES, *KINDS, *VERSIONS]


@on_each_stack
async def test_an_odd_head_gets_its_status(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        for case in ALL:
            answer = await site.ask(case.data(await site.session()))
            assert answer.status == getattr(case, stack), (case.name, answer)
            await site.is_fine()


@on_each_stack
async def test_head_is_no_method_of_the_endpoint_and_gets_no_body(stack: str) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session()
        async with wire(site.port) as one:
            await one.send(http(b"", "HEAD", **mine) + http(PING, **mine))
            answer = await one.head()
            assert (answer.status, answer.field("allow")) == (405, "POST, GET, DELETE")
            assert (await one.answer()).status == 200
        await site.is_fine()
