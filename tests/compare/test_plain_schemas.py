"""Schemas that accept the same values are spelled the same, and others differ."""

from typing import Any

import pytest
from mcp_protogen.instep.compare.plain_schemas import essence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"enum": ["a"]}, {"const": "a"}),
        ({"type": "string", "enum": ["a", 1]}, {"const": "a"}),
        ({"enum": ["a", "b"]}, {"type": "string", "enum": ["b", "a", "b"]}),
        ({"enum": [True, False]}, {"type": "boolean"}),
        ({"type": "integer", "enum": [1, 9], "maximum": 5}, {"const": 1}),
        ({"type": "string", "enum": ["a", "abc"], "minLength": 2}, {"const": "abc"}),
    ],
)
def test_constants_have_one_spelling(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert essence(one) == essence(other)
    assert essence({"type": "array", "items": one}) == essence({"type": "array", "items": other})


def test_other_constants_look_different() -> None:
    found = [essence({"enum": values}) for values in (["a"], ["b"], ["a", "b"], [1], ["1"])]
    assert len({*found}) == len(found)
    assert essence({"type": "string"}) != essence({"const": "a"})
