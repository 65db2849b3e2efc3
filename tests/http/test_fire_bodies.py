"""Abnormal request bodies: each gets its status and code, and harms no other client."""

import json
from collections.abc import Callable
from itertools import product
from typing import Any, NamedTuple

import pytest
from support.http.fire import (
    Fields,
    call,
    http,
    modern,
    of_modern,
    on_each_stack,
    serve_under_attack,
    wire,
)
from support.json_types import JsonObject
from support.revisions import STATELESS
from support.sessions.talking import hello
from support.tables import case

BATCHING = "2025-03-26"

PARSE, REQUEST, PARAMS = -32700, -32600, -32602


class Case(NamedTuple):
    """A body, the status of the answer, and the code of its error."""

    name: str
    body: bytes
    status: int
    code: int | None = None


def ping(member: bytes = b"", id: bytes = b"1") -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"method":"ping"%b}' % (id, member)


def argument(value: bytes) -> bytes:
    """A tool call with a JSON text for an argument."""
    params = b'{"name":"echo","arguments":{"a":%b}}' % value
    return b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % params


def nest_arrays(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


NOT_JSON = [
    Case("nothing", b"", 400, PARSE),
    Case("half of it", ping()[:-1], 400, PARSE),
    Case("two of it", ping() + ping(), 400, PARSE),
    Case("UTF-16", ping().decode().encode("utf-16"), 400, PARSE),
    Case("invalid UTF-8", argument(b'"\xff\xfe"'), 400, PARSE),
    Case("NUL in a string", argument(b'"\0"'), 400, PARSE),
    Case("NaN", argument(b"NaN"), 400, PARSE),
    Case("a number of 5000 digits", argument(b"1" * 5000), 400, PARSE),
    Case("an id of 5000 digits", ping(id=b"1" * 5000), 400, PARSE),
    Case("nested 100,000 times", nest_arrays(100_000), 400, PARSE),
    Case("nested objects", b'{"a":' * 5000 + b"1" + b"}" * 5000, 400, PARSE),
    Case("nested 300 times in an argument", argument(nest_arrays(300)), 400, PARSE),
]


NO_MESSAGE = [
    Case("a number", b"1", 400, REQUEST),
    Case("a text", b'"ping"', 400, REQUEST),
    Case("null", b"null", 400, REQUEST),
    Case("an empty object", b"{}", 400, REQUEST),
    Case("an empty array", b"[]", 400, REQUEST),
    Case("an array of a message", b"[%b]" % ping(), 400, REQUEST),
    Case("no jsonrpc", b'{"id":1,"method":"ping"}', 400, REQUEST),
    Case("another jsonrpc", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, REQUEST),
    Case("jsonrpc as a number", b'{"jsonrpc":2.0,"id":1,"method":"ping"}', 400, REQUEST),
    Case("a method that is none", b'{"jsonrpc":"2.0","id":1,"method":{}}', 400, REQUEST),
    Case("an id that is null", ping(id=b"null"), 400, REQUEST),
    Case("a message with a method and a result", ping(b',"result":{}'), 400, REQUEST),
    Case("initialize once more", json.dumps(hello()).encode(), 400, REQUEST),
]

SERVED = [
    Case("unknown members", ping(b',"more":[1,2,3],"__proto__":{}'), 200),
    Case("an id that is empty", ping(id=b'""'), 200),
    Case("an id of 1000 digits", ping(id=b"-" + b"9" * 1000), 200),
    Case("an id of 1001 digits", ping(id=b"1" + b"0" * 1000), 400, REQUEST),
    Case("an id of 1000 characters", ping(id=b'"%b"' % (b"x" * 1000)), 200),
    Case("a longer id", ping(id=b'"%b"' % (b"x" * 1001)), 400, REQUEST),
    Case("an id with line ends", ping(id=rb'"a\r\ndata: b\n\n"'), 200),
    Case("an id with NUL", ping(id=rb'"\u0000"'), 200),
    Case("NUL in a string, escaped", argument(rb'"\u0000"'), 200),
    Case("a byte order mark", b"\xef\xbb\xbf" + ping(), 200),
    Case("a lone surrogate", argument(rb'"\ud800"'), 200),
    Case("a pair of surrogates", argument(rb'"\ud83d\ude00"'), 200),
    Case("nested 150 times", argument(nest_arrays(150)), 200),
    Case(
        "a member of 100,000 others",
        argument(json.dumps(dict.fromkeys(map(str, range(100_000)))).encode()),
        200,
    ),
    Case("an unknown method", ping().replace(b"ping", b"no/such"), 200, -32601),
    Case("a very long method", ping().replace(b"ping", b"x" * 100_000), 200, -32601),
    Case("params that are an array", ping(b',"params":[1]'), 200, PARAMS),
    Case("an answer to nothing", b'{"jsonrpc":"2.0","id":99,"result":{}}', 202),
    Case(
        "an error about nothing",
        b'{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}',
        202,
    ),
    Case("an unknown notification", b'{"jsonrpc":"2.0","method":"notifications/no/such"}', 202),
    Case(
        "a notification with bad params",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}',
        202,
    ),
    Case(
        "cancels nothing",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}',
        202,
    ),
]

