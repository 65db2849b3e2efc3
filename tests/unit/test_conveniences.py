"""The conveniences of generated code: params, members with defaults, and paging."""

from typing import Any

from mcp_protogen.pipeline.ir import (
    FieldIR,
    Filled,
    LeniencyIR,
    MethodIR,
    ObjectIR,
    RevisionIR,
    Scalar,
)
from support.unit import schemas
from support.unit.schemas import PAGE, STRING, Json, record, ref

COUNT: Json = {"type": "integer", "minimum": 0}


def derive_ir(stated: Json, **definitions: Any) -> RevisionIR:
    document = schemas.schema()
    document["$defs"] |= definitions
    return schemas.derive(document, stated).ir


def state_producer(**producer: Json) -> Json:
    facts = schemas.facts()
    facts["producer"] = producer
    return facts


def duty(where: str, value: Any, rule: str = "filled_in") -> Json:
    return {"where": where, "rule": rule, "value": value, "source": PAGE}


def field(ir: RevisionIR, owner: str, wire: str) -> FieldIR:
    type_ = next(type_ for type_ in ir.types if type_.name == owner)
    assert isinstance(type_, ObjectIR)
    return next(field for field in type_.fields if field.wire == wire)


def method(ir: RevisionIR, name: str) -> MethodIR:
    return next(method for method in ir.methods if method.method == name)


def test_usual_value_applies_to_repeated_required_members() -> None:
    ir = derive_ir(
        state_producer(count=duty("One.count", 0)),
        One=record(("count",), count=COUNT),
        Same=record(("count",), count=COUNT),
        Optional=record((), count=COUNT),
        Other=record(("count",), count={"type": "number"}),
    )
    defaults = [field(ir, name, "count").default for name in ("One", "Same", "Optional", "Other")]
    assert defaults == [0, 0, None, None]


def test_usual_value_applies_within_the_bounds_of_each_member() -> None:
    bounds: dict[str, Json] = {
        "Unbounded": {"type": "integer"},
        "Within": COUNT | {"maximum": 86_400_000},
        "Outside": COUNT | {"minimum": 1},
    }
    members = {name: record(("count",), count=count) for name, count in bounds.items()}
    facts = state_producer(count=duty("One.count", 0))
    ir = derive_ir(facts, One=record(("count",), count=COUNT), **members)
    assert [field(ir, name, "count").default for name in bounds] == [0, 0, None]


def test_a_member_may_name_the_revision_itself() -> None:
    duties = state_producer(version=duty("One.version", True, "names_revision"))
    ir = derive_ir(duties, One=record(("version",), version=STRING))
    assert field(ir, "One", "version").default == schemas.REVISION


def test_an_object_is_filled_with_what_is_usual_in_it() -> None:
    ir = derive_ir(
        state_producer(version=duty("Meta.version", "1"), meta=duty("One._meta", {})),
        Meta=record(("version",), version=STRING),
        One=record(("_meta",), _meta=ref("Meta")),
    )
    assert field(ir, "One", "_meta").default == Filled()


def test_params_need_not_be_given_when_everything_in_them_is_filled_in() -> None:
    facts = state_producer(meta=duty("Meta.version", "1"), more=duty("AskRequestParams._meta", {}))
    definitions: Json = {
        "Meta": record(("version",), version=STRING),
        "AskRequestParams": record(("_meta",), _meta=ref("Meta"), cursor=STRING),
    }
    ask = method(derive_ir(facts, **definitions), "user/ask")
    assert (ask.params_required, ask.params_given) == (True, False)
    assert method(derive_ir(schemas.facts(), **definitions), "user/ask").params_given


def test_a_paginated_method_has_the_one_list_of_its_result() -> None:
    def listing(**lists: Json) -> MethodIR:
        result = record(tuple(lists), nextCursor=STRING, **lists)
        return method(derive_ir(schemas.facts_of_pages(), SayResult=result), "echo/say")

    names: Json = {"type": "array", "items": STRING}
    one, several = listing(names=names), listing(names=names, more=names)
    assert (one.list_member, one.items) == ("names", Scalar("string"))
    assert (several.list_member, several.items) == ("", None)
    assert listing().items is None


def test_leniency_is_what_the_facts_say() -> None:
    facts = schemas.facts()
    facts["leniency"] = {
        "absent": duty("SayResult.nextCursor", "y", "absent_reads_as"),
        "negative": duty("SayResult.size", 0, "negative_reads_as"),
    }
    result = record((), nextCursor=STRING, size=COUNT)
    ir = derive_ir(facts, SayResult=result)
    assert ir.rules.leniency == (
        LeniencyIR("nextCursor", "absent", "y"),
        LeniencyIR("size", "negative", 0),
    )
