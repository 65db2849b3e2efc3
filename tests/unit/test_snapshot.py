"""Structural snapshots: the schema without its prose, and nothing else missing."""

from typing import Any

import pytest
from mcp_protogen.base.canonical import canonical, pretty
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.inputs.snapshot import DIALECT, differences, snapshot_of
from support import tables

DRAFT_07 = "http://json-schema.org/draft-07/schema#"


def draft_07(definition: Any) -> dict[str, Any]:
    return {"$schema": DRAFT_07, "definitions": {"A": definition}}


def test_prose_of_schemas_goes_and_properties_named_like_it_stay() -> None:
    prose = {"description": "words", "title": "words", "$comment": "words", "examples": [1]}
    named = {key: {"type": "string", **prose} for key in prose}
    definition = {"type": "object", **prose, "properties": named, "required": ["title"]}
    assert snapshot_of({"$defs": {"description": definition}, **prose}) == {
        "$defs": {
            "description": {
                "type": "object",
                "properties": {key: {"type": "string"} for key in prose},
                "required": ["title"],
            }
        }
    }


def test_prose_is_removed_in_keyword_with_one_schema() -> None:
    for keyword in ("items", "additionalProperties", "not", "if", "contains"):
        with tables.case(keyword):
            schema = {"$defs": {"A": {keyword: {"description": "words", "type": "null"}}}}
            assert snapshot_of(schema)["$defs"]["A"] == {keyword: {"type": "null"}}


def test_prose_is_removed_in_keyword_with_many_schemas() -> None:
    for keyword in ("allOf", "anyOf", "oneOf", "prefixItems", "items"):
        with tables.case(keyword):
            schema = {"$defs": {"A": {keyword: [{"description": "words"}, True]}}}
            assert snapshot_of(schema)["$defs"]["A"] == {keyword: [{}, True]}


def test_values_that_are_no_schemas_stay_as_they_are() -> None:
    values = {"default": {"title": "x"}, "const": {"title": "x"}, "enum": [{"description": "y"}]}
    kept = {**values, "format": "uri", "x-vendor": {"title": "z"}}
    assert snapshot_of({"$defs": {"A": kept}})["$defs"]["A"] == kept


def test_definitions_and_references_to_them_are_called_defs() -> None:
    schema = draft_07({"properties": {"definitions": {"$ref": "#/definitions/A"}}})
    definition = {"properties": {"definitions": {"$ref": "#/$defs/A"}}}
    assert snapshot_of(schema) == {"$schema": DIALECT, "$defs": {"A": definition}}


REFERENCES: list[tuple[str, str, str]] = [
    ("draft/2020-12/schema", "#anchor", "#/$defs/B"),
    ("draft/2020-12/schema", "#dynamic", "#/$defs/C"),
    ("draft/2020-12/schema", "b.json", "#/$defs/D"),
    ("draft/2020-12/schema", "b.json#/$defs/E", "#/$defs/D/$defs/E"),
    ("draft/2020-12/schema", "https://example.com/b.json#inner", "#/$defs/D/$defs/E"),
    ("draft/2020-12/schema", "a.json#/$defs/B", "#/$defs/B"),
    ("draft/2020-12/schema", "b.json#/$defs/F", "#/$defs/D/$defs/F"),
    ("draft/2020-12/schema", "#", "#"),
    ("draft/2020-12/schema", "#nowhere", "#nowhere"),
    ("draft/2020-12/schema", "c.json", "c.json"),
    ("draft/2020-12/schema", "b.json#/$defs/G", "b.json#/$defs/G"),
    ("draft-07/schema#", "#old", "#/$defs/B"),
    ("draft-07/schema#", "#/definitions/D/definitions/E", "#/$defs/D/$defs/E"),
    (
        "draft-07/schema#",
        "#/definitions/A/properties/definitions",
        "#/$defs/A/properties/definitions",
    ),
]


def test_references_become_pointers_as_the_dialect_reads_them() -> None:
    for draft, reference, expected in REFERENCES:
        with tables.case((draft, reference)):
            new = "2020" in draft
            word = "$defs" if new else "definitions"
            inner = {"E": {"$anchor": "inner", "type": "null"}, "F": True}
            definitions = {
                "A": {"properties": {"x": {"$ref": reference}, "definitions": {}}},
                "B": {"$anchor": "anchor"} if new else {"$id": "#old"},
                "C": {"$dynamicAnchor": "dynamic"},
                "D": {"$id": "b.json", word: inner, "items": {"$ref": f"#/{word}/E"}},
            }
            document = {"$id": "https://example.com/a.json", word: definitions}
            found = snapshot_of(
                {"$schema": f"{'https' if new else 'http'}://json-schema.org/{draft}", **document}
            )["$defs"]
            assert found["A"]["properties"]["x"] == {"$ref": expected}
            assert not {"$id", "$anchor"} & (found["B"].keys() | found["D"].keys())
            if expected not in ("#", reference):
                assert found["D"]["items"] == {"$ref": "#/$defs/D/$defs/E"}


CHANGED: dict[str, Any] = {
    "tuple items": {"items": [{"type": "string"}]},
    "dependencies": {"properties": {"a": {"anyOf": [{"dependencies": {}}]}}},
    "siblings of a reference": {"$ref": "#/definitions/A", "type": "object"},
}


def test_a_schema_that_the_newer_dialect_reads_otherwise_keeps_its_own() -> None:
    for name, changed in CHANGED.items():
        with tables.case(name):
            assert snapshot_of(draft_07(changed))["$schema"] == DRAFT_07


def test_differences_point_at_the_smallest_changed_values() -> None:
    before = {"a": {"b/c": 1, "same": [1]}, "gone": 1, "n": 1, "list": [1, 2]}
    after = {"a": {"b/c": 2, "same": [1]}, "here": 1, "n": True, "list": [1, 3]}
    assert list(differences(before, after)) == ["/a/b~1c", "/gone", "/here", "/list", "/n"]


def test_pretty_text_is_sorted_with_what_fits_on_a_line_on_one() -> None:
    long = "é" * 90
    assert pretty({"b": [1, 2], "a": {}}) == b'{"a": {}, "b": [1, 2]}\n'
    assert pretty({"b": long, "a": []}) == f'{{\n  "a": [],\n  "b": "{long}"\n}}\n'.encode()


def test_canonical_text_is_sorted_and_has_no_spaces() -> None:
    assert canonical({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()


MISSHAPEN: list[tuple[dict[str, Any], str, str]] = [
    ({"definitions": None}, "/definitions", "null"),
    ({"$defs": {}, "definitions": {}}, "", '["$defs", "definitions"]'),
    ({"$defs": {"A/B": 1}}, "/$defs/A~1B", "1"),
    ({"$defs": {"A": {"properties": []}}}, "/$defs/A/properties", "[]"),
    ({"$defs": {"A": {"anyOf": {}}}}, "/$defs/A/anyOf", "{}"),
    ({"$defs": {"A": {"allOf": [{}, "x"]}}}, "/$defs/A/allOf/1", '"x"'),
    ({"$defs": {"A": {"items": None}}}, "/$defs/A/items", "null"),
    ({"$defs": {"A": {"$ref": None}}}, "/$defs/A/$ref", "null"),
]


def test_keyword_with_other_value_is_refused_at_its_place() -> None:
    for schema, pointer, found in MISSHAPEN:
        with pytest.raises(ProblemError) as caught:
            snapshot_of(schema, "a.json")
        (problem,) = caught.value.problems
        assert (problem.code, problem.place, problem.pointer) == ("not-a-schema", "a.json", pointer)
        assert problem.message.endswith(f"found {found}")
