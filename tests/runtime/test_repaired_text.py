"""Texts of peers that are not strict JSON: repairs, and the reasons against others."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp_protogen.runtime.core.errors import Meant, ParseError, RequestId
from mcp_protogen.runtime.core.json import is_array, is_object
from mcp_protogen.runtime.messages.reading import Reading, read_values
from mcp_protogen.runtime.messages.repairing import Repair, RepairKind, unreadable
from support.tables import case

ANSWER = b'{"jsonrpc":"2.0","id":7,"result":{"text":%b}}'


def replace_surrogates(value: Any) -> Any:
    """Return a value with U+FFFD in place of lone surrogates."""
    if isinstance(value, str):
        return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in value)
    if is_array(value):
        return [replace_surrogates(item) for item in value]
    if is_object(value):
        return {replace_surrogates(name): replace_surrogates(item) for name, item in value.items()}
    return value


def test_reader_replaces_lone_surrogates_and_keeps_pairs() -> None:
    for text, expected in [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"cut \uD83D here"', "cut \ufffd here"),
        (rb'"\ude00\ud83d"', "\ufffd\ufffd"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd\U0001f600"),
        (rb'"\ud83d\n\ude00"', "\ufffd\n\ufffd"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
        (rb'"\\\ud83d"', "\\\ufffd"),
    ]:
        with case(text):
            values, repairs = read_values(ANSWER % text)
            assert [value["result"]["text"] for value in values] == [expected]
            assert [repair.kind for repair in repairs] == [RepairKind.LONE_SURROGATE]


def test_reader_leaves_strict_json_alone() -> None:
    for text in [rb'"\ud83d\ude00"', rb'"\\ud83d"', b"[1, 2]", b"1", b" {} "]:
        with case(text):
            assert read_values(text) == Reading((json.loads(text),))


def test_reader_replaces_lone_surrogates_in_names() -> None:
    (value,) = read_values(rb'{"a\ud83d":{"\udc00":1}}').values
    assert value == {"a\ufffd": {"\ufffd": 1}}


_TEXTS = st.text(st.one_of(st.characters(), st.sampled_from('\ud83d\ude00\\u"d83')))
_VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), _TEXTS),
    lambda inner: st.lists(inner) | st.dictionaries(_TEXTS, inner),
    max_leaves=12,
)


@given(_VALUES)
def test_reader_agrees_with_json_on_surrogates(value: Any) -> None:
    text = json.dumps(value).encode()
    assert list(read_values(text).values) == [replace_surrogates(json.loads(text))]


@settings(max_examples=30)
@given(st.lists(st.dictionaries(_TEXTS, _VALUES), min_size=2, max_size=3), st.booleans())
def test_reader_takes_values_of_one_line_apart(values: list[dict[str, Any]], mark: bool) -> None:
    texts = [json.dumps(value) for value in values]
    line = ("\ufeff" * mark + " ".join(texts)).encode()
    found, repairs = read_values(line)
    assert list(found) == [replace_surrogates(json.loads(text)) for text in texts]
    assert Repair(RepairKind.SEVERAL_VALUES, len(texts[0]) + 1 + 3 * mark) in repairs


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_reader_raises_nothing_but_parse_errors(start: bytes, end: bytes) -> None:
    for data in (start, b'{"jsonrpc":"2.0","id":1,' + start + b"}" + end, b"\xef\xbb\xbf" + start):
        try:
            read_values(data)
        except ParseError as error:
            assert str(error).startswith("Parse error: ")


def test_reader_skips_byte_order_mark() -> None:
    mark = Repair(RepairKind.BYTE_ORDER_MARK, 0)
    assert read_values(b'\xef\xbb\xbf{"a":1}') == Reading(({"a": 1},), (mark,))
    assert read_values(b"\xef\xbb\xbf") == Reading((), (mark,))


def test_reader_refuses_text_without_a_value() -> None:
    for text in (b"", b" \r\n"):
        with case(text), pytest.raises(ParseError):
            read_values(text)


def test_reader_refuses_scalars_and_too_many_values_in_one_line() -> None:
    for text in [b"1 2", b'{} "a"', b"{} x", b"{}" * 101, b"[" * 100_000, b"{}" + b"[" * 100_000]:
        with case(text[:10]), pytest.raises(ParseError):
            read_values(text)


def test_parse_error_names_the_fault_and_its_place() -> None:
    for data, reason in [
        (ANSWER % b"NaN", "NaN is not JSON (at byte 41)"),
        (ANSWER % b'["NaN", -Infinity]', "Infinity is not JSON (at byte 50)"),
        (ANSWER % b'"a\xff"', "invalid UTF-8 at byte 43"),
        ((ANSWER % b"1").decode().encode("utf-16"), "UTF-16; messages must be UTF-8"),
        ((ANSWER % b"1").decode().encode("utf-16-be"), "UTF-16; messages must be UTF-8"),
        ((ANSWER % b"1").decode().encode("utf-32"), "UTF-32; messages must be UTF-8"),
        ((ANSWER % b"1").decode().encode("utf-32-le"), "UTF-32; messages must be UTF-8"),
        (ANSWER % b"1}", "trailing characters at line 1 column 45"),
    ]:
        with case(data):
            with pytest.raises(ParseError) as caught:
                read_values(data)
            assert str(caught.value) == f"Parse error: {reason}"
            assert (caught.value.id, caught.value.meant) == (7, "answer")


def test_parse_error_has_id_and_kind_that_can_be_seen() -> None:
    padding = b" " * 50_000
    table: list[tuple[bytes, RequestId | None, Meant]] = [
        (b'{"jsonrpc":"2.0","id":"a\\ud83d","error":NaN}', "a\ufffd", "answer"),
        (b'{"result":{"id":3,"a":NaN},"jsonrpc":"2.0","id":4}', 4, "answer"),
        (b'{"result":[NaN%b],"jsonrpc":"2.0","id":4.0}' % padding, 4, "answer"),
        (b'{"result":[NaN%b],"id":"x","jsonrpc":"2.0"}\r' % padding, "x", "answer"),
        (b'{"jsonrpc":"2.0","id":1,"method":"m","params":{"id":2,"v":NaN}}', 1, "call"),
        (b'{"jsonrpc":"2.0","method":"m","params":{"id":2,"v":NaN}}', None, "call"),
        (b'{"jsonrpc":"2.0","id":1,', 1, "message"),
        (b'{"jsonrpc":"2.0","id":12', None, "message"),
        (b'{"jsonrpc":"2.0","id":NaN,"result":{}}', None, "answer"),
        (b'{"jsonrpc":"2.0","id":1.5,"result":NaN}', None, "answer"),
        (b'[{"jsonrpc":"2.0","id":1,"result":NaN}]', None, "message"),
        (b'{"text":"\\"id\\":5","error":NaN}', None, "text"),
        (b'[INFO] sent {"jsonrpc":"2.0","id":1,"result":{}}', None, "text"),
        (b'sent {"jsonrpc":"2.0","id":1,"result":{}}', None, "text"),
        (b"{ name: 'x' }", None, "text"),
        (b"caf\xe9", None, "text"),
    ]
    for data, id, meant in table:
        with case(data[:60]):
            with pytest.raises(ParseError) as caught:
                read_values(data)
            assert (caught.value.id, caught.value.meant) == (id, meant)
            assert caught.value.code == -32700


def test_long_broken_text_is_read_in_linear_time() -> None:
    # A search that began anew at each quote would take minutes.
    for text in [b'{"jsonrpc":' + b'"\\' * 500_000, b'"' * 1_000_001, b'{"a":N' * 200_000]:
        with case(text[:20]), pytest.raises(ParseError):
            read_values(text)
    assert unreadable("a line of more than 10 bytes", b'{"id":1,"result":').id == 1
