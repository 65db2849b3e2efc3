"""`translate` of a generated package: results for single values, and its errors."""

import json
from typing import Any

import mcp_revisions as pkg
import pytest
from mcp_protogen.runtime.translation.plans import Direction
from support import tables
from support.generated.golden_package import REVISIONS, load

NEW, LAST, OLD = "2025-11-25", "2026-07-28", "2024-11-05"
m = load(NEW).models


def losses(outcome: Any) -> list[tuple[str, str, bool]]:
    return [(loss.pointer, loss.what, loss.harmless) for loss in outcome.losses]


def test_audio_becomes_resource_with_same_bytes() -> None:
    audio = m.AudioContent(data="aGk=", mime_type="audio/wav", meta={"a": 1})
    outcome = pkg.translate(m.CallToolResult(content=[audio]), NEW, OLD)
    (block,) = outcome.value.content
    assert type(outcome.value) is load(OLD).models.CallToolResult
    assert (block.type, block.resource.blob) == ("resource", "aGk=")
    assert block.resource.mime_type == "audio/wav"
    assert ("/content/0", "replaced", False) in losses(outcome)


def test_audio_in_sampling_becomes_a_note_and_text_keeps_its_annotations() -> None:
    audio = m.AudioContent(data="aGk=", mime_type="audio/wav")
    said = m.SamplingMessage(role="user", content=audio)
    outcome = pkg.translate(said, NEW, OLD)
    assert outcome.value.content.text == "[audio, audio/wav, not delivered]"
    link = m.ResourceLink(
        uri="file:///a", name="a", title="A", annotations=m.Annotations(priority=1.0)
    )
    text = pkg.translate(m.CallToolResult(content=[link]), NEW, OLD).value.content[0]
    assert text.text == "A <file:///a>"
    assert text.annotations.priority == 1


def test_structured_content_becomes_text_unless_it_is_there_already() -> None:
    given = m.TextContent(text='{"a": 1.0}')
    for content, number in (([], 1), ([m.TextContent(text="hi")], 2), ([given], 2)):
        result = m.CallToolResult(content=content, structured_content={"a": 1})
        assert len(pkg.translate(result, NEW, OLD).value.content) == number
    same = m.CallToolResult(content=[given], structured_content={"a": 1.0})
    assert len(pkg.translate(same, NEW, OLD).value.content) == 1
    for text, value in (("hi", "hi"), ("3", 3), ('"hi"', "hi")):
        content = [m.TextContent(text=text)]
        wrapped = m.CallToolResult(content=content, structured_content={"result": value})
        assert pkg.translate(wrapped, NEW, OLD).value.text == text
        wrapped.structured_content = {"result": value, "more": 1}
        assert len(pkg.translate(wrapped, NEW, OLD).value.content) == 2


def test_structured_content_that_is_no_object_is_wrapped() -> None:
    call_result = load(LAST).models.CallToolResult
    for value in ([1], "hi", 3, None):
        last = call_result(content=[], structured_content=value)
        outcome = pkg.translate(last, LAST, NEW)
        assert outcome.value.data == {"result": value}
        assert outcome.value.content[0].text == json.dumps(value)
        assert ("/structuredContent", "replaced", True) in losses(outcome)
        shown = pkg.translate(last, LAST, OLD)
        assert [block.text for block in shown.value.content] == [json.dumps(value)]
        assert ("/structuredContent", "replaced", False) in losses(shown)


def test_output_schemas_that_no_object_fits_are_wrapped() -> None:
    definitions = {"P": {"type": "object", "properties": {"next": {"$ref": "#/$defs/P"}}}}
    dialect = "https://json-schema.org/draft/2020-12/schema"
    points = {"type": "array", "items": {"$ref": "#/$defs/P"}}
    kept = {"$defs": definitions, "$schema": dialect}
    # A schema, and the result.
    cases: tuple[tuple[Any, Any], ...] = (
        ({"type": "object", "properties": {}}, {"type": "object", "properties": {}}),
        ({"type": "string"}, {"properties": {"result": {"type": "string"}}}),
        ({"type": ["string", "null"]}, {"properties": {"result": {"type": ["string", "null"]}}}),
        ({**points, **kept}, {"properties": {"result": points}, **kept}),
        # Objects are sent unchanged, so one schema would not fit all values.
        ({"type": ["object", "null"]}, None),
        ({"anyOf": [{"type": "object"}, {"type": "null"}]}, None),
        # These move elsewhere.
        ({"type": "array", "items": {"$ref": "#"}}, None),
        ({"type": "array", "items": {"$dynamicRef": "#node"}}, None),
        ({"type": "array", "$id": "https://a/b", "items": {"$ref": "#/$defs/P"}}, None),
    )
    for schema, expected in cases:
        tool = {"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema}
        outcome = pkg.translate(tool, LAST, NEW, type="Tool")
        if expected is not None and schema != expected:
            expected = {"type": "object", "required": ["result"], **expected}
            assert losses(outcome) == [("/outputSchema", "replaced", True)]
        with tables.case(schema):
            assert outcome.value.get("outputSchema") == expected


def test_a_title_moves_to_where_it_was_unless_something_is_there() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "title": "T"}
    moved = pkg.translate(tool, "2025-06-18", "2025-03-26", type="Tool")
    assert moved.value["annotations"] == {"title": "T"}
    assert losses(moved) == [("/title", "moved", True)]
    tool["annotations"] = {"title": "other"}
    dropped = pkg.translate(tool, "2025-06-18", "2025-03-26", type="Tool")
    assert dropped.value["annotations"] == {"title": "other"}
    assert losses(dropped) == [("/title", "dropped", False)]
    assert "title" not in pkg.translate(tool, "2025-06-18", OLD, type="Tool").value


