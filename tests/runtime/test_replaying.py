"""Replayed servers: equal requests, and the order of messages."""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from mcp_protogen.runtime.transports.recordings import (
    Entry,
    RecordingError,
    Redaction,
    TrafficRecording,
    read_recording,
)
from mcp_protogen.runtime.transports.replaying import Playback, Script, replaying
from support.json_types import Json, JsonObject
from support.tables import case

TOKEN = "progressToken"
STREAM = "io.modelcontextprotocol/subscriptionId"


def request(id: object, method: str, **params: object) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": params}


def call(id: object, name: str = "a", **more: object) -> JsonObject:
    return request(id, "tools/call", name=name, **more)


def notification_of(method: str, **params: object) -> JsonObject:
    return {"jsonrpc": "2.0", "method": f"notifications/{method}", "params": params}


def result(id: object, **said: object) -> JsonObject:
    return {"jsonrpc": "2.0", "id": id, "result": said}


def playing(*said: tuple[str, Json], **about: object) -> Playback:
    """Return a server of a recording in which `>` marks the client, and `<` the server."""
    entries = [Entry("client" if who == ">" else "server", message) for who, message in said]
    return Playback(Script(TrafficRecording(dict(about), entries)))


def takes(server: Playback, message: Json) -> list[Json]:
    async def exchange() -> list[Json]:
        # The answer to the ping shows the end of those before.
        await server.send([json.dumps(sent).encode() for sent in (message, request("end", "ping"))])
        return [json.loads(line) for line in await server.receive() if isinstance(line, bytes)]

    *answers, end = asyncio.run(exchange())
    assert end == result("end")
    return answers


def test_connection_specific_members_are_ignored_in_match() -> None:
    recorded = call(1, arguments={"x": 1, "y": [2]}, _meta={TOKEN: 1, "own": 1})
    server = playing((">", recorded), ("<", result(1, said="yes")))
    same = {
        "another id": call("7", arguments={"x": 1, "y": [2]}, _meta={"own": 1}),
        "another order": call(2, arguments={"y": [2], "x": 1}, _meta={"own": 1}),
        "what the protocol adds": call(
            3,
            arguments={"x": 1, "y": [2]},
            _meta={"own": 1, "io.modelcontextprotocol/clientInfo": {}, "traceparent": "00"},
        ),
    }
    for name, message in same.items():
        with case(name):
            assert takes(server, message) == [result(message["id"], said="yes")]
    others = {
        "another value": call(1, arguments={"x": 2, "y": [2]}, _meta={"own": 1}),
        "true in place of 1": call(1, arguments={"x": True, "y": [2]}, _meta={"own": 1}),
        "other _meta": call(1, arguments={"x": 1, "y": [2]}),
    }
    for name, message in others.items():
        with case(name):
            assert "error" in takes(server, message)[0]


def test_answers_come_in_their_order_and_the_last_one_from_then_on() -> None:
    said = [(">", call(1)), ("<", result(1, n=1)), (">", call(2)), ("<", result(2, n=2))]
    server = playing(*said)
    given = [takes(server, call(id))[0]["result"]["n"] for id in range(4)]
    assert given == [1, 2, 2, 2]


def test_handshake_is_answered_for_any_client() -> None:
    opening = request(1, "initialize", protocolVersion="2025-11-25", clientInfo={"name": "a"})
    server = playing((">", opening), ("<", result(1, protocolVersion="2025-11-25")))
    assert takes(server, request(9, "initialize", protocolVersion="2024-11-05")) == [
        result(9, protocolVersion="2025-11-25")
    ]


def test_notifications_before_answer_are_replayed_in_place() -> None:
    server = playing(
        ("<", notification_of("message", data="first")),
        (">", call(1, _meta={TOKEN: "p"})),
        (">", call(2, "b")),
        ("<", notification_of("progress", progressToken="p", progress=1)),
        ("<", notification_of("message", data="of b")),
        ("<", result(2)),
        ("<", result(1)),
        ("<", notification_of("tools/list_changed")),
    )
    begun = asyncio.run(server.receive())
    first = [json.loads(line)["params"] for line in begun if isinstance(line, bytes)]
    assert first == [{"data": "first"}]
    said = takes(server, call(5, _meta={TOKEN: 7}))
    assert said == [notification_of("progress", progressToken=7, progress=1), result(5)]
    assert takes(server, call(6, _meta={})) == [result(6)], "nobody wants to know of progress"
    assert takes(server, call(8, "b")) == [
        notification_of("message", data="of b"),
        result(8),
        notification_of("tools/list_changed"),
    ]


def test_stream_events_follow_last_request() -> None:
    server = playing(
        (">", request("l", "subscriptions/listen")),
        ("<", notification_of("subscriptions/acknowledged", _meta={STREAM: "l"})),
        (">", call(2)),
        ("<", notification_of("tools/list_changed", _meta={STREAM: "l"})),
        ("<", result(2)),
        ("<", notification_of("prompts/list_changed", _meta={STREAM: "l"})),
    )
    assert takes(server, call(3)) == [result(3)], "nobody listens"
    said = takes(server, request(4, "subscriptions/listen"))
    assert said == [notification_of("subscriptions/acknowledged", _meta={STREAM: 4})]
    assert takes(server, call(5)) == [
        notification_of("tools/list_changed", _meta={STREAM: 4}),
        result(5),
        notification_of("prompts/list_changed", _meta={STREAM: 4}),
    ]


