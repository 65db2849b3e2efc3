"""Envelopes: the recognition and writing of messages."""

import json

import pytest
from mcp_protogen.runtime.core.errors import InvalidAnswer, InvalidRequest, ParseError, RemoteError
from mcp_protogen.runtime.messages import jsonrpc, reading
from mcp_protogen.runtime.messages.jsonrpc import Call, Malformed, Response, message_of
from mcp_protogen.runtime.messages.reading import Batch
from support.json_types import Json, JsonObject
from support.tables import case

CALL: JsonObject = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
RESULT: JsonObject = {"jsonrpc": "2.0", "id": 1, "result": {}}
ERROR: JsonObject = {"jsonrpc": "2.0", "id": 1, "error": {"code": -1, "message": "m"}}


def fault_of(message: object) -> RemoteError:
    found = message_of(message)
    assert isinstance(found, Malformed)
    return found.error


def without(message: JsonObject, member: str) -> JsonObject:
    return {name: value for name, value in message.items() if name != member}


def test_invalid_json_is_parse_error() -> None:
    texts: list[bytes | str] = [
        b"",
        b"{",
        b"{} {}",
        b'{"a": NaN}',
        b"-Infinity",
        b'{"a": "\xff"}',
        b'{"a": "\\ud800"}',
        b"\xef\xbb\xbf{}",
        b"[" * 1000 + b"]" * 1000,
        b"1" * 5000,
        "{'a': 1}",
        '"\ud800"',
    ]
    for data in texts:
        with case(data):
            with pytest.raises(ParseError) as caught:
                jsonrpc.parse(data)
            assert caught.value.code == -32700
            assert caught.value.id is None


def test_a_wrong_type_is_a_programming_error() -> None:
    with pytest.raises(TypeError):
        jsonrpc.parse(None)  # type: ignore[arg-type]


def test_of_a_member_given_twice_the_last_counts() -> None:
    assert jsonrpc.parse(b'{"a": 1, "a": 2}') == {"a": 2}


@pytest.mark.shows("S0-03")
def test_ids_are_integers_and_strings() -> None:
    for id in [0, -1, 1, 10**30, "", "0", "x"]:
        with case(id):
            for message in (CALL, RESULT, ERROR):
                found = message_of({**message, "id": id})
                assert isinstance(found, (Call, Response))
                assert (type(found.id), found.id) == (type(id), id)


def test_an_integer_id_may_be_written_with_a_fraction_of_zero() -> None:
    for message in (CALL, RESULT, ERROR):
        found = message_of({**message, "id": 2.0})
        assert isinstance(found, (Call, Response))
        assert (type(found.id), found.id) == (int, 2)


@pytest.mark.shows("S0-04")
@pytest.mark.parametrize(
    "id", [None, True, False, 1.5, [], {}, pytest.param(-(10**1000), id="of 1001 digits")]
)
def test_invalid_id_is_refused(id: object) -> None:
    assert type(fault_of({**CALL, "id": id})) is InvalidRequest
    assert type(fault_of({**RESULT, "id": id})) is InvalidAnswer
    if id is not None:
        assert type(fault_of({**ERROR, "id": id})) is InvalidAnswer


@pytest.mark.shows("S0-10")
def test_a_call_without_id_is_a_notification() -> None:
    notification = without(CALL, "id")
    assert message_of(notification) == Call(None, "ping", {}, {}, notification)


def test_an_error_may_lack_its_id_or_have_null() -> None:
    for message in (without(ERROR, "id"), {**ERROR, "id": None}):
        assert message_of(message) == Response(None, None, ERROR["error"])


def test_params_and_meta_are_objects_whatever_came() -> None:
    rows: list[tuple[JsonObject, JsonObject, JsonObject]] = [
        ({"params": {"a": 1, "_meta": {"b": 2}}}, {"a": 1, "_meta": {"b": 2}}, {"b": 2}),
        ({"params": {"_meta": [1]}}, {"_meta": [1]}, {}),
        ({"params": [1]}, {}, {}),
        ({"params": None}, {}, {}),
        ({}, {}, {}),
    ]
    for said, params, meta in rows:
        with case((said, params, meta)):
            message = {**CALL, **said}
            assert message_of(message) == Call(1, "ping", params, meta, message)
            malformed = message_of({**message, "method": 1})
            assert isinstance(malformed, Malformed)
            assert malformed.meta == meta


def test_a_batch_is_parsed_once_and_not_before_it_is_asked_for() -> None:
    batch = reading.read(json.dumps([CALL, 7]))
    assert isinstance(batch, Batch)
    assert batch.values == [CALL, 7]
    assert [type(member) for member in batch.members] == [Call, Malformed]
    assert batch.members is batch.members


@pytest.mark.shows("S0-01")
def test_the_version_has_to_be_right() -> None:
    for version in [None, 2.0, "1.0", "2", 2]:
        with case(version):
            for message in ({**CALL, "jsonrpc": version}, without(CALL, "jsonrpc")):
                fault = fault_of(message)
                assert (type(fault), fault.id) == (InvalidRequest, 1)
            for message in ({**RESULT, "jsonrpc": version}, without(ERROR, "jsonrpc")):
                assert type(fault_of(message)) is InvalidAnswer


@pytest.mark.shows("S0-08")
def test_malformed_message_is_invalid_request() -> None:
    values: list[Json] = [
        {},
        without(CALL, "method"),
        {**CALL, "method": 1},
        {**CALL, "method": None},
        {**CALL, "result": {}},
        {**CALL, "error": {}},
        [],
        "text",
        None,
        7,
    ]
    for message in values:
        with case(message):
            fault = fault_of(message)
            assert (type(fault), fault.code) == (InvalidRequest, -32600)
            assert fault.id == (1 if message and type(message) is dict else None)


def test_an_ill_formed_answer_is_not_mistaken_for_a_request() -> None:
    values: list[Json] = [
        {**RESULT, "error": ERROR["error"]},
        without(RESULT, "id"),
        {**ERROR, "error": None},
        {**ERROR, "error": []},
        {**ERROR, "error": {"message": "m"}},
        {**ERROR, "error": {"code": "1", "message": "m"}},
        {**ERROR, "error": {"code": True, "message": "m"}},
        {**ERROR, "error": {"code": 1.5, "message": "m"}},
        {**ERROR, "error": {"code": 1}},
        {**ERROR, "error": {"code": 1, "message": None}},
    ]
    for message in values:
        assert type(fault_of(message)) is InvalidAnswer


def test_unknown_members_of_an_envelope_do_no_harm() -> None:
    assert isinstance(message_of({**CALL, "extra": None}), Call)


def test_written_messages_can_be_read() -> None:
    ids: list[int | str] = [0, 7, 'a\u2028"é']
    for id in ids:
        with case(id):
            assert json.loads(jsonrpc.write_call(id, b'"ping"', None)) == {**CALL, "id": id}
            assert json.loads(jsonrpc.write_call(None, b'"ping"', b"{}")) == {
                **without(CALL, "id"),
                "params": {},
            }
            assert json.loads(jsonrpc.write_result(id, b"{}")) == {**RESULT, "id": id}
            assert json.loads(jsonrpc.write_error(id, -1, "m")) == {**ERROR, "id": id}
            assert json.loads(jsonrpc.write_error(None, -1, "m", [1])) == {
                "jsonrpc": "2.0",
                "error": {"code": -1, "message": "m", "data": [1]},
            }
            assert b"\n" not in jsonrpc.write_error(id, -1, "two\nlines")
