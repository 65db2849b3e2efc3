"""The affected sides of a change: senders and receivers."""

from dataclasses import replace
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.names import ClassName
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.reports.change import Reader, ReportedChange, Severity
from support import tables
from support.compare.code_cases import (
    ASK,
    RULES,
    answer_type,
    asking,
    error,
    gate,
    header,
    meta_key,
    params,
    result,
    side,
)
from support.unit.schemas import STRING, record, ref

BREAKING, INFO, NONE = Severity.BREAKING, Severity.INFO, Severity.NONE
NOTHING = side()
BOTH = replace(ASK, senders=("client", "server"))


def the_one(before: ComparedRevision, after: ComparedRevision, code: str) -> ReportedChange:
    (change,) = (found for found in compare_revisions(before, after).changes if found.code == code)
    return change


def to_client_and_server(change: ReportedChange) -> tuple[Severity, Severity]:
    return change.severity[Reader.CLIENT], change.severity[Reader.SERVER]


def test_a_new_required_member_of_params_breaks_who_sends_them() -> None:
    change = the_one(NOTHING, params(STRING, required=True), "field-added-required")
    assert to_client_and_server(change) == (BREAKING, INFO)
    assert change.item == "AskRequest.params.value"


def test_a_new_required_member_of_a_result_breaks_who_answers() -> None:
    change = the_one(NOTHING, result(STRING, required=True), "field-added-required")
    assert to_client_and_server(change) == (INFO, BREAKING)
    assert change.item == "AskResult.value"


def test_type_sent_by_both_counts_for_both() -> None:
    before = side(methods=(BOTH,))
    after = side({"AskResult": record(("value",), value=STRING)}, methods=(BOTH,))
    change = the_one(before, after, "field-added-required")
    assert to_client_and_server(change) == (BREAKING, BREAKING)


def test_type_nested_in_result_is_judged_as_result() -> None:
    def version(required: tuple[str, ...]) -> ComparedRevision:
        inner = record(required, a=STRING)
        return result(
            {"type": "array", "items": ref("Outer")},
            {"Outer": record(b=ref("Inner")), "Inner": inner},
        )

    change = the_one(version(()), version(("a",)), "field-now-required")
    assert to_client_and_server(change) == (INFO, BREAKING)


def test_a_base_that_nobody_sends_is_of_interest_to_libraries_alone() -> None:
    change = the_one(
        side({"Base": record(a=STRING)}),
        side({"Base": record(("a",), a=STRING)}),
        "base-member-changed",
    )
    assert to_client_and_server(change) == (NONE, NONE)
    assert change.severity[Reader.GATEWAY] is NONE
    assert change.severity[Reader.SDK] is INFO


def test_an_envelope_is_everyones_and_what_it_contains_is_not() -> None:
    def version(*required: str) -> ComparedRevision:
        response = record(required, id=STRING, result=ref("AskResult"))
        return side({"JSONRPCMessage": {"anyOf": [ref("Response")]}, "Response": response})

    change = the_one(version(), version("id"), "field-now-required")
    assert (change.item, to_client_and_server(change)) == ("Response.id", (BREAKING, BREAKING))
    change = the_one(version(), version("result"), "field-now-required")
    assert (change.item, to_client_and_server(change)) == ("Response.result", (BREAKING, BREAKING))
    grown = side(
        {
            "JSONRPCMessage": {"anyOf": [ref("Response")]},
            "Response": record(id=STRING, result=ref("AskResult")),
            "AskResult": record(("value",), value=STRING),
        }
    )
    change = the_one(version(), grown, "field-added-required")
    assert to_client_and_server(change) == (INFO, BREAKING)


def test_the_type_of_an_error_is_sent_by_whom_the_error_is() -> None:
    def version(*required: str) -> ComparedRevision:
        inner = record(("code",), code={"const": -1})
        return side({"NoThing": record(required, error=inner, more=STRING)}, errors=(error(),))

    change = the_one(version(), version("more"), "field-now-required")
    assert (change.item, to_client_and_server(change)) == ("NoThing.more", (INFO, BREAKING))


def no_thing(code: int, **facts: Any) -> ComparedRevision:
    """Return a version whose schema has an error code, as a response and alone."""
    inner = record(("code",), code={"const": code}, message=STRING)
    types = {"NoThing": record(error=inner), "NoThingError": inner}
    return side(types, **facts)


