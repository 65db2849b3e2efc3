"""JSON Pointers, by the examples of RFC 6901 and more."""

from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from support import tables

DOCUMENT: dict[str, Any] = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "m~n": 8, "~1": 9}


def test_values_are_found() -> None:
    rows: list[tuple[str, Any]] = [
        ("", DOCUMENT),
        ("/foo", ["bar", "baz"]),
        ("/foo/0", "bar"),
        ("/", 0),
        ("/a~1b", 1),
        ("/c%d", 2),
        ("/m~0n", 8),
        ("/~01", 9),
    ]
    for pointer, value in rows:
        with tables.case(pointer):
            assert jsonpointer.get(DOCUMENT, pointer) == value


def test_pointer_to_missing_place_is_refused() -> None:
    for pointer in ("/x", "/foo/2", "/foo/x", "/foo/0/0", "/a/b", "/foo/-"):
        with tables.case(pointer), pytest.raises(jsonpointer.NothingThere):
            jsonpointer.get(DOCUMENT, pointer)


def test_an_index_is_written_in_one_way() -> None:
    for pointer in ("/foo/-1", "/foo/+1", "/foo/01", "/foo/ 1", "/foo/1_0"):
        with tables.case(pointer), pytest.raises(jsonpointer.NothingThere):
            jsonpointer.get(DOCUMENT, pointer)


def test_joining_and_splitting_are_opposites() -> None:
    tokens = ["", "a/b", "~", "~1", "0", "é"]
    assert jsonpointer.split(jsonpointer.join(*tokens)) == tokens
    assert jsonpointer.join() == ""
    assert jsonpointer.split("") == []


def test_walking_visits_every_value_with_its_pointer() -> None:
    seen = dict(jsonpointer.walk(DOCUMENT))
    assert len(seen) == 9
    for pointer, value in seen.items():
        assert jsonpointer.get(DOCUMENT, pointer) == value
