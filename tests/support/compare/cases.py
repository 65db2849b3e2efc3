"""The smallest difference of each kind."""

from dataclasses import replace
from typing import Any

from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.ir import ConditionIR

from support.compare.code_cases import (
    RULES,
    STRING,
    answer_type,
    answer_with,
    asking,
    capability,
    error,
    gate,
    header,
    make_case,
    meta_key,
    record,
    ref,
    result,
    side,
)

NOTHING = side()
PLAIN = result(STRING)
ANSWERING = side(types=(answer_type(),))
OPEN = replace(ANSWERING, open_types=frozenset({"AskResult"}))
MANDATORY = replace(NOTHING, facts={"methods": {"things/ask": {"mandatory": True}}})
BY_POST = replace(NOTHING, facts={"transports": {"post": {"source": "x"}}})
AT_MOST_3 = result({"type": "string", "maxLength": 3})
NAMED = {"Named": record(a=STRING)}
NEEDS = {"Named": record(("a",), a=STRING)}
BAG = {"Bag": {"type": "object"}}
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


MEMBERS = (
    make_case("field-added-required", NOTHING, result(STRING, required=True)),
    make_case("field-added-optional", NOTHING, PLAIN),
    make_case(
        "field-added-inside", NOTHING, result(record(("a",), a=STRING)), "field-added-optional"
    ),
    make_case("field-removed-required", result(STRING, required=True), NOTHING),
    make_case("field-removed", PLAIN, NOTHING),
    make_case("field-removed-inside", result(INLINE), NOTHING, "field-removed"),
    make_case(
        "field-moved-into-type",
        result(INLINE),
        result(ref("Named"), NAMED),
        "field-type-renamed",
        "type-added",
    ),
    make_case(
        "field-moved-out-of-type",
        result(ref("Named"), NAMED),
        result(INLINE),
        "field-type-renamed",
        "type-removed",
    ),
    make_case("field-now-required", PLAIN, result(STRING, required=True)),
    make_case("field-now-optional", result(STRING, required=True), PLAIN),
    make_case("field-now-nullable", PLAIN, result({"type": ["string", "null"]})),
    make_case("field-not-nullable", result({"anyOf": [STRING, {"type": "null"}]}), PLAIN),
    make_case("field-type-widened", result({"type": "integer"}), result({"type": "number"})),
    make_case("field-type-narrowed", PLAIN, result({"enum": ["a", "b"]})),
    make_case("field-type-changed", PLAIN, result({"type": "integer"})),
    make_case(
        "field-type-specified",
        result({"type": "object"}),
        result(ref("Named"), NAMED),
        "type-added",
    ),
    make_case(
        "field-type-generalised", result(ref("Named"), NAMED), result({"type": "object"}, NAMED)
    ),
    make_case(
        "field-type-renamed", result({"type": "object"}), result(ref("Bag"), BAG), "type-added"
    ),
    make_case("field-default-changed", PLAIN, result({"type": "string", "default": "x"})),
    make_case(
        "field-schema-changed",
        side({"AskResult": record(plan={"type": "object"})}),
        side({"AskResult": record(plan={"type": "object", "required": ["type"]})}),
    ),
    make_case("field-format-changed", PLAIN, result({"type": "string", "format": "uri"})),
    make_case("bound-tightened", PLAIN, AT_MOST_3),
    make_case("bound-loosened", AT_MOST_3, PLAIN),
    make_case(
        "bound-changed",
        result({"type": "string", "pattern": "^a"}),
        result({"type": "string", "pattern": "^b"}),
    ),
    make_case("known-value-added", answer_with(("a",)), answer_with(("a", "b"))),
    make_case("known-value-removed", answer_with(("a", "b")), answer_with(("a",))),
    make_case("field-deprecated", answer_with(), answer_with(deprecated=True)),
    make_case("field-undeprecated", answer_with(deprecated=True), answer_with()),
)

TYPES = (
    make_case("enum-member-added", result({"enum": ["a"]}), result({"enum": ["a", "b"]})),
    make_case("enum-member-removed", result({"enum": ["a", "b"]}), result({"enum": ["a"]})),
    make_case("union-arms-added", of_union("A", "B"), of_union("A", "B", "C")),
    make_case("union-arms-removed", of_union("A", "B", "C"), of_union("A", "B")),
    make_case("union-arms-changed", of_union("A", "B"), of_union("A", "C")),
    make_case(
        "union-arms-renamed",
        result(ref("Union"), union("A", "B")),
        result(ref("Union"), {**union("A", "Both"), "Both": {"anyOf": [ref("B")]}}),
        "type-added",
    ),
    make_case("type-added", NOTHING, side(NAMED)),
    make_case("type-removed", side(NAMED), NOTHING),
    make_case(
        "type-renamed",
        result(ref("Named"), NAMED),
        result(ref("Called"), {"Called": NAMED["Named"]}),
        "field-type-renamed",
    ),
    make_case(
        "type-redefined",
        side({"Old": record(a=STRING, b=STRING)}),
        side({"Old": {"type": "string"}, "New": record(a=STRING, b=STRING)}),
        "type-renamed",
    ),
    make_case("type-changed", result(ref("Named"), NAMED), result(ref("Named"), {"Named": STRING})),
    make_case("type-changed-unsent", side({"Name": STRING}), side({"Name": {"type": "integer"}})),
    make_case("type-opened", ANSWERING, OPEN),
    make_case("type-closed", OPEN, ANSWERING),
    make_case(
        "type-deprecated", side(types=(answer_type(),)), side(types=(answer_type(deprecated=True),))
    ),
    make_case(
        "type-undeprecated",
        side(types=(answer_type(deprecated=True),)),
        side(types=(answer_type(),)),
    ),
    make_case(
        "base-member-added",
        side({"Base": record(a=STRING)}),
        side({"Base": A_OR_B["A"] | {"properties": {"a": STRING, "b": STRING}}}),
    ),
    make_case(
        "base-member-removed", side({"Base": record(a=STRING, b=STRING)}), side({"Base": INLINE})
    ),
    make_case("base-member-changed", side({"Base": INLINE}), side({"Base": NEEDS["Named"]})),
)

