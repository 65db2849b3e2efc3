"""Published files against pinned ones: drafts, and other publications of one revision."""

import json
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from mcp_protogen.base import jsonpointer
from mcp_protogen.base.problems import Level, ProblemError
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import compared_file, compared_pin
from mcp_protogen.pipeline.config import GivenFile
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.reports.change import Comparison, Reader, ReportedChange
from support import tables
from support.revisions import NEWEST, REVISIONS
from support.unit.schemas import ref

Json = dict[str, Any]
Edit = Callable[[Json], object]

pinned = cache(compared_file)


def compare_given(
    content: bytes, revision: str = NEWEST, *, as_published: bool = False
) -> Comparison:
    """Compare a pinned revision with a file of the same revision."""
    file = GivenFile("draft.json", content)
    return compare_revisions(
        pinned(NEWEST if revision == "draft" else revision, None, as_published=as_published),
        compared_file(revision, file, title="draft.json", as_published=as_published),
    )


def compare_edited(edit: Edit, revision: str = NEWEST) -> Comparison:
    """The pinned revision beside itself with something changed."""
    document = json.loads(read_snapshot(revision))
    edit(document["$defs"])
    return compare_given(json.dumps(document).encode(), revision)


def the_one(comparison: Comparison) -> ReportedChange:
    (change,) = comparison.changes
    return change


def test_the_pinned_file_is_the_pinned_revision() -> None:
    for revision in REVISIONS:
        with tables.case(revision):
            comparison = compare_given(read_snapshot(revision), revision)
            assert (comparison.changes, comparison.notes) == ((), ())


def test_a_draft_that_nobody_has_written_on_is_the_newest_revision() -> None:
    comparison = compare_given(read_snapshot(NEWEST), "draft")
    assert comparison.changes == ()
    assert {note.code for note in comparison.notes} == {"derived-facts", "inherited-patch"}


NAME = ("Tool", "properties", "name")
LIST = ("ListToolsResult", "properties", "tools")
TTL = ("ListToolsResult", "properties", "ttlMs")
VALUES = ("CompleteResult", "properties", "completion", "properties", "values", "items")
ONE_OF = [{"required": ["title"]}, {"required": ["description"]}]
TITLE_NEEDS_ICONS = {"title": ["icons"]}
# The place, what is changed there, and the code, the item and the text after it.
KEYWORDS: list[tuple[tuple[str, ...], Json, str, str, str]] = [
    (NAME, {"pattern": "^a"}, "bound-tightened", "Tool.name", 'pattern "^a"'),
    (NAME, {"format": "uri"}, "field-format-changed", "Tool.name", 'format "uri"'),
    (NAME, {"minLength": 1}, "bound-tightened", "Tool.name", "minLength 1"),
    (
        *(NAME, {"contentEncoding": "base64"}, "field-format-changed", "Tool.name"),
        'contentEncoding "base64"',
    ),
    (
        *(("Tool",), {"additionalProperties": False}, "bound-tightened", "Tool"),
        "additionalProperties false",
    ),
    (
        *(("Tool",), {"dependentRequired": TITLE_NEEDS_ICONS}, "bound-tightened", "Tool"),
        'dependentRequired {"title": ["icons"]}',
    ),
    (("Tool",), {"anyOf": ONE_OF}, "bound-tightened", "Tool", 'anyOf ["title", "description"]'),
    (
        *(LIST, {"uniqueItems": True}, "bound-tightened", "ListToolsResult.tools"),
        "uniqueItems true",
    ),
    (
        *(VALUES, {"maxLength": 9}, "bound-tightened", "CompleteResult.completion.values"),
        "items/maxLength 9",
    ),
    (
        *(TTL, {"exclusiveMinimum": 0}, "bound-tightened", "ListToolsResult.ttlMs"),
        "exclusiveMinimum 0",
    ),
    (LIST, {"items": True}, "field-type-widened", "ListToolsResult.tools", "[any]"),
    (
        *(("Tool", "properties", "title"), {"default": "x"}, "field-default-changed", "Tool.title"),
        '"x"',
    ),
]


def test_no_keyword_is_lost_on_the_way() -> None:
    for place, keyword, code, item, after in KEYWORDS:

        def edit(types: Json, place: tuple[str, ...] = place, keyword: Json = keyword) -> None:
            jsonpointer.get(types, jsonpointer.join(*place)).update(keyword)

        with tables.case(keyword):
            change = the_one(compare_edited(edit))
            assert (change.code, change.item, change.after) == (code, item, after)
            if place == NAME:
                assert change.pointer == jsonpointer.join("$defs", *place, *keyword)


