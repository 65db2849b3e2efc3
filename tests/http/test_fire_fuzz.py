"""Valid requests, bent in many ways at once: each answer is a documented one."""

import asyncio
import json
from functools import partial
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support.http.fire import (
    STACKS,
    Answer,
    Site,
    call,
    http,
    loop_of,
    modern,
    of_modern,
    quiet,
    serve_under_attack,
    wait_until_idle,
    wire,
)
from support.json_types import JsonObject
from support.patience import PATIENCE
from support.revisions import OLD, STATELESS
from support.sessions.talking import INITIALIZED, hello
from support.tables import case, count

BATCHING = "2025-03-26"

STATUSES = {200, 202, 204, 400, 403, 404, 405, 406, 408, 413, 415, 421, 431, 503}

SESSION = "the session"
WORDS = st.sampled_from(
    [
        "",
        "x",
        "initialize",
        "tools/call",
        "ping",
        "echo",
        OLD,
        STATELESS,
        BATCHING,
        "2.0",
        "\0",
        "é",
    ]
)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=5,
)
NAMES = [
    "host",
    "origin",
    "accept",
    "content-type",
    "content-length",
    "transfer-encoding",
    "connection",
    "expect",
    "mcp-session-id",
    "mcp-protocol-version",
    "mcp-method",
    "mcp-name",
    "mcp-param-x",
    "last-event-id",
]
TEXTS = st.sampled_from(
    f"{SESSION}|{OLD}|{STATELESS}|{BATCHING}|tools/call|echo|*/*|text/event-stream|application/json"
    "|http://[::1|null|localhost|0.1|chunked|close||7|upgrade|100-continue|9999999999999999999999"
    "|\xff".split("|")
)
BASES: list[tuple[Any, Any]] = [
    (hello(), {}),
    (INITIALIZED, {"mcp-session-id": SESSION}),
    (call("echo"), {"mcp-session-id": SESSION, "mcp-protocol-version": OLD}),
    ([call("echo", 1), call("echo", 2)], {"mcp-session-id": SESSION}),
    ({"jsonrpc": "2.0", "id": 1, "result": {}}, {"mcp-session-id": SESSION}),
    (modern("tools/call", name="echo", arguments={}), of_modern("tools/call", "echo")),
    (modern("server/discover"), of_modern("server/discover")),
    (modern("tools/list"), of_modern("tools/list")),
]
METHODS = st.sampled_from(["POST"] * 8 + ["GET", "DELETE", "PUT", "HEAD"])


@st.composite
def bent(draw: st.DrawFn, value: Any) -> Any:
    """A JSON value with one of its members changed, dropped, or added."""
    kind = type(value).__name__
    if kind not in ("dict", "list") or not value or draw(st.integers(0, 4)) == 0:
        return draw(VALUES)
    if kind == "list":
        first, *others = value
        return [draw(bent(first)), *others]
    key: str = draw(st.sampled_from(sorted(value)))
    change = draw(st.sampled_from(["bend", "drop", "add"]))
    if change == "add":
        return {**value, draw(WORDS): draw(VALUES)}
    rest: JsonObject = {name: value[name] for name in value if name != key}
    return rest if change == "drop" else {**rest, key: draw(bent(value[key]))}


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, dict[str, str | None], bytes, int]:
    """Yield a method, header fields, a body, and the sent share of it."""
    message, base = draw(st.sampled_from(BASES))
    fields: JsonObject = dict(base)
    for _ in range(draw(st.integers(0, 3))):
        fields[draw(st.sampled_from(NAMES))] = draw(st.none() | TEXTS)
    for _ in range(draw(st.integers(0, 2))):
        message = draw(bent(message))
    body = json.dumps(message).encode()
    if draw(st.integers(0, 9)) == 0:
        place = draw(st.integers(0, len(body)))
        body = body[:place] + draw(st.binary(max_size=4)) + body[place + 1 :]
    return draw(METHODS), fields, body, draw(st.sampled_from([100] * 9 + [50]))


async def send_bent(
    site: Site, mine: str, request: tuple[str, dict[str, str | None], bytes, int]
) -> None:
    """Send a bent request, and check the response."""
    method, fields, body, share = request
    fields = {name: mine if value == SESSION else value for name, value in fields.items()}
    data = http(body, method, **fields)
    # More may be announced than is sent; the server waits for the rest.
    announced = share < 100 or bool({"content-length", "transfer-encoding"} & set(fields))
    async with wire(site.port) as one:
        await one.send(data[: len(data) * share // 100])
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
        except asyncio.IncompleteReadError:
            # The connection was closed before a complete head.
            assert share < 100


async def rest(one: Any, answer: Answer, method: str) -> Answer:
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


def test_a_bent_request_gets_an_answer_that_is_documented() -> None:
    for stack in STACKS:
        with case(stack):
            bend(stack)


def bend(stack: str) -> None:
    with asyncio.Runner(loop_factory=partial(loop_of, stack)) as loop, quiet():
        entered = serve_under_attack(stack, body_timeout=0.1, max_waiting=10)
        site = loop.run(entered.__aenter__())
        mine: JsonObject = {"mcp-session-id": ""}

        @settings(
            max_examples=count(100, 600),
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
            ],
        )
        @given(requests())
        def attack(request: tuple[str, dict[str, str | None], bytes, int]) -> None:
            async def once() -> None:
                again = http(call("echo"), **mine)
                if not mine["mcp-session-id"] or (await site.ask(again)).status == 404:
                    mine.update(await site.session())
                await send_bent(site, mine["mcp-session-id"], request)
                assert (await site.ask(http(call("echo"), **mine))).status in (200, 404)

            loop.run(once())

        attack()
        loop.run(wait_until_idle(site.app))
        loop.run(site.is_fine())
        loop.run(entered.__aexit__(None, None, None))
