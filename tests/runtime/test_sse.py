"""Streams of events: read as the HTML standard says, in whatever pieces they come."""

import tracemalloc
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp_protogen.runtime.http.sse import Event, Parser, write_event
from support.json_types import JsonObject
from support.tables import case


def read(*chunks: bytes, limit: int = 1000) -> list[Event]:
    parser = Parser(limit)
    return [event for chunk in chunks for event in parser.feed(chunk)]


def event_of(data: str, event: str = "message", id: str | None = None) -> Event:
    return Event(id, event, data, None)


def test_an_event_is_what_the_standard_says() -> None:
    for stream, events in [
        (b"data: a\n\n", [event_of("a")]),
        (b"data:a\n\n", [event_of("a")]),
        (b"data:  a\n\n", [event_of(" a")]),
        (b"data: a\ndata: b\n\n", [event_of("a\nb")]),
        (b"data\ndata\n\n", [event_of("\n")]),
        (b"data: a: b\n\n", [event_of("a: b")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [event_of("a", "x"), event_of("b")]),
        (b": a comment\n\ndata: a\n\n", [event_of("a")]),
        (b":\n\n\n\n", []),
        (b"what: x\nDATA: y\n\n", []),
        (b"\xef\xbb\xbfdata: a\n\n", [event_of("a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"data: \xff\xe4b\n\n", [event_of("\ufffd\ufffdb")]),
        (b"data: a\x85b\xe2\x80\xa8c\n\n", [event_of("a\ufffdb\u2028c")]),
        (b"data: a\n", []),
        (b"data: a", []),
        (b"", []),
    ]:
        assert read(stream) == events


def test_lines_end_in_three_ways_and_anywhere_in_a_chunk() -> None:
    for end in [b"\n", b"\r\n", b"\r"]:
        with case(end):
            stream = end.join([b"id: 1", b"data: a", b"data: b", b"", b"data: c", b"", b""])
            whole = [event_of("a\nb", id="1"), event_of("c", id="1")]
            assert read(stream) == whole
            assert read(*(bytes([byte]) for byte in stream)) == whole
            for at in range(len(stream)):
                assert read(stream[:at], b"", stream[at:]) == whole


def test_an_event_that_ends_with_a_return_is_not_kept_waiting() -> None:
    parser = Parser()
    assert parser.feed(b"data: a\r\r") == [event_of("a")]
    assert parser.feed(b"\ndata: b\r\n\r\n") == [event_of("b")]


def test_event_id_lasts_until_the_next_one() -> None:
    stream = b"data: a\n\nid: 1\ndata: b\n\ndata: c\n\nid: 2\0\ndata: d\n\nid\ndata: e\n\n"
    assert [event.id for event in read(stream)] == [None, "1", "1", "1", ""]


def test_an_event_without_data_is_reported_for_it_may_be_resumed_from() -> None:
    assert read(b"id: 7\nretry: 500\ndata: \n\n") == [Event("7", "message", "", 500)]
    assert read(b"id: 7\n\n") == [Event("7", "message", "", None)]
    assert read(b"retry: 5\n\ndata: a\n\n") == [Event(None, "message", "", 5), event_of("a")]


def test_an_id_of_an_event_that_was_cut_off_is_not_reported() -> None:
    assert read(b"id: 1\ndata: a\n\nid: 2\ndata: b\n") == [event_of("a", id="1")]


def test_a_waiting_time_is_digits_alone() -> None:
    for retry, read_as in [
        (b"500", 500),
        (b"0", 0),
        (b"", None),
        (b"-1", None),
        (b"1.5", None),
        (b"\xb2", None),
    ]:
        assert read(b"retry: %b\ndata: a\n\n" % retry)[0].retry == read_as


def test_a_waiting_time_of_any_length_is_a_number() -> None:
    assert read(b"retry: %b\ndata: a\n\n" % (b"9" * 10_000), limit=20_000)[0].retry is not None


def test_an_event_that_gets_too_large_is_refused() -> None:
    for chunks in [
        [b"data: " + b"a" * 100 + b"\n\n"],
        [b"data: ", *[b"a"] * 100],
        [b"data: a\n"] * 100,
        [b"data\n"] * 200,
        [b"id: ", *[b"a"] * 100],
        [b":", *[b"a"] * 200],
    ]:
        with case(chunks), pytest.raises(ValueError, match="more than 100 bytes"):
            read(*chunks, limit=100)


def test_an_event_in_small_pieces_takes_no_more_than_its_bytes() -> None:
    for piece in [b"xy", b"data:xy\n", b"data\n"]:
        with case(piece):
            parser = Parser()
            tracemalloc.start()
            try:
                for _ in range(20_000):
                    parser.feed(bytes(bytearray(piece)))
                assert tracemalloc.get_traced_memory()[0] < 100_000
            finally:
                tracemalloc.stop()


def test_event_id_unfit_for_header_is_not_sent_back() -> None:
    first, second = read(b"id: 1\n\n", b"id: %b\n\n" % (b"x" * 5000), limit=10_000)
    assert (first.id, second.id) == ("1", "")


def test_many_events_and_comments_are_not_too_large() -> None:
    assert len(read(*[b": still here\ndata: aaaaaaaaaa\n\n"] * 100, limit=100)) == 100
    assert read(*[b": still here\n"] * 100, b"data: a\n\n", limit=100) == [event_of("a")]


def test_an_event_as_it_is_written() -> None:
    rows: list[tuple[JsonObject, bytes]] = [
        ({}, b'data: {"a":1}\n\n'),
        ({"id": "5"}, b'id: 5\ndata: {"a":1}\n\n'),
        (
            {"event": "endpoint", "id": "5", "retry": 10},
            b'event: endpoint\nid: 5\nretry: 10\ndata: {"a":1}\n\n',
        ),
    ]
    for given_, stream in rows:
        with case((given_, stream)):
            id, event, retry = given_.get("id"), given_.get("event"), given_.get("retry")
            assert isinstance(retry, int | None)
            assert write_event(b'{"a":1}', id=id, event=event, retry=retry) == stream


def test_an_id_or_a_type_of_several_lines_is_not_written() -> None:
    for value in ["a\nb", "a\rb", "a\0b"]:
        with case(value):
            with pytest.raises(ValueError, match="one line"):
                write_event(b"{}", id=value)
            with pytest.raises(ValueError, match="one line"):
                write_event(b"{}", event=value)


LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n\0"))
ENDS = st.sampled_from(["\n", "\r\n", "\r"])


@given(st.lists(st.tuples(LINE, ENDS, LINE, LINE), max_size=5), st.data())
def test_written_events_are_read_back(
    events: list[tuple[str, str, str, str]], data: st.DataObject
) -> None:
    stream = b"".join(
        write_event(f"{event}{end}{two}".encode(), id=id, event="x", retry=7)
        for event, end, two, id in events
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)))))
    pieces: Iterable[bytes] = (
        stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)
    )
    assert read(*pieces, limit=10_000) == [
        Event(id, "x", f"{event}\n{two}", 7) for event, _, two, id in events
    ]
