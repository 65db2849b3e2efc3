"""JSON text that is not strict, or fits no request: read alike, repaired, or refused at once."""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.vectors.responder_protocol import read_hello
from mcp_protogen.pipeline.inputs import descriptions, facts
from mcp_protogen.runtime.connection import Connection, Refusal
from mcp_protogen.runtime.core.connection_errors import RequestTimeout
from mcp_protogen.runtime.transports.streams import LineReader
from mcp_protogen.servers.call.calls import CallTimeout
from pydantic import ValidationError
from support.json_types import Json, JsonObject
from support.revisions import OLD, STATELESS
from support.runtime.receiving import take_events
from support.sessions.bridging import serve_bridged
from support.sessions.odd_servers import Handshaking, Reply, Request, connecting, odd_server
from support.sessions.talking import (
    Accepting,
    Hand,
    client,
    content_of,
    error,
    hello,
    models,
    pkg,
    request,
    server,
    shaken,
    tools,
    welcome,
)
from support.tables import case

pytestmark = pytest.mark.skips_time

TIMEOUT = 30.0
OPTIONS = pkg.Options(timeouts={}, timeout=TIMEOUT)
Play = Callable[[Hand, int], Awaitable[None]]


def text_of(id: object, text: str = '"t"') -> bytes:
    """The answer to a tool call as a line, with a JSON text for its text."""
    content = b'{"content":[{"type":"text","text":%b}]}' % text.encode()
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (json.dumps(id).encode(), content)


async def answer_all(hand: Hand, id: int) -> None:
    await hand.send(text_of(id))


def acting(play: Play = answer_all, *, before: bytes | None = None) -> Accepting:
    """Return a server of the handshake era that answers each tool call as `play` does."""

    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            if message["method"] == "server/discover":
                await hand.send(before or error(message["id"], -32601))
            elif message["method"] == "initialize":
                await hand.send(welcome(message["id"], tools={}))
            elif message["method"] == "tools/call":
                await play(hand, message["id"])

    return Accepting(talk)


def sending(line: bytes) -> Accepting:
    """Return a server that answers tool calls with a line; `%d` in it becomes the id."""

    async def play(hand: Hand, id: int) -> None:
        await hand.send(line.replace(b"%d", b"%d" % id))

    return acting(play)


async def call(opener: Accepting) -> tuple[Json, float]:
    """Return the content of a tool's result, or the error, and the seconds that it took."""
    loop = asyncio.get_running_loop()
    async with pkg.connect(opener, client(OLD), options=OPTIONS) as ours:
        began = loop.time()
        try:
            found: Json = content_of(await ours.call_tool("x"))
        except (pkg.ProtocolError, pkg.Disconnected) as raised:
            found = raised
        return found, loop.time() - began