def test_messages_after_server_request_wait_for_its_answer() -> None:
    said = [
        (">", call(1)),
        ("<", request(1, "roots/list")),
        (">", result(1, roots=[])),
        ("<", result(1, n=1)),
    ]
    server = playing(*said)
    asked, *rest = takes(server, call(3))
    assert asked["method"] == "roots/list" and not rest
    assert takes(server, result(asked["id"], roots=["other"])) == [result(3, n=1)]
    asked, *_ = takes(server, call(4))
    assert takes(server, notification_of("cancelled", requestId=4)) == []
    assert takes(server, result(asked["id"])) == [], "nobody waits for the answer any more"


def test_unrecorded_request_error_names_closest() -> None:
    server = playing(
        (">", call(1, arguments={"city": "Paris", "days": 1})),
        ("<", result(1)),
        (">", call(2, "b", arguments={})),
        ("<", result(2)),
    )
    error = takes(server, call(1, arguments={"city": "Rome", "days": 1}))[0]["error"]
    assert error["code"] == -32602
    assert error["message"].endswith("the closest differs in /params/arguments/city")
    assert error["data"]["closest"]["arguments"]["city"] == "Paris"
    error = takes(server, request(1, "prompts/list"))[0]["error"]
    assert error["code"] == -32601
    assert error["message"] == "prompts/list was not recorded; recorded methods: tools/call"
    assert takes(server, request(1, "ping")) == [result(1)]
    assert takes(server, notification_of("roots/list_changed")) == []


def test_several_connections_and_the_side_of_clients_are_kept_apart() -> None:
    entries = [
        Entry("client", call(1), "client"),
        Entry("server", result(1, n=0), "client"),
        Entry("client", call(1), "server", "x"),
        Entry("client", call(1, "b"), "server", "y"),
        Entry("server", result(1, n=1), "server", "x"),
        Entry("server", result(1, n=2), "server", "y"),
    ]
    server = Playback(Script(TrafficRecording({}, entries)))
    assert takes(server, call(5)) == [result(5, n=1)]
    assert takes(server, call(6, "b")) == [result(6, n=2)]


async def test_a_client_sends_although_many_messages_wait_to_be_read(tmp_path: Path) -> None:
    file = tmp_path / "recording.jsonl"
    entry = {"sender": "server", "message": notification_of("message")}
    file.write_text("\n".join(map(json.dumps, [{"traffic": 1}, *[entry] * 1000])))
    transport = await replaying(file)()
    async with asyncio.timeout(5):
        await transport.send([json.dumps(call(1)).encode()])
    assert len(await transport.receive()) == 1001


REDACTED: Iterable[tuple[str, str, Json, Json]] = (
    ("a name", "key", {"a": {"key": "s"}}, {"a": {"key": "[redacted]"}}),
    ("types", "key", {"key": [1, True, None]}, {"key": [0, False, None]}),
    ("what is inside", "key", {"key": {"a": "s"}}, {"key": {"a": "[redacted]"}}),
    ("a pointer", "/a/0/b", {"a": [{"b": "s"}], "b": "t"}, {"a": [{"b": "[redacted]"}], "b": "t"}),
    ("any index", "/a/*/b", {"a": [{"b": "s"}, {"b": 1}]}, {"a": [{"b": "[redacted]"}, {"b": 0}]}),
    ("an escaped name", "/a~1b", {"a/b": "s"}, {"a/b": "[redacted]"}),
    ("JSON in a text", "key", {"t": '{"key":"s"}'}, {"t": '{"key":"[redacted]"}'}),
    ("other text", "key", {"t": "{key", "u": "key"}, {"t": "{key", "u": "key"}),
)  # fmt: skip


def test_values_are_replaced_by_others_of_their_type() -> None:
    for name, place, given, wanted in REDACTED:
        with case(name):
            assert Redaction([place])(given) == wanted
    with pytest.raises(ValueError, match="a name or a JSON pointer"):
        Redaction([""])


def test_a_redacted_recording_answers_the_values_that_it_does_not_have() -> None:
    recorded = call(1, arguments={"key": "[redacted]", "x": 1})
    server = playing((">", recorded), ("<", result(1, n=1)), redacted=["key"])
    assert takes(server, call(2, arguments={"key": "secret", "x": 1})) == [result(2, n=1)]
    refused = takes(server, call(3, arguments={"key": "secret", "x": 2}))
    assert "secret" not in json.dumps(refused)


def test_a_file_that_is_no_recording_is_refused_with_its_line(tmp_path: Path) -> None:
    head = '{"traffic": 1}\n'
    wrong = {
        "": (1, "not JSON"),
        "[]": (1, "not an object"),
        '{"traffic": 2}': (1, 'must have "traffic": 1'),
        head + "{": (2, "not JSON"),
        head + '{"sender": "me", "message": {}}': (2, "client or server"),
        head + '{"sender": "client"}': (2, '"message" or "text" is required'),
    }
    file = tmp_path / "recording.jsonl"
    for text, (line, reason) in wrong.items():
        with case(text):
            file.write_text(text)
            with pytest.raises(RecordingError, match=reason) as caught:
                read_recording(file)
            assert caught.value.line == line
    file.write_text(head + '{"sender": "server", "text": "no JSON"}\n')
    assert read_recording(file).entries == []