def test_a_default_of_a_type_is_compared() -> None:
    names = ("ContentBlock", "Cursor", "Role", "Tool")

    def edit(types: Json) -> None:
        for name in names:
            types[name]["default"] = "x"

    changes = compare_edited(edit).changes
    found = sorted((change.item, change.before, change.after) for change in changes)
    assert found == [(name, "", '"x"') for name in names]


def test_the_keyword_of_what_is_deprecated_is_compared() -> None:
    rows = (
        (("Tool",), "type-deprecated", "Tool"),
        (("Cursor",), "type-deprecated", "Cursor"),
        (("Tool", "properties", "title"), "field-deprecated", "Tool.title"),
        (("Tool", "properties", "inputSchema"), "field-deprecated", "Tool.inputSchema"),
        (("BaseMetadata", "properties", "title"), "field-deprecated", "BaseMetadata.title"),
        (
            ("CallToolRequestParams", "properties", "name"),
            "field-deprecated",
            "CallToolRequest.params.name",
        ),
    )

    def edit(types: Json) -> None:
        for path, *_ in rows:
            jsonpointer.get(types, jsonpointer.join(*path))["deprecated"] = True

    found = {(change.code, change.item) for change in compare_edited(edit).changes}
    assert found == {(code, item) for _, code, item in rows}


def test_deprecation_known_from_facts_is_not_reported_again() -> None:
    """https://modelcontextprotocol.io/specification/2026-07-28/deprecated: logging, for one."""

    def edit(types: Json) -> None:
        types["LoggingLevel"]["deprecated"] = True
        types["CreateMessageRequestParams"]["properties"]["includeContext"]["deprecated"] = True

    assert compare_edited(edit).changes == ()


def test_unused_name_is_compared_for_authors_of_code() -> None:
    def edit(types: Json) -> None:
        types["Cursor"]["type"] = "integer"
        types["MultiSelectEnumSchema"]["anyOf"].pop()
        # Lists of messages, each with its own differences.
        types["ServerResult"]["anyOf"].pop()

    changes = compare_edited(edit).changes
    assert [(change.code, change.item, change.before, change.after) for change in changes] == [
        ("type-changed-unsent", "Cursor", "string", "integer"),
        (
            "type-changed-unsent",
            "MultiSelectEnumSchema",
            "TitledMultiSelectEnumSchema|UntitledMultiSelectEnumSchema",
            "UntitledMultiSelectEnumSchema",
        ),
    ]
    assert {str(change.severity[Reader.SDK]) for change in changes} == {"warning"}


def test_an_intersection_of_one_is_that_one() -> None:
    def edit(types: Json) -> None:
        tool = types["Tool"]["properties"]
        for schema in (tool["annotations"], tool["title"], types["EmptyResult"], types["Tool"]):
            alone = dict(schema)
            schema.clear()
            schema["allOf"] = [alone]

    assert compare_edited(edit).changes == ()


def test_an_object_behind_a_name_is_the_same_object() -> None:
    def edit(types: Json) -> None:
        types["BaseIcon"] = types["Icon"]
        types["Icon"] = ref("BaseIcon")

    assert the_one(compare_edited(edit)).code == "type-added"


def test_irregular_schema_is_compared_as_whole() -> None:
    schema = compare_edited(
        lambda types: types["Tool"]["properties"]["inputSchema"].update(required=["a"])
    )
    assert (the_one(schema).code, the_one(schema).item) == (
        "field-schema-changed",
        "Tool.inputSchema",
    )


def test_a_bound_beside_a_reference_leaves_it_a_reference() -> None:
    comparison = compare_edited(
        lambda types: types["Tool"]["properties"].update(
            annotations={**ref("ToolAnnotations"), "deprecated": True, "minProperties": 1}
        )
    )
    assert [(change.code, change.item) for change in comparison.changes] == [
        ("bound-tightened", "Tool.annotations"),
        ("field-deprecated", "Tool.annotations"),
    ]


def test_a_required_member_of_an_envelope_breaks_everybody() -> None:
    def edit(types: Json) -> None:
        types["JSONRPCRequest"]["properties"]["trace"] = {"type": "string"}
        types["JSONRPCRequest"]["required"].append("trace")

    change = the_one(compare_edited(edit))
    assert (change.code, change.item) == ("field-added-required", "JSONRPCRequest.trace")
    assert {*change.severity.values()} == {"breaking"}


def test_a_method_that_no_fact_knows_is_found_and_noted() -> None:
    def edit(types: Json) -> None:
        types["NapRequest"] = {
            "type": "object",
            "properties": {"method": {"const": "nap/take"}, "params": ref("RequestParams")},
            "required": ["method", "params"],
        }
        types["ClientRequest"]["anyOf"].append(ref("NapRequest"))

    comparison = compare_edited(edit)
    assert {(change.code, change.item) for change in comparison.changes} == {
        ("method-added", "nap/take"),
        ("type-added", "NapRequest"),
    }
    assert [note.level for note in comparison.notes] == [Level.WARNING]


