"""The smallest difference of each kind."""

from dataclasses import replace
from typing import Any

from mcp_protogen.instep.compare.revisions import ComparedRevision
from mcp_protogen.pipeline.ir import ConditionIR

from support.compare.made_up import (
    RULES,
    STRING,
    answer_type,
    answer_with,
    asking,
    capability,
    error,
    gate,
    header,
    meta_key,
    one,
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
    """A version whose result holds a union."""
    return result(ref("Union"), union(*arms))


def no_thing(code: int) -> dict[str, Any]:
    """Return an error with its own code."""
    return record(code={"const": code}, message=STRING)


MEMBERS = (
    one("field-added-required", NOTHING, result(STRING, required=True)),
    one("field-added-optional", NOTHING, PLAIN),
    one("field-added-inside", NOTHING, result(record(("a",), a=STRING)), "field-added-optional"),
    one("field-removed-required", result(STRING, required=True), NOTHING),
    one("field-removed", PLAIN, NOTHING),
    one("field-removed-inside", result(INLINE), NOTHING, "field-removed"),
    one(
        "field-moved-into-type",
        result(INLINE),
        result(ref("Named"), NAMED),
        "field-type-renamed",
        "type-added",
    ),
    one(
        "field-moved-out-of-type",
        result(ref("Named"), NAMED),
        result(INLINE),
        "field-type-renamed",
        "type-removed",
    ),
    one("field-now-required", PLAIN, result(STRING, required=True)),
    one("field-now-optional", result(STRING, required=True), PLAIN),
    one("field-now-nullable", PLAIN, result({"type": ["string", "null"]})),
    one("field-not-nullable", result({"anyOf": [STRING, {"type": "null"}]}), PLAIN),
    one("field-type-widened", result({"type": "integer"}), result({"type": "number"})),
    one("field-type-narrowed", PLAIN, result({"enum": ["a", "b"]})),
    one("field-type-changed", PLAIN, result({"type": "integer"})),
    one(
        "field-type-specified",
        result({"type": "object"}),
        result(ref("Named"), NAMED),
        "type-added",
    ),
    one("field-type-generalised", result(ref("Named"), NAMED), result({"type": "object"}, NAMED)),
    one("field-type-renamed", result({"type": "object"}), result(ref("Bag"), BAG), "type-added"),
    one("field-default-changed", PLAIN, result({"type": "string", "default": "x"})),
    one(
        "field-schema-changed",
        side({"AskResult": record(plan={"type": "object"})}),
        side({"AskResult": record(plan={"type": "object", "required": ["type"]})}),
    ),
    one("field-format-changed", PLAIN, result({"type": "string", "format": "uri"})),
    one("bound-tightened", PLAIN, AT_MOST_3),
    one("bound-loosened", AT_MOST_3, PLAIN),
    one(
        "bound-changed",
        result({"type": "string", "pattern": "^a"}),
        result({"type": "string", "pattern": "^b"}),
    ),
    one("known-value-added", answer_with(("a",)), answer_with(("a", "b"))),
    one("known-value-removed", answer_with(("a", "b")), answer_with(("a",))),
    one("field-deprecated", answer_with(), answer_with(deprecated=True)),
    one("field-undeprecated", answer_with(deprecated=True), answer_with()),
)

TYPES = (
    one("enum-member-added", result({"enum": ["a"]}), result({"enum": ["a", "b"]})),
    one("enum-member-removed", result({"enum": ["a", "b"]}), result({"enum": ["a"]})),
    one("union-arms-added", of_union("A", "B"), of_union("A", "B", "C")),
    one("union-arms-removed", of_union("A", "B", "C"), of_union("A", "B")),
    one("union-arms-changed", of_union("A", "B"), of_union("A", "C")),
    one(
        "union-arms-renamed",
        result(ref("Union"), union("A", "B")),
        result(ref("Union"), {**union("A", "Both"), "Both": {"anyOf": [ref("B")]}}),
        "type-added",
    ),
    one("type-added", NOTHING, side(NAMED)),
    one("type-removed", side(NAMED), NOTHING),
    one(
        "type-renamed",
        result(ref("Named"), NAMED),
        result(ref("Called"), {"Called": NAMED["Named"]}),
        "field-type-renamed",
    ),
    one(
        "type-redefined",
        side({"Old": record(a=STRING, b=STRING)}),
        side({"Old": {"type": "string"}, "New": record(a=STRING, b=STRING)}),
        "type-renamed",
    ),
    one("type-changed", result(ref("Named"), NAMED), result(ref("Named"), {"Named": STRING})),
    one("type-changed-unsent", side({"Name": STRING}), side({"Name": {"type": "integer"}})),
    one("type-opened", ANSWERING, OPEN),
    one("type-closed", OPEN, ANSWERING),
    one(
        "type-deprecated", side(types=(answer_type(),)), side(types=(answer_type(deprecated=True),))
    ),
    one(
        "type-undeprecated",
        side(types=(answer_type(deprecated=True),)),
        side(types=(answer_type(),)),
    ),
    one(
        "base-member-added",
        side({"Base": record(a=STRING)}),
        side({"Base": A_OR_B["A"] | {"properties": {"a": STRING, "b": STRING}}}),
    ),
    one("base-member-removed", side({"Base": record(a=STRING, b=STRING)}), side({"Base": INLINE})),
    one("base-member-changed", side({"Base": INLINE}), side({"Base": NEEDS["Named"]})),
)

METHODS = (
    one("method-added", side(methods=()), NOTHING),
    one("method-added-mandatory", side(methods=()), MANDATORY),
    one("method-now-mandatory", NOTHING, MANDATORY),
    one("method-now-voluntary", MANDATORY, NOTHING),
    one("method-removed", NOTHING, side(methods=())),
    one("method-sender-added", NOTHING, asking(senders=("client", "server"))),
    one("method-sender-removed", asking(senders=("client", "server")), NOTHING),
    one("method-direction-changed", NOTHING, asking(senders=("server",))),
    # An embedded value has no request that could be cancelled.
    one("method-kind-changed", NOTHING, asking(kind="embedded", traits=())),
    one("method-message-changed", NOTHING, asking(message="InquireRequest")),
    one("method-result-added", NOTHING, asking(results=("AskResult", "Later"))),
    one("method-result-removed", asking(results=("AskResult", "Later")), NOTHING),
    one(
        "method-result-changed",
        asking(results=("AskResult", "A")),
        asking(results=("AskResult", "B")),
    ),
    one("method-params-now-required", NOTHING, asking(params_required=True)),
    one("method-params-now-optional", asking(params_required=True), NOTHING),
    one("method-trait-added", NOTHING, asking(traits=("cancellable", "cacheable"))),
    one("method-trait-removed", NOTHING, asking(traits=())),
    one("method-phase-changed", NOTHING, asking(phase="any")),
    one("method-deprecated", NOTHING, asking(deprecated="2")),
    one("method-undeprecated", asking(deprecated="2"), NOTHING),
    one("gate-added", NOTHING, asking(requires=(gate(),))),
    one("gate-advised", NOTHING, asking(requires=(gate(level="SHOULD"),))),
    one(
        "gate-on-new-member",
        NOTHING,
        asking(requires=(gate(when=(ConditionIR("mode", ("url",), False),)),)),
    ),
    one("gate-removed", asking(requires=(gate(),)), NOTHING),
    one("gate-changed", asking(requires=(gate(),)), asking(requires=(gate(level="SHOULD"),))),
)

THE_REST = (
    one("capability-added", NOTHING, side(capabilities=(capability(),))),
    one("capability-removed", side(capabilities=(capability(),)), NOTHING),
    one(
        "capability-changed",
        side(capabilities=(capability(),)),
        side(capabilities=(capability(flag=True),)),
    ),
    one("error-added", NOTHING, side(errors=(error(),))),
    one("error-removed", side(errors=(error(),)), NOTHING),
    one("error-renumbered", side({"NoThing": no_thing(-3)}), side({"NoThing": no_thing(-21)})),
    one("error-replaced", NOTHING, side(rules=replace(RULES, resource_not_found=-32602))),
    one("error-forbidden", side(errors=(error(),)), side(errors=(error(emit="never"),))),
    one("error-sender-changed", side(errors=(error(),)), side(errors=(error(emit="both"),))),
    one("error-data-changed", side(errors=(error(),)), side(errors=(error(data="AskResult"),))),
    one("meta-key-added-required", NOTHING, side(meta_keys=(meta_key(required=True),))),
    one("meta-key-added", NOTHING, side(meta_keys=(meta_key(),))),
    one(
        "meta-key-now-required",
        side(meta_keys=(meta_key(),)),
        side(meta_keys=(meta_key(required=True),)),
    ),
    one("meta-key-removed", side(meta_keys=(meta_key(),)), NOTHING),
    one(
        "meta-key-changed",
        side(meta_keys=(meta_key(),)),
        side(meta_keys=(meta_key(type="integer"),)),
    ),
    one("header-added-required", NOTHING, side(headers=(header("MUST"),))),
    one("header-added", NOTHING, side(headers=(header("MUST", "there is a thing"),))),
    one("header-removed", side(headers=(header("MUST"),)), NOTHING),
    one("header-now-required", side(headers=(header("MAY"),)), side(headers=(header("MUST"),))),
    one("header-level-changed", side(headers=(header("MUST"),)), side(headers=(header("MAY"),))),
    one("transport-added", NOTHING, BY_POST),
    one("transport-removed", BY_POST, NOTHING),
    one("era-changed", NOTHING, side(era="stateless")),
    one("rule-relaxed", NOTHING, side(rules=replace(RULES, send_batches=True))),
    one("rule-tightened", NOTHING, side(rules=replace(RULES, server_requests=False))),
    one(
        "rule-changed",
        NOTHING,
        side(rules=replace(RULES, result_type_values=("complete", "later"))),
    ),
)

CASES = (*MEMBERS, *TYPES, *METHODS, *THE_REST)
