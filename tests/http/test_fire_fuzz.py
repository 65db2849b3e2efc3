"""Valid requests, bent in many ways at once: each answer is a documented one."""

import asyncio
import json
from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Any

from support.fuzzing import bent_documents
from support.http.fire import (
    Answer,
    Site,
    Wire,
    call,
    http,
    modern,
    of_modern,
    on_each_stack,
    serve_under_attack,
    wire,
)
from support.json_types import JsonObject
from support.patience import PATIENCE
from support.revisions import OLD, STATELESS
from support.sessions.talking import INITIALIZED, hello
from support.tables import case, count

STATUSES = {200, 202, 204, 400, 403, 404, 405, 406, 408, 413, 415, 421, 431, 503}
SESSION = "the session"
METHODS = ("POST",) * 8 + ("GET", "DELETE", "PUT", "HEAD")
NAMES = (
    *("host", "origin", "accept", "content-type", "content-length", "transfer-encoding", "expect"),
    *("connection", "mcp-session-id", "mcp-protocol-version", "mcp-method", "mcp-name"),
    *("mcp-param-x", "last-event-id"),
)
TEXTS = (
    *((None,) * 12),
    *(SESSION, OLD, STATELESS, "2025-03-26", "tools/call", "echo", "*/*", "", "7", "\xff"),
    *("text/event-stream", "application/json", "http://[::1", "null", "localhost", "0.1"),
    *("chunked", "close", "upgrade", "100-continue", "9999999999999999999999"),
)
BASES: tuple[tuple[JsonObject, dict[str, Any]], ...] = (
    (hello(), {}),
    (INITIALIZED, {"mcp-session-id": SESSION}),
    (call("echo"), {"mcp-session-id": SESSION, "mcp-protocol-version": OLD}),
    ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"mcp-session-id": SESSION}),
    (modern("tools/call", name="echo", arguments={}), of_modern("tools/call", "echo")),
    (modern("server/discover"), of_modern("server/discover")),
    (modern("tools/list"), of_modern("tools/list")),
)


def bend_bodies(message: JsonObject, amount: int) -> Iterator[bytes]:
    """Yield a message with wrong members, with wrong params, and as a member of a batch."""
    yield from bent_documents([message], amount)
    around = json.dumps({**message, "params": SESSION}).encode()
    for params in bent_documents([message.get("params", {})], amount):
        body = around.replace(json.dumps(SESSION).encode(), params)
        yield from (body, b"[%b]" % body)


def bend_requests(amount: int) -> Iterator[tuple[str, dict[str, Any], bytes]]:
    """Yield methods, header fields and bodies."""
    random = Random(amount)
    for message, base in BASES:
        for body in chain(
            [json.dumps(message).encode()] * 3 * amount, bend_bodies(message, amount)
        ):
            # What a request has is changed more often than what it lacks.
            odd = random.choices((*NAMES, *[*base] * 3), k=random.randint(0, 3))
            yield random.choice(METHODS), {**base, **{x: random.choice(TEXTS) for x in odd}}, body


async def send_bent(site: Site, method: str, fields: dict[str, Any], body: bytes) -> None:
    """Send a bent request, and check the response."""
    # More may be announced than is sent; the server waits for the rest.
    announced = bool({"content-length", "transfer-encoding"} & set(fields))
    async with wire(site.port) as one:
        await one.send(http(body, method, **fields))
        try:
            async with asyncio.timeout(0.3 if announced else PATIENCE):
                answer = await one.head()
                if answer.status == 100:
                    answer = await one.head()
                if answer.field("content-type") == "text/event-stream":
                    assert answer.status == 200
                    return
                judge(method, await rest(one, answer, method))
        except TimeoutError:
            assert announced


async def rest(one: Wire, answer: Answer, method: str) -> Answer:
    length = int(answer.field("content-length") or 0) if method != "HEAD" else 0
    if answer.field("transfer-encoding") == "chunked" and method != "HEAD":
        return answer._replace(body=b"".join([piece async for piece in one.pieces()]))
    return answer._replace(body=await one.reader.readexactly(length))


def judge(method: str, answer: Answer) -> None:
    """Require a documented answer."""
    assert answer.status in STATUSES, answer
    assert answer.status != 503 or answer.field("retry-after")
    if answer.field("content-type") == "application/json" and method != "HEAD":
        said = answer.message
        for message in said if answer.body.startswith(b"[") else [said]:
            assert message["jsonrpc"] == "2.0"
            assert ("result" in message) != ("error" in message), answer
            if "error" in message:
                assert isinstance(message["error"]["code"], int) and message["error"]["message"]
        assert answer.status == 200 or "error" in said
    else:
        # Refusals of the parser itself.
        assert not answer.body or answer.body == b"Invalid HTTP request received.", answer


@on_each_stack
async def test_a_bent_request_gets_an_answer_that_is_documented(stack: str) -> None:
    mine: JsonObject = {}
    async with serve_under_attack(stack, body_timeout=0.1, max_waiting=10) as site:
        for method, fields, body in bend_requests(count(4, 100)):
            again = http(call("echo"), **mine)
            if not mine or (await site.ask(again)).status == 404:
                mine.update(await site.session())
            own = {x: mine["mcp-session-id"] if y == SESSION else y for x, y in fields.items()}
            with case((method, fields, body)):
                await send_bent(site, method, own, body)
        await site.is_fine()