def test_another_code_in_a_schema_breaks_everybody_whether_facts_know_it_or_not() -> None:
    for was, now in (((), ()), ((-3,), (-21,)), ((-21,), (-21,))):
        before = no_thing(-3, errors=tuple(error(code=code) for code in was))
        after = no_thing(-21, errors=tuple(error(code=code) for code in now))
        changes = compare_revisions(before, after).changes
        assert [(change.code, change.item, change.before, change.after) for change in changes] == [
            ("error-renumbered", "NoThing", "-3", "-21"),
            ("error-renumbered", "NoThingError", "-3", "-21"),
        ]
        assert {level for change in changes for level in change.severity.values()} == {BREAKING}
        where = {"$defs": after.definitions}
        assert [jsonpointer.get(where, change.pointer) for change in changes] == [
            {"const": -21}
        ] * 2


def test_a_code_that_a_schema_alone_has_comes_and_goes() -> None:
    for before, after, code in (
        (NOTHING, no_thing(-3), "error-added"),
        (no_thing(-3), NOTHING, "error-removed"),
    ):
        change = the_one(before, after, code)
        assert change.item == "-3 NoThing"
        assert NONE not in change.severity.values()
    known = (error(code=-3),)
    before, after = side(errors=known), no_thing(-3, errors=known)
    codes = [found.code for found in compare_revisions(before, after).changes]
    assert codes == ["type-added", "type-added"]


def test_a_type_that_travels_on_one_side_only_is_no_news_on_the_wire() -> None:
    before = result(ref("Named"), {"Named": record(a=STRING)})
    after = side({"Named": record(("a",), a=STRING)})
    codes = {change.code for change in compare_revisions(before, after).changes}
    assert codes == {"field-removed", "base-member-changed"}


def test_a_key_that_has_to_be_written_breaks_who_writes_it() -> None:
    rows: list[tuple[tuple[str, ...], tuple[Severity, Severity]]] = [
        (("request",), (BREAKING, INFO)),
        (("result",), (INFO, BREAKING)),
        (("request", "result"), (BREAKING, BREAKING)),
        (("notification",), (NONE, NONE)),
    ]
    for on, expected in rows:
        with tables.case(on):
            after = side(meta_keys=(meta_key(required=True, on=on),))
            change = the_one(NOTHING, after, "meta-key-added-required")
            assert to_client_and_server(change) == expected
            assert change.after == f"required string of each {' and '.join(on)}"


def test_a_key_of_some_messages_is_that_of_no_others() -> None:
    for of, expected in (("AskResult", (INFO, BREAKING)), ("AskRequest", (BREAKING, INFO))):
        key = meta_key(required=True, on=("request", "result"), of=(of,))
        change = the_one(NOTHING, side(meta_keys=(key,)), "meta-key-added-required")
        assert (change.after, to_client_and_server(change)) == (
            f"required string of {of}",
            expected,
        )


def test_a_header_is_sent_by_the_client_with_requests_and_by_the_server_with_responses() -> None:
    rows: list[tuple[str, tuple[Severity, Severity]]] = [
        ("request", (BREAKING, INFO)),
        ("response", (INFO, BREAKING)),
    ]
    for direction, expected in rows:
        with tables.case(direction):
            after = side(headers=(header("MUST", direction=direction),))
            change = the_one(NOTHING, after, "header-added-required")
            assert to_client_and_server(change) == expected


def test_header_of_some_messages_breaks_the_client_and_one_of_a_situation_does_not() -> None:
    in_messages = replace(header("MUST", "the method names a tool"), message=True)
    change = the_one(NOTHING, side(headers=(in_messages,)), "header-added-required")
    assert to_client_and_server(change) == (BREAKING, INFO)
    change = the_one(
        NOTHING, side(headers=(header("MUST", "access is restricted"),)), "header-added"
    )
    assert to_client_and_server(change) == (INFO, INFO)


def test_mandatory_method_breaks_the_side_that_must_answer_it() -> None:
    after = replace(NOTHING, facts={"methods": {"things/ask": {"mandatory": True}}})
    change = the_one(side(methods=()), after, "method-added-mandatory")
    assert to_client_and_server(change) == (INFO, BREAKING)


def test_a_newly_demanded_capability_breaks_the_sender() -> None:
    change = the_one(NOTHING, asking(requires=(gate(),)), "gate-added")
    assert to_client_and_server(change) == (BREAKING, INFO)
    assert change.after == "client MUST server:things"


def test_a_removed_method_breaks_everybody() -> None:
    change = the_one(NOTHING, side(methods=()), "method-removed")
    assert {*change.severity.values()} == {BREAKING}


def test_an_optional_member_breaks_nobody() -> None:
    change = the_one(NOTHING, result(STRING), "field-added-optional")
    assert BREAKING not in change.severity.values()


