"""The required members that are filled in for callers, and the facts that cannot be."""

from typing import Any

from jsonschema import Draft202012Validator
from mcp_protogen.pipeline.derive.fillings import fillings, fits, impossible_fillings
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.ir import FieldIR, Filled, ObjectIR
from support import tables
from support.unit import schemas
from support.unit.schemas import PAGE, STRING, Json, record, ref

TTL: Json = {"type": "integer", "minimum": 0}
META = record(("who", "version"), who=ref("Who"), version=STRING, level=STRING)
DEFINITIONS: Json = {
    "Who": record(roots=STRING),
    "Meta": META,
    "Params": record(("_meta",), _meta=ref("Meta")),
    "Other": record(("_meta", "ttl", "name"), _meta=ref("Meta"), ttl=TTL, name=STRING),
    "Kept": record(("ttl",), ttl=TTL),
    "Loose": record(ttl=TTL),
    "Foreign": record(("ttl",), ttl=STRING),
}


def duty(where: str, value: Any, rule: str = "filled_in") -> Json:
    return {"where": where, "rule": rule, "value": value, "source": PAGE}


DUTIES: Json = {
    "meta": duty("Params._meta", {}),
    "ttl": duty("Kept.ttl", 0),
    "version": duty("Meta.version", True, "names_revision"),
    "who": duty("Meta.who", {}),
}


def facts(duties: Json) -> Facts:
    return Facts(schemas.REVISION, schemas.facts() | {"producer": duties}, schemas.REVISION)


def filled_values(definitions: Json, duties: Json = DUTIES) -> dict[str, Any]:
    return {filling.member: filling.value for filling in fillings(definitions, facts(duties))}


def test_objects_are_filled_in_when_what_they_require_is() -> None:
    filled = {"_meta": Filled(), "ttl": 0, "version": schemas.REVISION, "who": Filled()}
    assert filled_values(DEFINITIONS) == filled
    assert impossible_fillings(DEFINITIONS, facts(DUTIES)) == []


def test_other_duties_fill_nothing_in() -> None:
    assert filled_values(DEFINITIONS, {"a": duty("Kept.ttl", True, "required")}) == {}


def test_a_fact_about_what_is_gone_fills_nothing_in() -> None:
    assert filled_values(DEFINITIONS, {"a": duty("Gone.ttl", 0), "b": duty("Kept.gone", 0)}) == {}


def test_plain_values_fit_as_jsonschema_says() -> None:
    strings: list[Json] = [STRING, STRING | {"enum": ["a", "b"]}, STRING | {"minLength": 2}]
    strings += [{"const": "a"}, STRING | {"const": "a"}, {"const": "a", "minLength": 2}]
    integers: list[Json] = [{"type": "integer"}, TTL, TTL | {"maximum": 0}, {"enum": [1]}]
    values: list[Any] = ["", "a", "ab", 0, 1, -1, 1.0, 0.5, True, None, [], {}]
    for schema in (*strings, *integers, {"type": ["integer", "string"]}, {}):
        for value in values:
            with tables.case((schema, value)):
                validator: Any = Draft202012Validator(schema)
                assert fits(value, schema, {}) is validator.is_valid(value)


def test_a_value_that_the_schema_refuses_is_not_filled_in() -> None:
    rows: list[Any] = [-1, "0", True, None, [0], {"a": 1}]
    for value in rows:
        with tables.case(value):
            stated = {"ttl": duty("Kept.ttl", value)}
            assert filled_values(DEFINITIONS, stated) == {}
            assert [
                problem.fact for problem in impossible_fillings(DEFINITIONS, facts(stated))
            ] == ["/producer/ttl"]


def test_an_object_that_requires_more_has_to_be_given() -> None:
    more = record(("who", "version", "more"), who=ref("Who"), version=STRING, more=STRING)
    changed = DEFINITIONS | {"Meta": more}
    assert "_meta" not in filled_values(changed)
    assert [problem.fact for problem in impossible_fillings(changed, facts(DUTIES))] == [
        "/producer/meta"
    ]


def test_an_object_is_not_filled_in_without_its_members() -> None:
    assert "_meta" not in filled_values(
        DEFINITIONS, {key: DUTIES[key] for key in ("meta", "version")}
    )


def test_texts_about_the_sender_are_filled_in() -> None:
    named = DEFINITIONS | {"Who": record(("name", "kind"), name=STRING, kind={"const": "a"})}
    duties = DUTIES | {"who": duty("Meta.who", True, "names_sender")}
    assert filled_values(named, duties)["who"] == Filled(("name",))
    assert filled_values(named, duties)["_meta"] == Filled()
    for unknown in (TTL, STRING | {"minLength": 1}):
        with tables.case(unknown):
            named["Who"] = record(("name", "age"), name=STRING, age=unknown)
            assert filled_values(named, duties).keys() == {"ttl", "version"}


def test_members_that_cannot_be_filled_are_required() -> None:
    for name, schema in [
        ("a circle", record(("self",), self=ref("Meta"))),
        ("a map", {"type": "object", "additionalProperties": STRING}),
        ("a string", STRING),
        ("one of some", record(a=STRING, b=STRING) | {"x-any-of-required": ["a", "b"]}),
    ]:
        with tables.case(name):
            duties = DUTIES | {"self": duty("Meta.self", {})}
            assert "_meta" not in filled_values(DEFINITIONS | {"Meta": schema}, duties)


def test_constants_need_nobody() -> None:
    constant = record(("kind",), kind={"const": "a"})
    assert filled_values(DEFINITIONS | {"Meta": constant}, {"meta": DUTIES["meta"]}) == {
        "_meta": Filled()
    }


def test_fact_applies_to_every_required_member_with_name_and_schema() -> None:
    document = schemas.schema()
    document["$defs"] |= DEFINITIONS | {
        "Unbounded": record(("ttl",), ttl={"type": "integer"}),
        "Within": record(("ttl",), ttl=TTL | {"maximum": 86_400_000}),
        "Outside": record(("ttl",), ttl=TTL | {"minimum": 1}),
    }
    stated = schemas.facts() | {"producer": DUTIES}
    types = {str(type_.name): type_ for type_ in schemas.derive(document, stated).ir.types}

    def field(owner: str, wire: str) -> FieldIR:
        type_ = types[owner]
        assert isinstance(type_, ObjectIR)
        return next(field for field in type_.fields if field.wire == wire)

    for owner in ("Other", "Unbounded", "Within"):
        assert field(owner, "ttl").default == 0
    for owner in ("Loose", "Foreign", "Outside"):
        assert field(owner, "ttl").default is None
    assert field("Other", "_meta").default == Filled()
    assert field("Other", "name").default is None
    assert field("Meta", "version").default == schemas.REVISION