ALL = [*NOT_JSON, *NO_MESSAGE, *SERVED]


async def test_an_odd_body_gets_its_status_in_a_session() -> None:
    async with serve_under_attack() as site:
        for case in ALL:
            answer = await site.ask(http(case.body, **await site.session()))
            assert answer.status == case.status, (case.name, answer)
            if case.status == 202:
                assert not answer.body, case.name
            else:
                code = answer.message.get("error", {}).get("code")
                assert code == case.code, (case.name, answer)
            await site.is_fine()


async def test_a_number_that_is_too_large_to_hold_is_served() -> None:
    async with serve_under_attack() as site:
        answer = await site.ask(http(argument(b"1e400"), **await site.session()))
        assert (answer.status, "result" in answer.message) == (200, True)
        await site.is_fine()


def meta(**changed: Any) -> JsonObject:
    message = modern("tools/call", name="echo")
    message["params"]["_meta"].update(changed)
    return message


VERSION, CLIENT = (
    "io.modelcontextprotocol/protocolVersion",
    "io.modelcontextprotocol/clientCapabilities",
)
ODD: list[Any] = [None, 1, True, [], {}, [[]], "", "2026-07-28\r\nx: y", "x" * 50_000]


KEYS = (VERSION, CLIENT, "progressToken", "io.modelcontextprotocol/logLevel")


async def test_an_odd_meta_is_refused_or_served_but_never_a_failure() -> None:
    async with serve_under_attack() as site:
        for key, value in product(KEYS, ODD):
            fields = of_modern("tools/call", "echo")
            answer = await site.ask(http(meta(**{key: value}), **fields))
            where = (key, repr(value)[:20], answer)
            assert answer.status in (200, 400), where
            assert answer.message["id"] == 1, where
            if key in (VERSION, CLIENT) and value != {}:
                assert answer.status == 400, where
                assert answer.message["error"]["code"] in (PARAMS, -32020), where
            await site.is_fine()


def batch(members: int, one: Any) -> bytes:
    return json.dumps([{**one, "id": number} for number in range(members)]).encode()


async def test_an_odd_batch_gets_its_status() -> None:
    for name, (body, status) in {
        "empty": (b"[]", 400),
        "no messages": (b"[1,null,[]]", 200),
        "100,000": (b"[" + b",".join([b"{}"] * 100_000) + b"]", 400),
        "nested": (b"[[" + ping() + b"]]", 200),
        "one id thrice": (b"[" + b",".join([ping()] * 3) + b"]", 200),
        "1000": (batch(1000, json.loads(ping())), 200),
        "nothing to answer": (b'[{"jsonrpc":"2.0","method":"notifications/no/such"}]', 202),
    }.items():
        with case(name):
            async with serve_under_attack() as site:
                answer = await site.ask(http(body, **await site.session(BATCHING)))
                assert answer.status == status, answer
                await site.is_fine()


LIMIT = 1000


def declare_size(size: int) -> Callable[[Fields], bytes]:
    return lambda mine: http(b"", **{**mine, "content-length": str(size)})


def chunks(mine: Fields) -> bytes:
    head = http(b"", **{**mine, "content-length": None, "transfer-encoding": "chunked"})
    return head + b"64\r\n%b\r\n" % (b" " * 100) * (LIMIT // 100 + 1)


@pytest.mark.parametrize(
    "data",
    [declare_size(LIMIT + 1), declare_size(10**18), chunks],
    ids=["too much by one", "far too much", "chunks without end"],
)
@on_each_stack
async def test_a_body_that_is_too_large_is_refused_before_it_has_come(
    data: Callable[[Fields], bytes], stack: str
) -> None:
    async with serve_under_attack(stack, max_body=LIMIT) as site:
        answer = await site.ask(data(await site.session()))
        assert answer.status == 413
        await site.is_fine()


@on_each_stack
async def test_a_body_that_does_not_come_is_waited_for_no_longer_than_said(stack: str) -> None:
    async with serve_under_attack(stack, body_timeout=0.1) as site:
        mine = await site.session()
        assert (await site.ask(declare_size(10)(mine))).status == 408
        async with wire(site.port) as slow:
            await slow.send(declare_size(10)(mine) + b"123")
            assert (await slow.answer()).status == 408
        await site.is_fine()


@pytest.mark.parametrize("era", ["a session", STATELESS])
@on_each_stack
async def test_who_leaves_in_the_middle_of_a_body_leaves_nothing_behind(
    era: str, stack: str
) -> None:
    async with serve_under_attack(stack) as site:
        mine = await site.session() if era != STATELESS else of_modern("tools/call", "echo")
        for _ in range(20):
            async with wire(site.port) as one:
                await one.send(http(call("echo"), **mine)[:-5])
                one.vanish()
        await site.is_fine()
        assert site.attacked.begun == 2