def test_a_rule_about_servers_breaks_the_server_that_made_use_of_it() -> None:
    after = side(rules=replace(RULES, server_requests=False))
    change = the_one(NOTHING, after, "rule-tightened")
    assert to_client_and_server(change) == (INFO, BREAKING)


def test_an_alternative_that_looks_like_another_one_does_not_stand_for_it() -> None:
    def version(arm: str) -> ComparedRevision:
        arms = {"A": record(x=STRING), "B": record(x=STRING, y=STRING), "C": record(z=STRING)}
        return result(ref("Union"), {**arms, "Union": {"anyOf": [ref(arm), ref("C")]}})

    change = the_one(version("A"), version("B"), "union-arms-changed")
    assert (change.before, change.after) == ("A|C", "B|C")


def test_a_key_that_has_gone_elsewhere_is_written_by_who_writes_it_now() -> None:
    before = side(meta_keys=(meta_key(on=("request",)),))
    after = side(meta_keys=(meta_key(required=True, on=("result",)),))
    change = the_one(before, after, "meta-key-now-required")
    assert to_client_and_server(change) == (INFO, BREAKING)


def test_a_gateway_has_nothing_to_do_with_what_nobody_sends() -> None:
    base = replace(answer_type(), name=ClassName("Base"))
    before = side({"Base": record(a=STRING)}, types=(base,))
    after = side({"Base": record(a=STRING)}, types=(replace(base, deprecated=True),))
    change = the_one(before, after, "type-deprecated")
    assert change.severity[Reader.GATEWAY] is NONE
    assert change.severity[Reader.SDK] is Severity.WARNING


def test_member_of_one_of_several_unnamed_params_is_compared() -> None:
    def version(**more: Any) -> ComparedRevision:
        return side({"AskRequestParams": {"anyOf": [record(a=STRING), record(b=STRING, **more)]}})

    change = the_one(version(), version(c=STRING), "field-added-optional")
    assert change.item == "AskRequest.params.c"
    bounded = version(c={"type": "string", "maxLength": 3})
    assert the_one(version(c=STRING), bounded, "bound-tightened").item == "AskRequest.params.c"


def test_bounds_of_one_member_in_two_params_are_both_reported() -> None:
    def version(shortest: int, longest: int) -> ComparedRevision:
        arms = {"A": {"minLength": shortest}, "B": {"maxLength": longest}}
        types = {name: record(**{name: STRING}, v={**STRING, **arms[name]}) for name in arms}
        return side({**types, "AskRequestParams": {"anyOf": [ref("A"), ref("B")]}})

    changes = compare_revisions(version(1, 9), version(2, 8)).changes
    assert {(change.code, change.item, change.after, change.pointer) for change in changes} == {
        ("bound-tightened", "AskRequest.params.v", f"{keyword} {limit}", f"{place}/{keyword}")
        for keyword, limit, place in (
            ("minLength", 2, "/$defs/A/properties/v"),
            ("maxLength", 8, "/$defs/B/properties/v"),
        )
    }


def test_change_that_a_member_has_in_all_params_is_reported_once() -> None:
    def version(requiring: str) -> ComparedRevision:
        types = {
            name: record(("v",) if name in requiring else (), **{name: STRING}, v=STRING)
            for name in "AB"
        }
        return side({**types, "AskRequestParams": {"anyOf": [ref("A"), ref("B")]}})

    for before, after, code in (
        ("", "AB", "field-now-required"),
        ("AB", "", "field-now-optional"),
        ("A", "AB", "field-now-required"),
        ("", "A", "field-now-required"),
    ):
        with tables.case((before, after)):
            (change,) = compare_revisions(version(before), version(after)).changes
            assert (change.code, change.item) == (code, "AskRequest.params.v")


def test_new_member_that_one_of_several_params_requires_breaks_the_sender() -> None:
    def version(*required: str, **more: Any) -> ComparedRevision:
        types = {"A": record(a=STRING), "B": record(required, b=STRING, **more)}
        return side({**types, "AskRequestParams": {"anyOf": [ref("A"), ref("B")]}})

    change = the_one(version(), version("c", c=STRING), "field-added-required")
    assert to_client_and_server(change) == (BREAKING, INFO)
    assert (change.item, change.after) == ("AskRequest.params.c", "required string")
    # Senders of the old alternative need not send the members of a new one.
    alone = side({"A": record(a=STRING), "AskRequestParams": {"anyOf": [ref("A")]}})
    changes = compare_revisions(alone, version("c", c=STRING)).changes
    assert "field-added-required" not in {change.code for change in changes}
