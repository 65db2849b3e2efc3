"""The results of vectors become findings that a comparison can show."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.vectors.outcome import (
    Harm,
    RoundTripLoss,
    VectorResult,
    VectorRun,
    Verdict,
    losses,
)
from mcp_protogen.instep.vectors.outcome_changes import comparison, findings, item_of
from mcp_protogen.pipeline.reports.change import Category, Reader, ReportedChange, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat, render
from support import formats, tables
from support.vectors.vector_sets import find_vector, vectors

REVISION = "2025-11-25"


def result(id: str, verdict: Verdict, written: Any = ..., error: str = "") -> VectorResult:
    vector = find_vector(REVISION, id)
    harm = () if written is ... else tuple(losses(vector.value, written))
    return VectorResult(vector, verdict, error, harm)


def find_changes(*results: VectorResult) -> tuple[ReportedChange, ...]:
    return findings(VectorRun(REVISION, "mylib 1.0", results))


def only(*results: VectorResult) -> ReportedChange:
    (change,) = find_changes(*results)
    return change


# -- Verdicts -------------------------------------------------------------------------------------


def test_a_valid_value_that_is_refused() -> None:
    change = only(result("Tool/valid/title/present", Verdict.REFUSED, error="no title, please"))
    assert (change.code, change.item) == ("refuses-valid", "Tool.title")
    assert change.category is Category.BEHAVIOUR
    assert change.pointer == "/$defs/Tool/properties/title"
    assert change.before == "accepted"
    assert change.after == "refused: no title, please (Tool/valid/title/present)"
    assert change.worst is Severity.BREAKING


def test_a_type_whose_smallest_value_is_refused_is_one_finding() -> None:
    change = only(
        result("Tool/valid/minimal", Verdict.REFUSED),
        result("Tool/valid/title/present", Verdict.REFUSED),
        result("Tool/valid/full", Verdict.REFUSED),
    )
    assert (change.code, change.item) == ("refuses-valid", "Tool")
    assert "3 vectors" in change.after


def test_same_refusal_is_single_finding_of_its_type() -> None:
    change, other = find_changes(
        result("Tool/valid/icons/items-1", Verdict.REFUSED, error="icons.0: no icons"),
        result("Tool/valid/icons/items-2", Verdict.REFUSED, error="icons.1: no icons"),
        result("Tool/valid/title/present", Verdict.REFUSED, error="no title"),
    )
    assert (change.item, other.item) == ("Tool.icons", "Tool.title")
    assert "2 vectors" in change.after


def test_same_refusal_with_same_reason_is_single_finding_of_all_types() -> None:
    ids = [f"{name}/valid/undeclared" for name in ("JSONRPCRequest", "EmptyResult", "Tool")]
    ids.append("tools/list:request:client/valid/undeclared")
    refusals = [result(id, Verdict.REFUSED, error='no key "x-undeclared"') for id in ids]
    other = result("Prompt/valid/undeclared", Verdict.REFUSED, error="too long")
    silent = result("Root/valid/undeclared", Verdict.REFUSED)
    one, *rest = find_changes(*refusals, other, silent)
    assert one.places == (
        *("JSONRPCRequest.x-undeclared", "Result", "Tool.x-undeclared"),
        "tools/list:request:client.x-undeclared",
    )
    assert "4 vectors, also Result, Tool.x-undeclared" in one.after
    assert one.severity[Reader.CLIENT] is Severity.BREAKING
    assert [change.item for change in rest] == ["Prompt.x-undeclared", "Root.x-undeclared"]
    assert all(change.places == () for change in rest)


def test_types_whose_smallest_values_are_refused_in_the_same_words_are_one_finding() -> None:
    change, other = find_changes(
        result("Tool/valid/minimal", Verdict.REFUSED, error="no network"),
        result("Tool/valid/full", Verdict.REFUSED, error="not now"),
        result("Prompt/valid/minimal", Verdict.REFUSED, error="no network"),
        result("Root/valid/minimal", Verdict.REFUSED),
    )
    assert (change.places, other.item) == (("Tool", "Prompt"), "Root")


def test_an_envelope_is_the_same_in_all_messages() -> None:
    change, other = find_changes(
        result("CallToolRequest/invalid/jsonrpc/missing", Verdict.ACCEPTED),
        result("ping:request:client/invalid/jsonrpc/missing", Verdict.ACCEPTED),
        result("ToolUseContent/invalid/id/missing", Verdict.ACCEPTED),
    )
    assert (change.places, other.item) == (
        ("CallToolRequest.jsonrpc", "PingRequest.jsonrpc"),
        "ToolUseContent.id",
    )


def test_an_invalid_value_that_is_accepted_is_named_by_what_the_schema_says() -> None:
    for id, item in (
        ("Tool/invalid/name/missing", "Tool.name"),
        ("Annotations/invalid/priority/maximum", "Annotations.priority"),
        ("CallToolResult/invalid/content/null", "CallToolResult.content"),
        ("tools/call:request:client/invalid/params/name/missing", "CallToolRequestParams.name"),
        ("tools/call:request:client/invalid/jsonrpc/missing", "CallToolRequest.jsonrpc"),
        ("Annotations/invalid/audience/0/enum", "Role"),
        (
            "TitledMultiSelectEnumSchema/invalid/items/anyOf/0/const/missing",
            "TitledMultiSelectEnumSchema.items.anyOf[].const",
        ),
        ("ElicitResult/invalid/content/key/no-arm-null", "ElicitResult.content.*"),
    ):
        with tables.case(id):
            change = only(result(id, Verdict.ACCEPTED))
            assert (change.code, change.item) == ("accepts-invalid", item)


def test_ignored_keyword_is_single_finding() -> None:
    change = only(
        result("CallToolRequestParams/invalid/name/missing", Verdict.ACCEPTED),
        result("tools/call:request:client/invalid/params/name/missing", Verdict.ACCEPTED),
    )
    assert "2 vectors" in change.after


def test_a_reader_that_takes_null_everywhere_is_one_finding_that_names_some_places() -> None:
    results = [
        result("Tool/invalid/title/null", Verdict.ACCEPTED),
        result("Tool/invalid/description/null", Verdict.ACCEPTED),
        result("Prompt/invalid/title/null", Verdict.ACCEPTED),
    ]
    change = only(*results)
    assert change.message == "accepted, although it is wrong: null in place of a string"
    assert "3 vectors, also Tool.description, Prompt.title" in change.after


def test_tolerated_or_unknown_verdict_is_not_finding() -> None:
    assert not find_changes(
        result("ContentBlock/invalid/type/unknown", Verdict.ACCEPTED),
        result("Tool/invalid/inputSchema/type/const", Verdict.ACCEPTED),
        result("Tool/valid/minimal", Verdict.UNKNOWN),
        result("Tool/invalid/null", Verdict.REFUSED),
    )


def test_tolerance_ends_where_the_member_is_no_object_at_all() -> None:
    assert find_changes(result("Tool/invalid/inputSchema/null", Verdict.ACCEPTED))
    assert find_changes(result("Tool/invalid/inputSchema/missing", Verdict.ACCEPTED))


def test_a_program_that_ends_over_values_is_found_once_for_each_cause() -> None:
    one, other, silent = find_changes(
        result(
            "Tool/valid/title/present", Verdict.CRASHED, error="ended with exit code 2: at 0x7f"
        ),
        result("Tool/invalid/null", Verdict.CRASHED, error="was ended by signal 11"),
        result("Prompt/invalid/null", Verdict.CRASHED, error="ended with exit code 2: at 0x80"),
        result("Prompt/invalid/title/null", Verdict.HUNG, error="no answer within 10 seconds"),
    )
    assert (one.code, other.code, silent.code) == ("crashes", "crashes", "hangs")
    assert (one.item, one.before) == ("Tool.title", "accepted")
    assert one.after.startswith("ended with exit code 2: at 0x7f (Tool/valid/title/present; ")
    assert "2 vectors, also Prompt" in one.after
    assert (other.item, other.before) == ("Tool", "refused")
    assert silent.message == "no answer to this value in time"
    assert one.worst is other.worst is silent.worst is Severity.BREAKING


# -- Round trips ----------------------------------------------------------------------------------


def test_round_trip_changes_are_reported() -> None:
    rows: list[tuple[str, Any, str, str, str, str]] = [
        (
            "Annotations/valid/full",
            {"audience": ["assistant"], "priority": 0.5},
            "loses-member",
            "Annotations.lastModified",
            '"2025-11-25T10:30:00Z"',
            "absent",
        ),
        (
            "Annotations/valid/minimal",
            {"priority": None},
            "adds-member",
            "Annotations.priority",
            "absent",
            "null",
        ),
        (
            "Annotations/valid/audience/items-1",
            {"audience": ["ASSISTANT"]},
            "changes-member",
            "Annotations.audience[]",
            '"assistant"',
            '"ASSISTANT"',
        ),
        (
            "Annotations/valid/undeclared",
            {},
            "loses-undeclared",
            "Annotations.x-undeclared",
            '{"a": [1, "text"]}',
            "absent",
        ),
        (
            "Tool/valid/_meta/undeclared-null",
            {"inputSchema": {"type": "object"}, "name": "example", "_meta": {}},
            "loses-null",
            "Tool._meta.x-undeclared",
            "null",
            "absent",
        ),
    ]
    for id, written, code, item, before, after in rows:
        with tables.case(id):
            change = only(result(id, Verdict.ACCEPTED, written))
            assert (change.code, change.item, change.before) == (code, item, before)
            assert change.after == f"{after} ({id})"


def test_a_null_that_a_member_is_declared_to_take_is_as_lost_as_any_value() -> None:
    vector = find_vector(REVISION, "Task/valid/ttl/null")
    written = {name: value for name, value in vector.value.items() if name != "ttl"}
    change = only(result(vector.id, Verdict.ACCEPTED, written))
    assert (change.code, change.item) == ("loses-member", "Task.ttl")


def test_a_null_beside_what_a_vector_shows_is_a_null_that_is_lost() -> None:
    vector = find_vector(REVISION, "Task/valid/ttl/null")
    change = only(
        VectorResult(
            vector, Verdict.ACCEPTED, "", (RoundTripLoss(Harm.LOST, "/other", None, None),)
        )
    )
    assert change.code == "loses-null"


def test_members_lost_everywhere_are_one_finding_by_name() -> None:
    written = {"audience": ["assistant"], "priority": 0.5}
    annotations = find_vector(REVISION, "Annotations/valid/full")
    block = find_vector(REVISION, "TextContent/valid/full")
    without = {**block.value, "annotations": written}
    both = [
        VectorResult(annotations, Verdict.ACCEPTED, "", tuple(losses(annotations.value, written))),
        VectorResult(block, Verdict.ACCEPTED, "", tuple(losses(block.value, without))),
    ]
    assert "2 vectors, also TextContent.annotations.lastModified" in only(*both).after


AS_JSON: list[tuple[Any, Any, list[RoundTripLoss]]] = [
    ({"a": 1, "b": [1, 2]}, {"b": [1.0, 2], "a": 1}, []),
    (1, True, [RoundTripLoss(Harm.CHANGED, "", 1, True)]),
    (True, True, []),
    ("1", 1, [RoundTripLoss(Harm.CHANGED, "", "1", 1)]),
    ("a", "b", [RoundTripLoss(Harm.CHANGED, "", "a", "b")]),
    ([1], [1, 2], [RoundTripLoss(Harm.CHANGED, "", [1], [1, 2])]),
    ({"a/b": None}, {}, [RoundTripLoss(Harm.LOST, "/a~1b", None, None)]),
    ({"a": [{"b": 1}]}, {"a": [{}]}, [RoundTripLoss(Harm.LOST, "/a/0/b", 1, None)]),
    ({}, {"x": 0}, [RoundTripLoss(Harm.ADDED, "/x", None, 0)]),
    (None, {}, [RoundTripLoss(Harm.CHANGED, "", None, {})]),
]


def test_values_are_compared_as_json() -> None:
    for before, after, expected in AS_JSON:
        with tables.case((before, after, expected)):
            assert list(losses(before, after)) == expected


# -- Severities and pages -------------------------------------------------------------------------


def severity_of(id: str, verdict: Verdict) -> Mapping[Reader, Severity]:
    return only(result(id, verdict)).severity


def test_a_message_that_is_refused_breaks_the_side_that_receives_it() -> None:
    id = "tools/call:request:client/valid/params/arguments/present"
    severity = severity_of(id, Verdict.REFUSED)
    assert severity[Reader.SERVER] is severity[Reader.SDK] is Severity.BREAKING
    assert severity[Reader.CLIENT] is Severity.INFO


def test_a_type_may_be_received_by_either_side() -> None:
    severity = severity_of("Tool/valid/title/present", Verdict.REFUSED)
    assert severity[Reader.SERVER] is severity[Reader.CLIENT] is Severity.BREAKING


def test_leniency_worries_who_passes_messages_on_more_than_who_reads_them() -> None:
    severity = severity_of("Tool/invalid/title/null", Verdict.ACCEPTED)
    assert severity[Reader.GATEWAY] is Severity.WARNING
    assert severity[Reader.CLIENT] is Severity.INFO


def test_unknown_types_are_counted_in_a_note() -> None:
    outcome = VectorRun(
        REVISION,
        "mylib 1.0",
        (
            result("Tool/valid/minimal", Verdict.ACCEPTED),
            result("Prompt/valid/minimal", Verdict.UNKNOWN),
            result("Prompt/valid/full", Verdict.UNKNOWN),
            result("ping:request:client/valid/minimal", Verdict.UNKNOWN),
        ),
    )
    made = comparison(outcome)
    assert (made.before, made.after, made.changes) == (REVISION, "mylib 1.0", ())
    (note,) = made.notes
    assert note.message == "2 types and messages are unknown to it: Prompt, ping:request:client"


def test_a_program_that_knows_nothing_is_no_success() -> None:
    outcome = VectorRun(REVISION, "mylib 1.0", (result("Tool/valid/minimal", Verdict.UNKNOWN),))
    with pytest.raises(ProblemError) as caught:
        comparison(outcome)
    assert caught.value.problems[0].code == "nothing-known"


def test_findings_look_like_any_comparison() -> None:
    for format in PageFormat:
        with tables.case(format):
            names = ["Tool", "Prompt", "Resource", "Root", "Icon"]
            results = tuple(result(f"{name}/invalid/null", Verdict.ACCEPTED) for name in names)
            page = render(format, comparison(VectorRun(REVISION, "mylib 1.0", results)))
            assert "accepts-invalid" in page
            assert "5 vectors, also Prompt, Resource, Root and 1 more" in " ".join(page.split())
            if format is PageFormat.JSON:
                document = json.loads(page)
                assert formats.faults("comparison", document) == []
                (change,) = document["changes"]
                assert (change["pointer"], change["places"]) == ("/$defs/Tool/type", names)


def test_every_vector_has_an_item_to_be_called_by() -> None:
    items = {item_of(vector) for vector in vectors(REVISION).vectors}
    assert "" not in items
    assert {"Tool.inputSchema", "Annotations.priority", "Role"} <= items
