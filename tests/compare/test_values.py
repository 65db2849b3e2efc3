"""Whether schemas accept the same values, more of them, or fewer."""

from typing import Any

from mcp_protogen.instep.compare.members import members
from mcp_protogen.instep.compare.values import Relation, Values
from support import tables
from support.unit.schemas import record, ref

Json = dict[str, Any]

STRING: Json = {"type": "string"}
NUMBER: Json = {"type": "number"}
INTEGER: Json = {"type": "integer"}
ANY: Json = {}
OBJECT: Json = {"type": "object"}


def array(items: Json) -> Json:
    return {"type": "array", "items": items}


def any_of(*arms: Json) -> Json:
    return {"anyOf": [*arms]}


def mapping(values: Json) -> Json:
    return {"type": "object", "additionalProperties": values}


DEFINITIONS: Json = {
    "A": record(("kind",), kind={"const": "a"}),
    "B": record(("kind",), kind={"const": "b"}),
    "AOrB": any_of(ref("A"), ref("B")),
    "Loose": record(x=STRING, y=STRING),
    "Strict": record(("x",), x=STRING, y=STRING),
    "Name": STRING,
    "Json": any_of(
        ref("JsonObject"), array(ref("Json")), STRING, NUMBER, {"type": ["boolean", "null"]}
    ),
    "JsonObject": mapping(ref("Json")),
    "Tree": record(children=array(ref("Tree"))),
    "Forest": record(children=array(ref("Forest"))),
}

WIDER = [
    (INTEGER, NUMBER),
    (STRING, ANY),
    (STRING, any_of(STRING, INTEGER)),
    ({"const": "a"}, {"enum": ["a", "b"]}),
    ({"enum": ["a", "b"]}, STRING),
    ({"const": 1}, INTEGER),
    ({"const": 1}, NUMBER),
    (array(STRING), array(any_of(STRING, NUMBER))),
    (array(STRING), array(ANY)),
    (mapping(STRING), OBJECT),
    (mapping(INTEGER), mapping(NUMBER)),
    (ref("A"), ref("AOrB")),
    (ref("A"), any_of(ref("A"), array(ref("A")))),
    (array(ref("A")), array(ref("AOrB"))),
    (ref("A"), OBJECT),
    (ref("Strict"), ref("Loose")),
    (OBJECT, ANY),
    ({"type": "object", "additionalProperties": False}, OBJECT),
]
SAME = [
    (STRING, STRING),
    (STRING, ref("Name")),
    (STRING, {"type": ["string"]}),
    (STRING, {"type": ["string", "null"]}),  # whether null is allowed is compared separately
    (any_of(STRING, NUMBER), {"type": ["number", "string"]}),
    ({"enum": ["a", "b"]}, any_of({"const": "b"}, {"const": "a"})),
    (any_of(ref("A"), ref("B")), ref("AOrB")),
    (ANY, ref("Json")),
    (OBJECT, ref("JsonObject")),
    (array(ANY), array(ref("Json"))),
    (OBJECT, ref("Loose")),
    (record(x=STRING), ref("Loose")),
    (ref("Tree"), ref("Forest")),
    (INTEGER, any_of(INTEGER, {"const": 3})),
]
OTHER = [
    (STRING, NUMBER),
    (STRING, array(STRING)),
    (ref("A"), ref("B")),
    ({"enum": ["a", "b"]}, {"enum": ["b", "c"]}),
    (any_of(STRING, NUMBER), any_of(STRING, {"type": "boolean"})),
    (mapping(STRING), mapping(NUMBER)),
    (record(x=STRING), record(y=STRING)),
    ({"const": 1}, {"const": True}),
    (OBJECT, array(ANY)),
]


def relation(before: Json, after: Json) -> Relation:
    return Values(DEFINITIONS, DEFINITIONS, {}).relation(before, after)


def test_more_values_make_a_schema_wider_and_fewer_narrower() -> None:
    for less, more in WIDER:
        with tables.case((less, more)):
            assert relation(less, more) is Relation.WIDER
            assert relation(more, less) is Relation.NARROWER


def test_the_same_values_in_other_words_are_the_same() -> None:
    for left, right in SAME:
        with tables.case((left, right)):
            assert relation(left, right) is Relation.SAME
            assert relation(right, left) is Relation.SAME


