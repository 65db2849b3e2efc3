"""JSON text is read alike in every place: invalid numbers, and repeated members."""

import asyncio
import json
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.vectors.responder_protocol import read_hello
from mcp_protogen.pipeline.inputs import descriptions, facts
from mcp_protogen.runtime.connection import Connection, Refusal
from mcp_protogen.runtime.transports.streams import LineReader
from pydantic import ValidationError
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.runtime.receiving import take_events
from support.sessions.odd_servers import Handshaking, Reply, Request, connecting, odd_server
from support.sessions.talking import hello, models, pkg, request, server

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