def test_unknown_members_pass_unless_the_destination_gives_them_a_meaning() -> None:
    tool = {"name": "t", "inputSchema": {"type": "object"}, "title": 5, "x": [None]}
    lifted = pkg.translate(tool, OLD, NEW, type="Tool")
    assert lifted.value == {"name": "t", "inputSchema": {"type": "object"}, "x": [None]}
    assert losses(lifted) == [("/title", "dropped", False)]


def test_several_blocks_become_several_messages_or_one_text() -> None:
    two = [m.TextContent(text="a"), m.TextContent(text="b")]
    asked = m.CreateMessageRequestParams(
        messages=[m.SamplingMessage(role="user", content=two)], max_tokens=1
    )
    split = pkg.translate(asked, NEW, "2025-06-18").value.messages
    assert [(message.role, message.content.text) for message in split] == [
        ("user", "a"),
        ("user", "b"),
    ]
    answer = m.CreateMessageResult(role="assistant", model="m", content=two)
    assert pkg.translate(answer, NEW, "2025-06-18").value.content.text == "a\nb"


def test_untranslatable_member_is_refused_with_place_and_code() -> None:
    rows: list[tuple[dict[str, Any], str, str]] = [
        (
            {"message": "?", "mode": "url", "url": "https://a", "elicitationId": "1"},
            "2025-06-18",
            "/mode",
        ),
        ({"messages": [], "maxTokens": 1, "tools": []}, "2025-06-18", "/tools"),
        ({"reason": "why not"}, "2025-06-18", "/requestId"),
        ({"reason": "why not"}, LAST, "/requestId"),
    ]
    for value, destination, pointer in rows:
        with tables.case((value, destination, pointer)):
            names = {"message": "ElicitRequestParams", "messages": "CreateMessageRequestParams"}
            name = next(
                (names[key] for key in value if key in names), "CancelledNotificationParams"
            )
            with pytest.raises(pkg.Untranslatable) as refused:
                pkg.translate(value, NEW, destination, type=name)
            assert refused.value.pointer == pointer
            assert refused.value.code == -32602


def test_a_result_that_is_not_complete_has_no_older_equivalent() -> None:
    result: dict[str, Any] = {"content": [], "resultType": "task"}
    with pytest.raises(pkg.Untranslatable):
        pkg.translate(result, LAST, NEW, type="CallToolResult")


def test_an_elicitation_gets_the_same_id_for_the_same_question() -> None:
    asked = {"message": "?", "mode": "url", "url": "https://a"}
    first = pkg.translate(asked, LAST, NEW, type="ElicitRequestParams").value
    again = pkg.translate(dict(asked), LAST, NEW, type="ElicitRequestParams").value
    other = pkg.translate({**asked, "url": "https://b"}, LAST, NEW, type="ElicitRequestParams")
    assert first == again
    assert first["elicitationId"] != other.value["elicitationId"]


@pytest.mark.parametrize("destination", [revision for revision in REVISIONS if revision != NEW])
def test_where_both_agree_nothing_is_done(destination: str) -> None:
    value = {"name": "a", "value": "b", "x": {"y": 1}}
    same = pkg.translate(value, NEW, destination, type="CompleteRequestParamsArgument")
    assert same.value is value


def test_a_model_that_both_have_becomes_that_of_the_destination() -> None:
    raw = {"a": [1]}
    block = m.TextContent(text="hi", annotations=m.Annotations(priority=1.0), meta=raw)
    made = pkg.translate(block, NEW, "2025-06-18").value
    destination = load("2025-06-18").models
    assert (type(made), type(made.annotations)) == (
        destination.TextContent,
        destination.Annotations,
    )
    assert made.to_wire() == block.to_wire()
    assert made.meta == raw
    made.text = "other"
    assert block.text == "hi"


def test_revisions_are_named_or_given_as_modules() -> None:
    value: dict[str, Any] = {"roots": []}
    named = pkg.translate(value, NEW, LAST, type="ListRootsResult")
    assert pkg.translate(value, load(NEW), load(LAST), type="ListRootsResult") == named
    assert pkg.translate(value, NEW, NEW, type="ListRootsResult").value is value


def test_missing_translation_is_reported() -> None:
    with pytest.raises(LookupError, match="has no equivalent of Task"):
        pkg.translate({}, NEW, LAST, type="Task")
    with pytest.raises(LookupError, match="no tables from"):
        pkg.translate({}, NEW, "2020-01-01", type="Tool")
    with pytest.raises(TypeError, match="type="):
        pkg.translate({}, NEW, LAST)
    with pytest.raises(TypeError, match="is not a model of"):
        pkg.translate(m.TextContent(text=""), OLD, LAST)


def test_a_package_and_its_function_share_a_name() -> None:
    from mcp_revisions import translate
    from mcp_revisions.translate import v2025_03_26 as tables

    assert translate({}, OLD, OLD, type="Tool").value == {}
    assert tables.UP.source == OLD
    assert Direction is type(tables.DOWN)