def test_schemas_that_each_accept_what_the_other_does_not_differ() -> None:
    for left, right in OTHER:
        with tables.case((left, right)):
            assert relation(left, right) is Relation.OTHER
            assert relation(right, left) is Relation.OTHER


def test_types_of_one_name_count_as_one_however_they_have_changed() -> None:
    before, after = {"T": record(x=STRING)}, {"T": record(("z",), z=NUMBER)}
    assert Values(before, after, {}).relation(ref("T"), ref("T")) is Relation.SAME


def test_a_type_is_the_one_it_is_called_now() -> None:
    before, after = {"Old": record(x=STRING)}, {"New": record(("z",), z=NUMBER)}
    assert Values(before, after, {"Old": "New"}).relation(ref("Old"), ref("New")) is Relation.SAME
    assert Values(before, after, {}).relation(ref("Old"), ref("New")) is Relation.OTHER


ALIKE: Json = {"A": record(x=STRING), "B": record(x=STRING, y=STRING), "C": record(z=STRING)}


def test_alternatives_are_told_apart_by_name_however_alike_they_look() -> None:
    rows: list[tuple[str, str, Relation]] = [
        ("AC", "AC", Relation.SAME),
        ("AC", "CA", Relation.SAME),
        ("A", "AB", Relation.WIDER),
        ("AB", "A", Relation.NARROWER),
        ("AC", "BC", Relation.OTHER),
    ]
    for before, after, expected in rows:
        with tables.case(after):
            unions = [any_of(*map(ref, names)) for names in (before, after)]
            assert Values(ALIKE, ALIKE, {}).of_names(*unions) is expected


def test_alternatives_without_names_cannot_be_told_apart_by_name() -> None:
    assert Values(ALIKE, ALIKE, {}).of_names(any_of(ref("A"), STRING), ref("A")) is None


def test_failure_of_alternative_is_shared_with_next() -> None:
    definitions = {
        "N": record(("x",), x=NUMBER),
        "K": record(("x",), x=STRING),
        "First": record(a=ref("N"), b=STRING),
        "Second": record(a=ref("N"), c=STRING),
        "Either": any_of(ref("First"), ref("Second")),
        "Other": record(a=ref("K"), b=STRING, c=STRING),
    }
    values = Values(definitions, definitions, {})
    assert values.relation(ref("Other"), ref("Either")) is Relation.OTHER


def test_verdicts_based_on_failed_assumption_are_dropped() -> None:
    """`LeafA` leads back to `RootA`, and the types between are fine only if the roots are."""
    definitions = {
        "RootA": record(down=ref("StemA"), x=NUMBER),
        "StemA": record(down=ref("LeafA")),
        "LeafA": record(back=ref("RootA")),
        "RootB": record(down=ref("StemB"), x=STRING),
        "StemB": record(down=ref("LeafB")),
        "LeafB": record(back=ref("RootB")),
        "Detour": record(back=record(down=ref("StemA"), x=STRING)),
    }
    values = Values(definitions, definitions, {})
    either = any_of(ref("LeafA"), ref("Detour"))
    assert values.relation(ref("LeafB"), either) is Relation.OTHER


def test_types_that_branch_at_every_level_come_to_an_end() -> None:
    def tower(name: str) -> Json:
        levels = {
            f"{name}{level}": record(
                left=ref(f"{name}{level + 1}"), right=ref(f"{name}{level + 1}")
            )
            for level in range(60)
        }
        return {**levels, f"{name}60": record(x=STRING)}

    values = Values(tower("A"), tower("B"), {})
    assert values.relation(ref("A0"), ref("B0")) is Relation.SAME


def test_choices_of_a_member_are_its_constants() -> None:
    for schema, choices in (
        ({"const": "a"}, {"a"}),
        ({"enum": ["a", 1]}, {"a", "1"}),
        (any_of({"const": "a"}, {"enum": ["b"]}), {"a", "b"}),
        (any_of({"const": "a"}, STRING), set[str]()),
        (STRING, set[str]()),
    ):
        with tables.case(schema):
            (member,) = members({"T": record(x=schema)}, "T", message=False).values()
            assert member.choices == choices
