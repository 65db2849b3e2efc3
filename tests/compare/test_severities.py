"""The table of severities: each of its rows is found, and every change comes from one."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import ComparedRevision, ExtensionPart
from mcp_protogen.pipeline.ir import ConditionIR
from mcp_protogen.pipeline.reports import severities as module
from mcp_protogen.pipeline.reports.change import PROTOCOL, Severity
from mcp_protogen.pipeline.reports.severities import severities
from support import tables
from support.compare.code_cases import (
    RULES,
    Case,
    answer_type,
    answer_with,
    asking,
    capability,
    error,
    gate,
    header,
    make_case,
    meta_key,
    result,
    side,
)
from support.unit.schemas import STRING, record, ref

NOTHING = side()
NO_NAMES = frozenset[str]()
PLAIN = result(STRING)
ANSWERING = side(types=(answer_type(),))
OPEN = replace(ANSWERING, open_types=frozenset({"AskResult"}))
NO_METHODS = side(methods=())
GATED = asking(requires=(gate(),))
ABLE = side(capabilities=(capability(),))
FAILING = side(errors=(error(),))
KEYED = side(meta_keys=(meta_key(),))
MANDATORY = replace(NOTHING, facts={"methods": {"things/ask": {"mandatory": True}}})
BY_POST = replace(NOTHING, facts={"transports": {"post": {"address": "url", "framing": "http"}}})
BY_MAIL = replace(NOTHING, facts={"transports": {"post": {"address": "url", "framing": "mail"}}})
LATER = ExtensionPart("x", "com.example/x", NOTHING.ir.id, NO_NAMES, NO_NAMES, "stable")
AT_FIRST = replace(NOTHING, extension=replace(LATER, stage="beta"))
AT_MOST_3 = result({"type": "string", "maxLength": 3})
NAMED = {"Named": record(a=STRING)}
NAMING = result(ref("Named"), NAMED)
NEEDS = {"Named": record(("a",), a=STRING)}
OBJECT = {"type": "object"}
INTEGER = {"type": "integer"}
BAG = {"Bag": OBJECT}
INLINE = record(a=STRING)
A_OR_B = {"A": record(a=STRING), "B": record(b=STRING), "C": record(c=STRING)}


def union(*arms: str) -> dict[str, Any]:
    """Return the definitions of a union in the result, and of all its possible alternatives."""
    return {**A_OR_B, "Union": {"anyOf": [ref(arm) for arm in arms]}}


def of_union(*arms: str) -> ComparedRevision:
    """A version whose result contains a union."""
    return result(ref("Union"), union(*arms))


def no_thing(code: int) -> dict[str, Any]:
    return record(code={"const": code}, message=STRING)


def make_pair(
    there: str, back: str, before: ComparedRevision, after: ComparedRevision, *others: str
) -> Iterator[Case]:
    """Yield a difference, and the same in the other direction; `others` come both ways."""
    yield make_case(there, before, after, *others)
    yield make_case(back, after, before, *others)


MEMBERS = (
    make_case("field-added-required", NOTHING, result(STRING, required=True)),
    make_case("field-added-optional", NOTHING, PLAIN),
    make_case(
        "field-added-inside", NOTHING, result(record(("a",), a=STRING)), "field-added-optional"
    ),
    make_case("field-removed-required", result(STRING, required=True), NOTHING),
    make_case("field-removed", PLAIN, NOTHING),
    make_case("field-removed-inside", result(INLINE), NOTHING, "field-removed"),
    make_case("field-moved-into-type", result(INLINE), NAMING, "field-type-renamed", "type-added"),
    make_case(
        "field-moved-out-of-type", NAMING, result(INLINE), "field-type-renamed", "type-removed"
    ),
    *make_pair("field-now-required", "field-now-optional", PLAIN, result(STRING, required=True)),
    make_case("field-now-nullable", PLAIN, result({"type": ["string", "null"]})),
    make_case("field-not-nullable", result({"anyOf": [STRING, {"type": "null"}]}), PLAIN),
    make_case("field-type-widened", result(INTEGER), result({"type": "number"})),
    make_case("field-type-narrowed", PLAIN, result({"enum": ["a", "b"]})),
    make_case("field-type-changed", PLAIN, result(INTEGER)),
    make_case("field-type-specified", result(OBJECT), NAMING, "type-added"),
    make_case("field-type-generalised", NAMING, result(OBJECT, NAMED)),
    make_case("field-type-renamed", result(OBJECT), result(ref("Bag"), BAG), "type-added"),
    make_case("field-default-changed", PLAIN, result({"type": "string", "default": "x"})),
    make_case(
        "field-schema-changed",
        side({"AskResult": record(plan=OBJECT)}),
        side({"AskResult": record(plan={"type": "object", "required": ["type"]})}),
    ),
    make_case("field-format-changed", PLAIN, result({"type": "string", "format": "uri"})),
    *make_pair("bound-tightened", "bound-loosened", PLAIN, AT_MOST_3),
    make_case(
        "bound-changed",
        result({"type": "string", "pattern": "^a"}),
        result({"type": "string", "pattern": "^b"}),
    ),
    *make_pair(
        *("known-value-added", "known-value-removed"), answer_with(("a",)), answer_with(("a", "b"))
    ),
    *make_pair(
        *("field-deprecated", "field-undeprecated"), answer_with(), answer_with(deprecated=True)
    ),
)

TYPES = (
    *make_pair(
        *("enum-member-added", "enum-member-removed"),
        result({"enum": ["a"]}),
        result({"enum": ["a", "b"]}),
    ),
    *make_pair(
        "union-arms-added", "union-arms-removed", of_union("A", "B"), of_union("A", "B", "C")
    ),
    make_case("union-arms-changed", of_union("A", "B"), of_union("A", "C")),
    make_case(
        "union-arms-renamed",
        result(ref("Union"), union("A", "B")),
        result(ref("Union"), {**union("A", "Both"), "Both": {"anyOf": [ref("B")]}}),
        "type-added",
    ),
    *make_pair("type-added", "type-removed", NOTHING, side(NAMED)),
    make_case(
        "type-renamed",
        NAMING,
        result(ref("Called"), {"Called": NAMED["Named"]}),
        "field-type-renamed",
    ),
    make_case(
        "type-redefined",
        side({"Old": record(a=STRING, b=STRING)}),
        side({"Old": STRING, "New": record(a=STRING, b=STRING)}),
        "type-renamed",
    ),
    make_case("type-changed", NAMING, result(ref("Named"), {"Named": STRING})),
    make_case("type-changed-unsent", side({"Name": STRING}), side({"Name": INTEGER})),
    *make_pair("type-opened", "type-closed", ANSWERING, OPEN),
    *make_pair(
        *("type-deprecated", "type-undeprecated"),
        ANSWERING,
        side(types=(answer_type(deprecated=True),)),
    ),
    *make_pair(
        *("base-member-added", "base-member-removed"),
        side({"Base": INLINE}),
        side({"Base": record(a=STRING, b=STRING)}),
    ),
    make_case("base-member-changed", side({"Base": INLINE}), side({"Base": NEEDS["Named"]})),
)

METHODS = (
    *make_pair("method-added", "method-removed", NO_METHODS, NOTHING),
    make_case("method-added-mandatory", NO_METHODS, MANDATORY),
    *make_pair("method-now-mandatory", "method-now-voluntary", NOTHING, MANDATORY),
    *make_pair(
        *("method-sender-added", "method-sender-removed"),
        NOTHING,
        asking(senders=("client", "server")),
    ),
    make_case("method-direction-changed", NOTHING, asking(senders=("server",))),
    # An embedded value has no request that could be cancelled.
    make_case("method-kind-changed", NOTHING, asking(kind="embedded", traits=())),
    make_case("method-message-changed", NOTHING, asking(message="InquireRequest")),
    *make_pair(
        *("method-result-added", "method-result-removed"),
        NOTHING,
        asking(results=("AskResult", "Later")),
    ),
    make_case(
        "method-result-changed",
        asking(results=("AskResult", "A")),
        asking(results=("AskResult", "B")),
    ),
    *make_pair(
        *("method-params-now-required", "method-params-now-optional"),
        NOTHING,
        asking(params_required=True),
    ),
    make_case("method-trait-added", NOTHING, asking(traits=("cancellable", "cacheable"))),
    make_case("method-trait-removed", NOTHING, asking(traits=())),
    make_case("method-phase-changed", NOTHING, asking(phase="any")),
    *make_pair("method-deprecated", "method-undeprecated", NOTHING, asking(deprecated="2")),
    *make_pair("gate-added", "gate-removed", NOTHING, GATED),
    make_case("gate-advised", NOTHING, asking(requires=(gate(level="SHOULD"),))),
    make_case(
        "gate-on-new-member",
        NOTHING,
        asking(requires=(gate(when=(ConditionIR("mode", ("url",), False),)),)),
    ),
    make_case("gate-changed", GATED, asking(requires=(gate(level="SHOULD"),))),
)

THE_REST = (
    *make_pair("capability-added", "capability-removed", NOTHING, ABLE),
    make_case("capability-changed", ABLE, side(capabilities=(capability(flag=True),))),
    *make_pair("error-added", "error-removed", NOTHING, FAILING),
    make_case(
        "error-renumbered", side({"NoThing": no_thing(-3)}), side({"NoThing": no_thing(-21)})
    ),
    make_case("error-replaced", NOTHING, side(rules=replace(RULES, resource_not_found=-32602))),
    make_case("error-forbidden", FAILING, side(errors=(error(emit="never"),))),
    make_case("error-sender-changed", FAILING, side(errors=(error(emit="both"),))),
    make_case("error-data-changed", FAILING, side(errors=(error(data="AskResult"),))),
    make_case("meta-key-added-required", NOTHING, side(meta_keys=(meta_key(required=True),))),
    *make_pair("meta-key-added", "meta-key-removed", NOTHING, KEYED),
    make_case("meta-key-now-required", KEYED, side(meta_keys=(meta_key(required=True),))),
    make_case("meta-key-changed", KEYED, side(meta_keys=(meta_key(type="integer"),))),
    *make_pair("header-added-required", "header-removed", NOTHING, side(headers=(header("MUST"),))),
    make_case("header-added", NOTHING, side(headers=(header("MUST", "there is a thing"),))),
    *make_pair(
        *("header-now-required", "header-level-changed"),
        side(headers=(header("MAY"),)),
        side(headers=(header("MUST"),)),
    ),
    *make_pair("transport-added", "transport-removed", NOTHING, BY_POST),
    make_case("transport-changed", BY_POST, BY_MAIL),
    make_case("stage-changed", AT_FIRST, replace(NOTHING, extension=LATER)),
    make_case("era-changed", NOTHING, side(era="stateless")),
    make_case("rule-relaxed", NOTHING, side(rules=replace(RULES, send_batches=True))),
    make_case("rule-tightened", NOTHING, side(rules=replace(RULES, server_requests=False))),
    make_case(
        "rule-changed",
        NOTHING,
        side(rules=replace(RULES, result_type_values=("complete", "later"))),
    ),
)

CASES = (*MEMBERS, *TYPES, *METHODS, *THE_REST)


def test_each_kind_of_change_is_found_as_its_row_says_and_nothing_else() -> None:
    for case in CASES:
        with tables.case(case.code):
            changes = compare_revisions(case.before, case.after).changes
            assert sorted(change.code for change in changes) == sorted(case.codes)
            change, *_ = (reported for reported in changes if reported.code == case.code)
            row = severities()[case.code]
            said = (change.category, change.message, change.why)
            assert said == (row.category, row.message, row.why)
            assert set(change.severity) == set(PROTOCOL)
            assert change.item


def test_choices_in_place_of_a_type_change_the_type() -> None:
    text, choices, fewer = (
        result(schema) for schema in ({"type": "string"}, {"enum": ["a", "b"]}, {"enum": ["a"]})
    )
    for before, after, code in (
        (choices, text, "field-type-widened"),
        (text, choices, "field-type-narrowed"),
        (choices, fewer, "enum-member-removed"),
        (fewer, choices, "enum-member-added"),
    ):
        with tables.case(code):
            assert [change.code for change in compare_revisions(before, after).changes] == [code]


def test_identical_revisions_have_no_changes() -> None:
    for case in CASES:
        with tables.case(case.code):
            assert compare_revisions(case.before, case.before).changes == ()
            assert compare_revisions(case.after, case.after).changes == ()


def test_every_row_of_the_table_has_a_case() -> None:
    assert sorted(case.code for case in CASES) == sorted(severities())


def test_no_line_of_the_table_is_lost_when_it_is_read() -> None:
    text = Path(module.__file__).with_name("severities.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (?!code|---)(\S+) \|", text, re.MULTILINE)
    assert lines == [*severities()]


def test_every_reason_is_a_sentence_and_no_message_is() -> None:
    for row in severities().values():
        assert re.fullmatch(r"[A-Z].*\.", row.why), row.code
        assert re.fullmatch(r"[a-z].*[^.]", row.message), row.code


def test_breaking_change_for_one_side_warns_both_roles() -> None:
    for row in severities().values():
        worst = min(row.columns["sender"].rank, row.columns["receiver"].rank)
        if worst == Severity.BREAKING.rank:
            assert row.columns["sdk"].rank <= Severity.WARNING.rank, row.code
            assert row.columns["gateway"].rank <= Severity.WARNING.rank, row.code
