"""Whether a constraint allows more than before, or less."""

from typing import Any

from mcp_protogen.compare.fields import bound_change
from support import tables

TIGHTENED, LOOSENED, CHANGED = "bound-tightened", "bound-loosened", "bound-changed"


def test_the_one_that_allows_less_is_tighter() -> None:
    rows: list[tuple[str, Any, Any]] = [
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
    ]
    for keyword, less, more in rows:
        with tables.case(keyword):
            assert bound_change(keyword, more, less) == TIGHTENED
            assert bound_change(keyword, less, more) == LOOSENED
            assert bound_change(keyword, less, less) is None


def test_what_has_no_order_has_changed() -> None:
    rows: list[tuple[str, Any, Any]] = [("pattern", "^a", "^b"), ("anyOf", ["a"], ["b"])]
    for keyword, was, now in rows:
        with tables.case(keyword):
            assert bound_change(keyword, was, now) == CHANGED


def test_what_is_an_annotation_bounds_nothing() -> None:
    for keyword in ("format", "items/format", "contentEncoding"):
        with tables.case(keyword):
            for was, now in (("uri", "date"), ("uri", None), (None, "uri")):
                assert bound_change(keyword, was, now) == "field-format-changed"
            assert bound_change(keyword, "uri", "uri") is None
