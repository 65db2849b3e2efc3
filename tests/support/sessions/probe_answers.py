"""Answers of servers to the probe, `server/discover`, and the next step of a client of both eras.

Tests play the rows, and docs/negotiation.md shows them: `support.docs.diagrams` writes the tables
there.
"""

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

MARKED: Final = re.compile(r"(?P<mark><!-- table: probe (?P<name>\w+) -->\n)(?:\|.*\n)*")

NEW: Final = "2026-07-28"
OLD: Final = "2025-11-25"

SPEAKS: Final = f"speaks {NEW}"
HANDSHAKE: Final = "sends `initialize`"
ONCE_MORE: Final = "asks once more in that revision"
RESTARTS: Final = "starts the program afresh and sends `initialize`"
WAITS: Final = "waits, and asks again"
WAITS_IN_VAIN: Final = "waits 1, 2 and 4 s, then sends `initialize`"
FOLLOWS: Final = "asks there"
GIVES_UP: Final = "reports it"


class Row(NamedTuple):
    """A description of the answer, the client's next step, and examples of the answer."""

    answer: str
    does: str
    examples: tuple[Any, ...]


class Http(NamedTuple):
    """An HTTP answer; in `body`, the id 0 stands for the request's id."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = {}
    media: str = "application/json"


def result(**members: Any) -> dict[str, Any]:
    """A result of the stateless era."""
    return {"jsonrpc": "2.0", "id": 0, "result": {"resultType": "complete", **members}}


def failure(code: int, **data: Any) -> dict[str, Any]:
    error = {"code": code, "message": "what?", **({"data": data} if data else {})}
    return {"jsonrpc": "2.0", "id": 0, "error": error}


DISCOVERED: Final = result(
    supportedVersions=[NEW], capabilities={"tools": {}}, ttlMs=0, cacheScope="private"
)
_ELSEWHERE: Final = "http://127.0.0.2:9/mcp"
_STATUSES: Final = (200, 400, 404, 500, 503)
_OTHER_ERRORS: Final = (-32601, -32602, -32600, -32603, -32000, 0, 1)

OVER_HTTP: Final = (
    Row("2xx, a result that lists a common revision", SPEAKS, (Http(200, DISCOVERED),)),
    Row(
        "2xx, a result that lists only revisions with a handshake, or none",
        HANDSHAKE,
        (
            Http(200, result(supportedVersions=[OLD], capabilities={})),
            Http(200, {"jsonrpc": "2.0", "id": 0, "result": {}}),
        ),
    ),
    Row(
        "2xx, anything else, or nothing",
        HANDSHAKE,
        (
            Http(200, {"error": "what?"}),
            Http(200, {"id": 0, "result": DISCOVERED["result"]}),
            Http(200, [DISCOVERED]),
            Http(200, b"<p>Welcome</p>", media="text/html"),
            Http(202),
        ),
    ),
    Row(
        "a result or -32022 with unknown revisions only",
        GIVES_UP,
        (
            Http(200, result(supportedVersions=["2099-01-01"], capabilities={})),
            Http(400, failure(-32022, supported=["2099-01-01"])),
        ),
    ),
    Row(
        "any status, -32022 that lists a common revision",
        ONCE_MORE,
        tuple(Http(status, failure(-32022, supported=[NEW])) for status in _STATUSES),
    ),
    Row(
        "any status, -32022 that lists only revisions with a handshake",
        HANDSHAKE,
        tuple(Http(status, failure(-32022, supported=[OLD])) for status in _STATUSES),
    ),
    Row(
        "any status, -32020 or -32021",
        GIVES_UP,
        tuple(Http(status, failure(code)) for status in _STATUSES for code in (-32020, -32021)),
    ),
    Row(
        "any other status, any other error of JSON-RPC",
        HANDSHAKE,
        (
            *(Http(status, failure(code)) for status in _STATUSES for code in _OTHER_ERRORS),
            *(Http(400, {**failure(-32602), "id": id}) for id in (None, "server-error")),
        ),
    ),
    Row(
        "4xx without such an error: 400, 404, 405, 406 and others",
        HANDSHAKE,
        (
            *(Http(status) for status in (400, 402, 404, 405, 406, 415, 422)),
            Http(404, b"<p>Not here</p>", media="text/html"),
            Http(400, b"{"),
        ),
    ),
    Row(
        "5xx without such an error",
        HANDSHAKE,
        (
            *(Http(status) for status in (500, 501, 502, 503, 504)),
            Http(500, {"message": "no handler", "stackTrace": []}),
            Http(502, b"<p>Bad gateway</p>", media="text/html"),
            Http(503, headers={"retry-after": "100000"}),
        ),
    ),
    Row(
        "401, 403, with any body",
        GIVES_UP,
        tuple(Http(status, body) for status in (401, 403) for body in (None, failure(-32600))),
    ),
    Row(
        "429 or 503 with a `Retry-After` within the time left",
        WAITS,
        (Http(429, headers={"retry-after": "0"}), Http(503, headers={"retry-after": "0.2"})),
    ),
    Row(
        "429 with a later `Retry-After`",
        GIVES_UP,
        (
            Http(429, headers={"retry-after": "100000"}),
            Http(429, failure(-32000), {"retry-after": "Sat, 01 Jan 2124 00:00:00 GMT"}),
        ),
    ),
    Row(
        "429 without `Retry-After`",
        WAITS_IN_VAIN,
        (Http(429), Http(429, failure(-32603)), Http(429, headers={"retry-after": "soon"})),
    ),
    Row(
        "a redirect with the message, within the origin",
        FOLLOWS,
        tuple(Http(status, headers={"location": "/there"}) for status in (301, 302, 307, 308)),
    ),
    Row(
        "any other 3xx",
        GIVES_UP,
        (
            Http(300),
            Http(303, headers={"location": "/there"}),
            Http(307, headers={"location": _ELSEWHERE}),
        ),
    ),
    Row("no answer in `Options.timeout`, or a broken connection", GIVES_UP, ("silence", "end")),
)
"""Over HTTP."""

OVER_STDIO: Final = (
    Row("a result that lists a common revision", SPEAKS, (DISCOVERED,)),
    Row(
        "a result that lists only revisions with a handshake, or none",
        HANDSHAKE,
        (result(supportedVersions=[OLD], capabilities={}), result()),
    ),
    Row(
        "a result or -32022 with unknown revisions only",
        GIVES_UP,
        (
            result(supportedVersions=["2099-01-01"], capabilities={}),
            failure(-32022, supported=["2099-01-01"]),
        ),
    ),
    Row("-32022 that lists the revision asked for", GIVES_UP, (failure(-32022, supported=[NEW]),)),
    Row(
        "-32022 that lists only revisions with a handshake",
        HANDSHAKE,
        (failure(-32022, supported=[OLD]),),
    ),
    Row("-32021", GIVES_UP, (failure(-32021),)),
    Row("any other error", HANDSHAKE, tuple(map(failure, (-32020, *_OTHER_ERRORS)))),
    Row("no answer in `Options.probe_timeout`", RESTARTS, ("silence",)),
    Row("the program ends", RESTARTS, ("end",)),
)
"""Over stdio, from a program that the client has started."""

TABLES: Final = {"http": OVER_HTTP, "stdio": OVER_STDIO}


def table(name: str) -> str:
    rows = "".join(f"| {row.answer} | {row.does} |\n" for row in TABLES[name])
    return f"| the server answers | the client |\n|---|---|\n{rows}"


def with_tables(page: str) -> str:
    return MARKED.sub(lambda found: found["mark"] + table(found["name"]), page)
