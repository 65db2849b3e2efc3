"""The frontmatter of skills: read as YAML 1.2; must be a JSON object."""

from typing import Any

import pytest
from mcp_protogen.runtime.features.skills.frontmatter import (
    InvalidFrontmatter,
    frontmatter_of,
    is_equal,
)
from support import tables

READ: dict[str, Any] = {
    "a: text": {"a": "text"},
    "a: 'yes'\nb: yes\nc: on": {"a": "yes", "b": "yes", "c": "on"},
    "a: true\nb: False": {"a": True, "b": False},
    "a: ~\nb:\nc: null": {"a": None, "b": None, "c": None},
    "a: 017\nb: 0o17\nc: 0x1F\nd: -3": {"a": 17, "b": 15, "c": 31, "d": -3},
    "a: 1.5\nb: 2e3\nc: .5\nd: 1:30": {"a": 1.5, "b": 2000.0, "c": 0.5, "d": "1:30"},
    "a: 2026-07-28": {"a": "2026-07-28"},
    "a: =\nb: 1_000": {"a": "=", "b": "1_000"},
    "a: {b: [1, x]}": {"a": {"b": [1, "x"]}},
    "<<: {a: 1}": {"<<": {"a": 1}},
    "a: |\n  x\n  ---": {"a": "x\n---\n"},
}
REFUSED = {
    "a: .nan": "must be a JSON object",
    "a: .inf": "must be a JSON object",
    "- a": "must be a JSON object",
    "text": "must be a JSON object",
    "": "must be a JSON object",
    "1: a": "must be a string",
    "? [a]\n: b": "must be a string",
    "a: 1\na: 2": "must be a string, and unique",
    "a: &x 1\nb: *x": "aliases",
    "a: !!binary aGk=": "must be a JSON object",
    "a: !!python/object:os.system {}": "cannot be read",
    "a: [": "cannot be read",
    f"a: {'[' * 9_000}": "nested too deeply",
    f"a: {'x' * 70_000}": "longer than",
}


def test_yaml_is_read_by_the_core_schema_of_its_version_1_2() -> None:
    for text, found in READ.items():
        for lines in (text, text.replace("\n", "\r\n")):
            with tables.case(lines):
                assert is_equal(frontmatter_of(f"---\n{lines}\n---\nBody\n"), found)
    assert frontmatter_of("\ufeff---\r\na: 1\r\n---") == {"a": 1}


def test_frontmatter_must_be_json_object() -> None:
    for text, why in REFUSED.items():
        with tables.case(text[:30]), pytest.raises(InvalidFrontmatter, match=why):
            frontmatter_of(f"---\n{text}\n---\n")
    for text in ("", "# Body", "\n---\na: 1\n---\n", "---\na: 1\n", "----\na: 1\n---\n"):
        with tables.case(text), pytest.raises(InvalidFrontmatter, match="must begin"):
            frontmatter_of(text)


def test_values_are_the_same_as_json_has_them() -> None:
    rows: list[tuple[Any, Any, bool]] = [
        (1, 1.0, True), (1, True, False), (0, False, False), (None, False, False),
        ({"a": [1, {}]}, {"a": [1, {}]}, True), ({"a": 1}, {"a": 1, "b": None}, False),
        ([1], [1, 2], False), ([1, 2], [2, 1], False), ({}, [], False), ("1", 1, False),
    ]  # fmt: skip
    for left, right, equal in rows:
        with tables.case((left, right)):
            assert is_equal(left, right) is is_equal(right, left) is equal
