"""The changes of conversions, and the losses that they report."""

import json

from mcp_protogen.runtime.core.json import JSONObject
from mcp_protogen.runtime.core.losses import Loss, LossReport
from mcp_protogen.runtime.translation.conversions import CONVERSIONS, Site
from mcp_protogen.runtime.translation.report import Report
from support import tables
from support.json_types import Json


def text_of(text: str) -> JSONObject:
    return {"type": "text", "text": text}


def test_suggestions_beyond_the_hundredth_are_dropped_and_reported() -> None:
    for count in (0, 99, 100, 101, 103):
        with tables.case(count):
            values = [str(number) for number in range(count)]
            report = Report([])
            found = CONVERSIONS["at_most_100_values"]({"values": values}, Site(None, report, "why"))
            if count <= 100:
                assert found == {"values": values}
            else:
                assert found == {"values": values[:100], "hasMore": True, "total": count}
            dropped = [
                Loss(f"/values/{index}", "dropped", "why", False) for index in range(100, count)
            ]
            assert report.losses == dropped


def test_total_of_suggestions_stays_as_it_was_said() -> None:
    value = {"values": ["a"] * 101, "total": 5_000}
    found = CONVERSIONS["at_most_100_values"](value, Site(None, Report([]), "why"))
    assert found["total"] == 5_000


def test_structured_content_is_shown_as_text_unless_a_text_has_the_same() -> None:
    image = {"type": "image", "data": "", "mimeType": "image/png"}
    rows: list[tuple[Json, list[JSONObject], bool]] = [
        ({"a": 1}, [], True),
        ({"a": 1}, [image], True),
        ({"a": 1}, [text_of("a: 1")], True),
        ({"a": 1}, [text_of('{"a": true}')], True),
        ({"a": 1}, [image, text_of('{ "a": 1 }')], False),
        ({"result": "x"}, [text_of("x")], False),
        ({"result": 1}, [text_of("1")], False),
        ({"result": 1, "a": 2}, [text_of("1")], True),
    ]
    for structured, content, added in rows:
        with tables.case((structured, content)):
            report = Report([])
            result = {"structuredContent": structured, "content": content}
            found = CONVERSIONS["structured_content_as_text"](result, Site(None, report, "why"))
            text = text_of(json.dumps(structured, separators=(",", ":")))
            assert found == {"content": [*content, *([text] if added else [])]}
            assert report.losses == [Loss("/structuredContent", "replaced", "why", False)]


def test_titled_choices_of_a_text_get_their_titles_beside_them() -> None:
    choices = [{"const": "a", "title": "A"}, {"const": "b", "title": "B"}]
    text: JSONObject = {"type": "string", "oneOf": choices}
    moved = [Loss("/oneOf", "moved", "why", True)]
    rows: list[tuple[JSONObject, JSONObject, list[Loss]]] = [
        (text, {"type": "string", "enum": ["a", "b"], "enumNames": ["A", "B"]}, moved),
        *(
            (field, field, [])
            for field in (
                {**text, "enum": ["a"]},
                {"type": "string"},
                {"type": "number", "oneOf": choices},
                {**text, "oneOf": {"const": "a", "title": "A"}},
                {**text, "oneOf": [*choices, {"const": "c"}]},
                {**text, "oneOf": [*choices, {"const": 1, "title": "C"}]},
                {**text, "oneOf": [*choices, "c"]},
                {"type": "boolean", "default": True},
            )
        ),
        (
            {"type": "string", "default": "a"},
            {"type": "string"},
            [Loss("/default", "dropped", "why", False)],
        ),
    ]
    for field, expected, losses in rows:
        with tables.case(str(field)):
            report = Report([])
            assert CONVERSIONS["plain_fields"](field, Site(None, report, "why")) == expected
            assert report.losses == losses


def test_report_of_a_connection_takes_a_thousand_kinds_of_losses_once() -> None:
    for number in (999, 1000, 1001):
        told = list[Loss]()
        report = LossReport("own", "wire", told.append)
        losses = [Loss(f"/name{at}/{at}", "dropped", "why") for at in range(number)]
        for _ in range(2):
            report.take("tools/call", losses)
        with tables.case(number):
            assert [loss.pointer for loss in told] == [loss.pointer for loss in losses[:1000]]