async def test_client_reads_answers_whose_meaning_is_clear(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for line, text, repair in [
        (text_of("%d", '"cut \\ud83d"'), "cut \ufffd", "surrogate"),
        (b"\xef\xbb\xbf" + text_of("%d"), "t", "byte order mark"),
        (b'{"jsonrpc":"2.0","method":"notifications/m"}' + text_of("%d"), "t", "same line"),
    ]:
        with case(line):
            caplog.clear()
            content, seconds = await call(sending(line.replace(b'"%d"', b"%d")))
            assert [block.text for block in content] == [text]
            assert seconds == 0
            (warning,) = [record for record in caplog.records if record.levelno == logging.WARNING]
            assert repair in warning.getMessage()


async def test_unreadable_answer_fails_its_call_at_once() -> None:
    answer = text_of("%d", "NaN").replace(b'"%d"', b"%d")
    for line, reason in [
        (answer, "NaN is not JSON"),
        (answer.replace(b"NaN", b'"\xff"'), "invalid UTF-8 at byte"),
        (b'{"jsonrpc":"2.0","id":%d,"result":{}', "EOF"),
        # Without an id, it answers the only request that is open.
        (answer.replace(b'"id":%d', b'"id":NaN'), "NaN is not JSON"),
        (b'{"jsonrpc":"2.0","id":', "EOF"),
        (b'{"jsonrpc":"2.0","result":{}}', "the result has no id"),
        # JavaScript leaves out a result that is undefined.
        (b'{"jsonrpc":"2.0","id":%d}', "a message must have a method, a result or an error"),
        (b'{"jsonrpc":"2.0","id":%d,"method":null,"result":{}}', "must not have a result or"),
        (b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","result":{}}', "must not have a result"),
        # The server's message is kept, even from a malformed error.
        (b'{"jsonrpc":"2.0","id":%d,"error":"too long"}', "too long"),
        (b'{"jsonrpc":"2.0","id":%d,"error":{"code":"E1","message":"too long"}}', "too long"),
        (b'{"jsonrpc":"2.0","id":%d,"error":{"code":1,"message":["too long"]}}', "too long"),
    ]:
        with case(line):
            found, seconds = await call(sending(line))
            assert isinstance(found, pkg.RemoteError)
            assert reason in str(found)
            assert seconds == 0


async def test_utf_16_fails_the_handshake_at_once() -> None:
    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            await hand.send(json.dumps(welcome(message["id"])).encode("utf-16-le"))

    with pytest.raises(pkg.RemoteError, match="UTF-16; messages must be UTF-8"):
        async with pkg.connect(Accepting(talk), client(OLD)):
            pass


async def test_lines_for_people_end_no_call() -> None:
    for line in [
        b"Listening",
        b"caf\xe9",
        b'[INFO] sent {"jsonrpc":"2.0","id":%d,"result":{}}',
        b"{ level: 'info' }",
        b'{"level":"info","error":"none"}',
        b'{"level":"info","error":NaN}',
    ]:

        async def play(hand: Hand, id: int, line: bytes = line) -> None:
            await hand.send(line.replace(b"%d", b"%d" % id), text_of(id))

        with case(line):
            content, _ = await call(acting(play))
            assert content[0].text == "t"


async def test_error_without_id_ends_the_only_call_at_once() -> None:
    for line in [
        b'{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"too long"}}',
        b'{"jsonrpc":"2.0","error":{"code":-32602,"message":"too long"}}',
    ]:
        with case(line):
            found, seconds = await call(sending(line))
            assert isinstance(found, pkg.McpError)
            assert (found.code, found.message, seconds) == (-32602, "too long", 0)


async def test_error_without_id_is_told_at_the_end_of_several_calls() -> None:
    async def play(hand: Hand, id: int) -> None:
        if id % 2:
            await hand.send(error(None, -32602, "too long"))

    async with pkg.connect(acting(play), client(OLD), options=OPTIONS) as ours:
        calls = [ours.call_tool("x") for _ in range(2)]
        found = await asyncio.gather(*calls, return_exceptions=True)
    assert any(
        "meanwhile the server sent an answer without an id" in str(raised) for raised in found
    )
    assert all(isinstance(raised, pkg.RequestTimeout) for raised in found)


async def test_error_without_id_may_be_about_a_notification() -> None:
    async def play(hand: Hand, id: int) -> None:
        await hand.send(error(None, -32601, "no such method"), text_of(id))

    content, _ = await call(acting(play))
    assert content[0].text == "t"


async def test_timeout_tells_of_answers_to_other_requests() -> None:
    for answered, shown in [("1", "'1'"), (0, "0"), ("x" * 900, "'xxx")]:
        with case(answered):
            found, seconds = await call(sending(text_of(answered)))
            assert isinstance(found, pkg.RequestTimeout)
            text = f"within 30 s; meanwhile the server answered a request with the id {shown}"
            assert text in str(found)
            assert "which is not open (2 is)" in str(found)
            assert len(str(found)) < 300
            assert seconds == TIMEOUT


async def test_time_limit_of_commands_tells_of_answers_to_other_requests() -> None:
    async with pkg.connect(sending(text_of("1")), client(OLD)) as ours:
        work = partial(ours.call_tool, "x")
        with pytest.raises(RequestTimeout, match=r"within 3 s; meanwhile .* the id '1'"):
            await CallTimeout(3).run(work, cast(Any, ours))


async def test_timeout_quotes_arrays_without_messages() -> None:
    for line in [b"[]", b'[[{"jsonrpc":"2.0","id":%d,"result":{}}]]', b'[{"level":"info"}]']:
        with case(line):
            found, _ = await call(sending(line))
            assert isinstance(found, pkg.RequestTimeout)
            assert f"the server wrote '{line[:5].decode()}" in str(found)


async def test_end_of_connection_tells_of_the_latest_answers_to_other_requests() -> None:
    async def play(hand: Hand, id: int) -> None:
        await hand.send(*(text_of(f"a{number}") for number in range(5)))
        await hand.transport.close()

    found, _ = await call(acting(play))
    assert isinstance(found, pkg.Disconnected)
    assert [f"'a{number}'" in str(found) for number in range(5)] == [False] * 2 + [True] * 3


async def test_handshake_tells_of_answers_to_other_requests() -> None:
    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            await hand.send(welcome(str(message["id"])))

    with pytest.raises(pkg.RequestTimeout, match=r"initialize.*the id '2', which is not open"):
        async with pkg.connect(Accepting(talk)):
            pass


async def test_empty_answer_ends_the_handshake_at_once() -> None:
    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            await hand.send({"jsonrpc": "2.0", "id": message["id"]})

    with pytest.raises(pkg.RemoteError, match="in the answer to initialize"):
        async with pkg.connect(Accepting(talk), client(OLD)):
            pass


async def test_error_without_id_answers_the_probe() -> None:
    before = json.dumps(error(None, -32600)).encode()
    loop = asyncio.get_running_loop()
    began = loop.time()

    async with pkg.connect(acting(before=before)) as ours:
        assert ours.revision == OLD
    assert loop.time() == began


async def test_late_error_without_id_is_that_of_the_probe() -> None:
    async def talk(hand: Hand) -> None:
        while (message := await hand.take()) is not None:
            if message["method"] == "initialize":
                await hand.send(error(None, -32600), welcome(message["id"], tools={}))

    async with pkg.connect(Accepting(talk)) as ours:
        assert ours.revision == OLD


async def test_bridge_ends_the_call_that_has_an_unreadable_answer() -> None:
    line = text_of("%d", "NaN").replace(b'"%d"', b"%d")
    async with serve_bridged(sending(line)) as hand:
        await hand.greet()
        answer = await hand.ask("tools/call", 1, name="x")
        assert (answer["id"], answer["error"]["code"]) == (1, -32603)
        assert "NaN is not JSON" in answer["error"]["message"]


async def echo(session: Any, params: Any) -> str:
    return str(params.arguments["a"])


async def test_server_reads_requests_whose_meaning_is_clear() -> None:
    called = request("tools/call", 1, name="x", arguments={"a": "cut \ud83d"})
    async with shaken(tools(OLD, echo)) as hand:
        answer = await hand.ask("tools/call", 1, **called["params"])
        assert answer["result"]["content"][0]["text"] == "cut \ufffd"
        ping = json.dumps(request("ping", 2)).encode()
        await hand.send(b"\xef\xbb\xbf" + ping + b" " + ping.replace(b'"id": 2', b'"id": 3'))
        assert [(await hand.take())["id"] for _ in range(2)] == [2, 3]


async def test_unreadable_answer_of_client_fails_the_question_at_once() -> None:
    async def ask(session: Any, params: Any) -> str:
        try:
            await session.list_roots()
        except pkg.RemoteError as raised:
            return str(raised)
        return "answered"

    for line, reason in [
        (b'{"jsonrpc":"2.0","id":%b,"result":{"roots":NaN}}', "NaN is not JSON"),
        (b'{"jsonrpc":"2.0","id":%b}', "a message must have a method, a result or an error"),
    ]:
        with case(line):
            async with shaken(tools(OLD, ask)) as hand:
                question = await hand.ask("tools/call", 1, name="x")
                await hand.send(line % json.dumps(question["id"]).encode())
                text = (await hand.take())["result"]["content"][0]["text"]
                assert reason in text


Read = Callable[[bytes], object]
"""Reads a text that contains a value; raises an error, or returns what it made of it."""

TOKENS = (b"NaN", b"Infinity", b"-Infinity")
HANDSHAKE = pkg.load(OLD).methods


def with_value(message: JsonObject, value: bytes) -> bytes:
    """A message as text, with a value in the place of `"?"`."""
    return json.dumps(message).encode().replace(b'"?"', value)


PING = request("ping", _meta={"a": ["?"]})
RESULT: JsonObject = {"content": [], "resultType": "complete"}


def line_of_stdio(value: bytes) -> object:
    """A line, and what the connection that it comes to says of it."""
    (line,) = LineReader().feed(with_value(PING, value) + b"\n")
    connection = Connection(HANDSHAKE.TABLE, "server", {})
    assert isinstance(line, bytes)
    event = take_events(connection, line)
    if isinstance(event, Refusal):
        raise event.error
    return event


def body_of_a_post(value: bytes) -> object:
    """What the HTTP server answers, asked without any socket."""
    app = pkg.http_app(server(OLD))
    message = hello()
    message["params"]["clientInfo"]["a"] = "?"
    headers = {
        "host": "localhost",
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "headers": [(name.encode(), text.encode()) for name, text in headers.items()],
    }
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> JsonObject:
        return {"type": "http.request", "body": with_value(message, value)}

    async def send(event: MutableMapping[str, Any]) -> None:
        sent.append(event)

    async def script() -> None:
        await app(scope, receive, send)
        await app.close()

    asyncio.run(script())
    if sent[0]["status"] != 200:
        raise ValueError(sent)
    return sent


def answer_of_http(value: bytes, streamed: bool) -> object:
    """What the HTTP client makes of an answer."""

    async def call(asked: Request, reply: Reply) -> None:
        result: JsonObject = {"content": [], "_meta": {"a": "?"}}
        text = with_value({"jsonrpc": "2.0", "id": asked.id, "result": result}, value)
        if streamed:
            await reply.stream()
            await reply.raw(b"data: %b\n\n" % text)
        else:
            await reply.send(200, text)

    async def script() -> object:
        async with odd_server(Handshaking(call)) as made, connecting(made.url) as client:
            return await client.call_tool("x")

    return asyncio.run(script())


def facts_of(value: bytes, folder: Path) -> object:
    """The facts in a file that contains a value."""
    path = folder / "1" / "facts.json"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b'{"inherits":null,"a":%b}' % value)
    return facts.load(folder, "1")


def descriptions_of(value: bytes, folder: Path) -> object:
    """The descriptions in a file that contains a value."""
    path = folder / "descriptions.json"
    path.write_bytes(b'{"types":{"A":%b}}' % value)
    return descriptions.load(path, "1")


def readers(folder: Path) -> dict[str, Read]:
    """Everything that reads JSON text which others have written."""
    result = models(STATELESS).CallToolResult
    answer = {"jsonrpc": "2.0", "id": 1, "result": {**RESULT, "structuredContent": "?"}}
    spec = pkg.load(STATELESS).methods.CALL_TOOL
    return {
        "a member of any type": lambda value: result.from_json(
            with_value({**RESULT, "structuredContent": {"a": ["?"]}}, value)
        ),
        "an undeclared member": lambda value: result.from_json(
            with_value({**RESULT, "later": "?"}, value).decode()
        ),
        "a request": lambda value: HANDSHAKE.parse_request(
            with_value(PING, value), sender="client"
        ),
        "an answer": lambda value: pkg.load(STATELESS).methods.parse_answer(
            with_value(answer, value), spec=spec
        ),
        "a line of stdio": line_of_stdio,
        "the body of a POST": body_of_a_post,
        "an answer over HTTP": lambda value: answer_of_http(value, streamed=False),
        "an event of a stream": lambda value: answer_of_http(value, streamed=True),
        "a schema": lambda value: parse_json(b'{"a":%b}' % value, "schema.json"),
        "facts": lambda value: facts_of(value, folder),
        "descriptions": lambda value: descriptions_of(value, folder),
        "a responder": lambda value: read_hello(b'{"responder":1,"a":%b}' % value, "place"),
    }


def test_invalid_number_is_refused_by_every_reader(tmp_path: Path) -> None:
    refusals = (ValidationError, ProblemError, pkg.RemoteError, pkg.Disconnected, ValueError)
    for name, read in readers(tmp_path).items():
        assert read(b'"NaN"') is not None, name
        for token in TOKENS:
            try:
                found = read(token)
            except refusals:
                continue
            pytest.fail(f"{name}: {token!r} was read as {found!r}")


PROMPT = ("client", "prompts/get", "GetPromptRequestParams")
FORM = ("server", "elicitation/create", "ElicitRequestFormParams")
SAMPLING = ("server", "sampling/createMessage", "CreateMessageRequestParams")

# Params with a repeated member in place of @; a value that fits, and one that does not.
TWICE = (
    (PROMPT, "{@name@}", '"y"', "5"),
    (PROMPT, '{"name":"x",@arguments@}', "{}", "5"),
    (PROMPT, '{"name":"x","arguments":{@a@}}', '"y"', "5"),
    (
        FORM,
        '{"message":"m","requestedSchema":{"type":"object","properties":{@a@}}}',
        '{"type":"boolean"}',
        '{"type":"array"}',
    ),
    (
        FORM,
        '{"message":"m","requestedSchema":{"type":"object","properties":{"a":'
        '{"type":"boolean",@default@}}}}',
        "true",
        "5",
    ),
    (
        SAMPLING,
        '{"maxTokens":1,"messages":[{"role":"user","content":{@type@,"text":"a"}}]}',
        '"text"',
        '"image"',
    ),
)


@pytest.mark.parametrize(("about", "text", "fits", "fails"), TWICE)
def test_of_a_member_that_occurs_twice_the_last_one_counts(
    about: tuple[str, str, str], text: str, fits: str, fails: str
) -> None:
    sender, method, name = about
    before, member, after = text.split("@")

    def twice(first: str, last: str) -> str:
        return f'{before}"{member}":{first},"{member}":{last}{after}'

    def readings(params: str) -> list[Callable[[], Any]]:
        model = getattr(models(OLD), name)
        message = f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'
        return [
            lambda: model.from_json(params),
            lambda: model.from_json(params.encode()),
            lambda: model.from_wire(json.loads(params)),
            lambda: HANDSHAKE.parse_request(message, sender=sender).params,
            lambda: HANDSHAKE.parse_request(message.encode(), sender=sender).params,
        ]

    for read in readings(twice(fails, fits)):
        assert read().to_wire() == json.loads(twice(fits, fits))
    for read in readings(twice(fits, fails)):
        with pytest.raises((ValidationError, pkg.RemoteError)):
            read()


def test_a_number_too_large_to_hold_reads_alike_beside_a_word_that_is_no_number() -> None:
    model = models(STATELESS).CallToolResult
    for word in ("x", "NaN"):
        text = (
            f'{{"content":[],"resultType":"complete","structuredContent":[1e400,"{word}",1.0,1]}}'
        )
        read = model.from_json(text)
        assert read.structured_content == [float("inf"), word, 1.0, 1]
        assert read.to_json().endswith(f'[null,"{word}",1.0,1]}}'.encode())
