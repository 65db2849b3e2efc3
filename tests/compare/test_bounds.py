"""Whether a constraint allows more than before, or less."""

from typing import Any

import pytest
from mcp_protogen.compare.fields import bound_change

TIGHTENED, LOOSENED, CHANGED = "bound-tightened", "bound-loosened", "bound-changed"


@pytest.mark.parametrize(
    ("keyword", "less", "more"),
    [
        ("maximum", 1, 2),
        ("exclusiveMaximum", 1, 2.5),
        ("maxLength", 1, 2),
        ("maxItems", 1, 2),
        ("items/maxLength", 1, 2),
        ("minimum", 2, 1),
        ("minLength", 2, 1),
        ("minItems", 2, 1),
        ("additionalProperties/minimum", 2, 1),
        ("pattern", "^a", None),
        ("additionalProperties", False, None),
    ],
)
def test_the_one_that_allows_less_is_tighter(keyword: str, less: Any, more: Any) -> None:
    assert bound_change(keyword, more, less) == TIGHTENED
    assert bound_change(keyword, less, more) == LOOSENED
    assert bound_change(keyword, less, less) is None


@pytest.mark.parametrize(
    ("keyword", "was", "now"),
    [("pattern", "^a", "^b"), ("anyOf", ["a"], ["b"])],
)
def test_what_has_no_order_has_changed(keyword: str, was: Any, now: Any) -> None:
    assert bound_change(keyword, was, now) == CHANGED


@pytest.mark.parametrize("keyword", ["format", "items/format", "contentEncoding"])
def test_what_is_an_annotation_bounds_nothing(keyword: str) -> None:
    for was, now in (("uri", "date"), ("uri", None), (None, "uri")):
        assert bound_change(keyword, was, now) == "field-format-changed"
    assert bound_change(keyword, "uri", "uri") is None