METHODS = (
    make_case("method-added", side(methods=()), NOTHING),
    make_case("method-added-mandatory", side(methods=()), MANDATORY),
    make_case("method-now-mandatory", NOTHING, MANDATORY),
    make_case("method-now-voluntary", MANDATORY, NOTHING),
    make_case("method-removed", NOTHING, side(methods=())),
    make_case("method-sender-added", NOTHING, asking(senders=("client", "server"))),
    make_case("method-sender-removed", asking(senders=("client", "server")), NOTHING),
    make_case("method-direction-changed", NOTHING, asking(senders=("server",))),
    # An embedded value has no request that could be cancelled.
    make_case("method-kind-changed", NOTHING, asking(kind="embedded", traits=())),
    make_case("method-message-changed", NOTHING, asking(message="InquireRequest")),
    make_case("method-result-added", NOTHING, asking(results=("AskResult", "Later"))),
    make_case("method-result-removed", asking(results=("AskResult", "Later")), NOTHING),
    make_case(
        "method-result-changed",
        asking(results=("AskResult", "A")),
        asking(results=("AskResult", "B")),
    ),
    make_case("method-params-now-required", NOTHING, asking(params_required=True)),
    make_case("method-params-now-optional", asking(params_required=True), NOTHING),
    make_case("method-trait-added", NOTHING, asking(traits=("cancellable", "cacheable"))),
    make_case("method-trait-removed", NOTHING, asking(traits=())),
    make_case("method-phase-changed", NOTHING, asking(phase="any")),
    make_case("method-deprecated", NOTHING, asking(deprecated="2")),
    make_case("method-undeprecated", asking(deprecated="2"), NOTHING),
    make_case("gate-added", NOTHING, asking(requires=(gate(),))),
    make_case("gate-advised", NOTHING, asking(requires=(gate(level="SHOULD"),))),
    make_case(
        "gate-on-new-member",
        NOTHING,
        asking(requires=(gate(when=(ConditionIR("mode", ("url",), False),)),)),
    ),
    make_case("gate-removed", asking(requires=(gate(),)), NOTHING),
    make_case("gate-changed", asking(requires=(gate(),)), asking(requires=(gate(level="SHOULD"),))),
)

THE_REST = (
    make_case("capability-added", NOTHING, side(capabilities=(capability(),))),
    make_case("capability-removed", side(capabilities=(capability(),)), NOTHING),
    make_case(
        "capability-changed",
        side(capabilities=(capability(),)),
        side(capabilities=(capability(flag=True),)),
    ),
    make_case("error-added", NOTHING, side(errors=(error(),))),
    make_case("error-removed", side(errors=(error(),)), NOTHING),
    make_case(
        "error-renumbered", side({"NoThing": no_thing(-3)}), side({"NoThing": no_thing(-21)})
    ),
    make_case("error-replaced", NOTHING, side(rules=replace(RULES, resource_not_found=-32602))),
    make_case("error-forbidden", side(errors=(error(),)), side(errors=(error(emit="never"),))),
    make_case("error-sender-changed", side(errors=(error(),)), side(errors=(error(emit="both"),))),
    make_case(
        "error-data-changed", side(errors=(error(),)), side(errors=(error(data="AskResult"),))
    ),
    make_case("meta-key-added-required", NOTHING, side(meta_keys=(meta_key(required=True),))),
    make_case("meta-key-added", NOTHING, side(meta_keys=(meta_key(),))),
    make_case(
        "meta-key-now-required",
        side(meta_keys=(meta_key(),)),
        side(meta_keys=(meta_key(required=True),)),
    ),
    make_case("meta-key-removed", side(meta_keys=(meta_key(),)), NOTHING),
    make_case(
        "meta-key-changed",
        side(meta_keys=(meta_key(),)),
        side(meta_keys=(meta_key(type="integer"),)),
    ),
    make_case("header-added-required", NOTHING, side(headers=(header("MUST"),))),
    make_case("header-added", NOTHING, side(headers=(header("MUST", "there is a thing"),))),
    make_case("header-removed", side(headers=(header("MUST"),)), NOTHING),
    make_case(
        "header-now-required", side(headers=(header("MAY"),)), side(headers=(header("MUST"),))
    ),
    make_case(
        "header-level-changed", side(headers=(header("MUST"),)), side(headers=(header("MAY"),))
    ),
    make_case("transport-added", NOTHING, BY_POST),
    make_case("transport-removed", BY_POST, NOTHING),
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