def test_a_method_that_facts_know_and_the_file_does_not_is_removed() -> None:
    def edit(types: Json) -> None:
        arms = types["ClientRequest"]["anyOf"]
        types["ClientRequest"]["anyOf"] = [arm for arm in arms if "Complete" not in arm["$ref"]]

    change = the_one(compare_edited(edit))
    assert (change.code, change.item) == ("method-removed", "completion/complete")


def test_a_new_capability_is_told_once() -> None:
    change = the_one(
        compare_edited(
            lambda types: types["ServerCapabilities"]["properties"].update(naps={"type": "object"})
        )
    )
    assert (change.code, change.item) == ("capability-added", "server:naps")


def test_patches_that_were_done_upstream_do_not_stand_in_the_way() -> None:
    """The file of 2025-11-25 with one of its mistakes fixed as in our patches."""

    def edit(types: Json) -> None:
        types["ElicitResult"]["properties"]["content"]["additionalProperties"]["anyOf"][1][
            "type"
        ] = ["string", "number", "boolean"]

    comparison = compare_edited(edit, "2025-11-25")
    assert comparison.changes == ()
    assert [(note.code, note.level) for note in comparison.notes] == [
        ("stale-patch", Level.WARNING)
    ]


def test_without_patches_what_they_mend_is_a_difference() -> None:
    document = json.loads(read_snapshot("2025-11-25"))
    types = document["$defs"]
    types["ElicitResult"]["properties"]["content"]["additionalProperties"]["anyOf"][1]["type"] = [
        *("string", "number", "boolean")
    ]
    comparison = compare_given(json.dumps(document).encode(), "2025-11-25", as_published=True)
    change = the_one(comparison)
    assert (change.code, change.item) == ("field-type-widened", "ElicitResult.content")


def test_a_file_that_is_no_schema_of_the_protocol_is_named() -> None:
    rows: list[tuple[bytes, str]] = [
        (b"", "not-json"),
        (b"[]", "not-a-schema"),
        (b"{}", "not-a-schema"),
        (b'{"$defs": {"A": 5}}', "not-a-schema"),
        (b'{"$defs": {"A": {"type": "thing"}}}', "not-a-schema"),
        (b'{"$defs": {}}', "no-message-unions"),
        (b'{"$defs": {"A": {"$ref": "#/$defs/B"}}}', "no-message-unions"),
        (b"\xff\xfe", "not-json"),
        (b'{"a": NaN}', "not-json"),
    ]
    for content, code in rows:
        with tables.case(content):
            with pytest.raises(ProblemError) as caught:
                compare_given(content)
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == (code, "draft.json")


def test_a_reference_that_leads_nowhere_is_named() -> None:
    with pytest.raises(ProblemError) as caught:
        compare_edited(lambda types: types["Tool"]["properties"].update(title=ref("Nothing")))
    (problem,) = caught.value.problems
    assert problem.code == "dangling-ref"
    assert problem.pointer == "/$defs/Tool/properties/title"


def test_types_that_contain_themselves_come_to_an_end() -> None:
    def edit(types: Json) -> None:
        types["Tool"]["properties"]["parent"] = ref("Tool")
        types["Tool"]["properties"]["tree"] = ref("Tree")
        types["Tree"] = {"type": "array", "items": ref("Tree")}

    codes = [change.code for change in compare_edited(edit).changes]
    assert sorted(codes) == ["field-added-optional", "field-added-optional", "type-added"]


def test_a_pointer_leads_to_the_member_whatever_it_is_called() -> None:
    for member in ("a/b", "a.b", "a~b/c.d"):
        with tables.case(member):
            document = json.loads(read_snapshot(NEWEST))
            document["$defs"]["RequestMetaObject"]["properties"][member] = {"type": "string"}
            change = the_one(compare_given(json.dumps(document).encode()))
            assert change.item == f"RequestMetaObject.{member}"
            assert jsonpointer.get(document, change.pointer) == {"type": "string"}


def test_every_pointer_leads_somewhere() -> None:
    before, after = compared_pin("2025-11-25"), compared_pin(NEWEST)
    for change in compare_revisions(before, after).changes:
        gone = change.code.startswith(("field-removed", "field-moved-into", "type-removed"))
        gone = gone or change.code in ("method-removed", "base-member-removed")
        where = {"$defs": (before if gone else after).definitions}
        assert not change.pointer or jsonpointer.get(where, change.pointer) is not None, change
