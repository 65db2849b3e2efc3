"""Whether a constraint allows more than before, or less."""

from typing import Any

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.fields import bound_change
from support import tables
from support.compare.code_cases import result

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


def test_bound_is_shown_with_the_place_of_its_schema() -> None:
    text: dict[str, Any] = {"type": "string"}
    short: dict[str, Any] = {**text, "maxLength": 3}
    for schema, bounded, shown in (
        (text, short, "maxLength 3"),
        (text, {**text, "default": "x"}, '"x"'),
        ({"type": "array", "items": text}, {"type": "array", "items": short}, "items/maxLength 3"),
        (
            {"type": "array", "items": text},
            {"type": "array", "items": {**text, "default": "x"}},
            'items/default "x"',
        ),
    ):
        with tables.case(shown):
            for before, after, texts in (
                (schema, bounded, ("", shown)),
                (bounded, schema, (shown, "")),
            ):
                (change,) = compare_revisions(result(before), result(after)).changes
                assert (change.before, change.after) == texts


def test_unordered_bounds_count_as_changed() -> None:
    rows: list[tuple[str, Any, Any]] = [("pattern", "^a", "^b"), ("anyOf", ["a"], ["b"])]
    for keyword, was, now in rows:
        with tables.case(keyword):
            assert bound_change(keyword, was, now) == CHANGED


def test_annotations_are_not_bounds() -> None:
    for keyword in ("format", "items/format", "contentEncoding"):
        with tables.case(keyword):
            for was, now in (("uri", "date"), ("uri", None), (None, "uri")):
                assert bound_change(keyword, was, now) == "field-format-changed"
            assert bound_change(keyword, "uri", "uri") is None
