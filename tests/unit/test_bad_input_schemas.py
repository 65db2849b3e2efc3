"""Shapes of JSON Schema that published schemas lack: read correctly, or with a warning."""

import json
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base.problems import Level
from mcp_protogen.pipeline.package import Package
from support import tables
from support.generating import require_importable
from support.unit import schemas
from support.unit.schemas import ANY_OBJECT, STRING, Json, record, ref

ARRAY: Json = {"type": "array"}

# Shapes whose meaning survives: the models accept what the schema accepts.
FAITHFUL: dict[str, Json] = {
    "TrueDefinition": record(x=ref("Anything")),
    "TrueMember": record(x=True),
    "TrueItems": record(x={"type": "array", "items": True}),
    "BareArray": record(x=ARRAY),
    "BareObject": record(x={"type": "object"}),
    "NestedIntersection": {
        "allOf": [{"allOf": [record(("x",), x=STRING), record(y=STRING)]}, record(("z",), z=STRING)]
    },
    "IntersectionInMember": record(x={"allOf": [record(y=STRING), {"required": ["y"]}]}),
    "ReferenceWithSiblings": {**ref("BareObject"), "required": ["x"]},
    "ReferenceWithMembers": {**ref("BareObject"), "properties": {"y": STRING}, "required": ["y"]},
    "UndeclaredRequired": {"type": "object", "required": ["x"]},
    "UndeclaredRequiredBeside": {**record(("x", "y"), x=STRING)},
    "OneOfSeveralRequired": {
        **record(x=STRING, y=STRING),
        "anyOf": [{"required": ["x"]}, {"required": ["y"]}],
    },
    "NoMembers": {"type": "object", "properties": {}},
    "TypeList": record(x={"type": ["string", "integer", "null", "boolean"]}),
    "TypeListOfOne": record(x={"type": ["string"]}),
    "TypeBesideAlternatives": record(x={"type": "string", "anyOf": [{"const": "a"}, {}]}),
    "OptionalNull": record(x={"anyOf": [STRING, {"type": "null"}]}),
    "OptionalNullByName": record(x=ref("Text"), y=ref("TextByName"), z=ref("Texts")),
    "RequiredNull": record(("x",), x={"type": "null"}),
    "NullConstant": record(("x",), x={"const": None}),
    "WholeConstant": record(x={"const": 7.0}),
    "MixedEnumeration": record(x={"enum": ["a", 1, True, None]}),
    "RepeatedEnumeration": record(x={"enum": ["a", "b", "a"]}),
    "SingleEnumeration": record(x={"enum": ["a"]}),
    "Bounds": record(
        a={"type": "string", "minLength": 1, "maxLength": 2},
        b={"type": "integer", "minimum": 1, "maximum": 2},
        c={"type": "number", "minimum": 0.5, "maximum": 1.5},
        d={"type": "array", "minItems": 1, "maxItems": 2},
    ),
    "MapOfObjects": record(x={"type": "object", "additionalProperties": record(("y",), y=STRING)}),
    "ArrayOfMaps": record(
        x={"type": "array", "items": {"type": "object", "additionalProperties": STRING}}
    ),
    "RecursiveByUnion": record(x={"type": "array", "items": ref("Either")}, y=ref("Later")),
    "Either": {"anyOf": [ref("RecursiveByUnion"), {"type": "integer"}]},
    "Later": {"anyOf": [ref("Either"), STRING]},
    "Mutual": record(x=ref("Other"), y=STRING),
    "Other": record(x=ref("Mutual"), y={"type": "object", "additionalProperties": ref("Other")}),
    "Recursive": record(x=ref("Recursive"), y={"type": "array", "items": ref("Recursive")}),
    "Annotated_": record(
        x={"type": "string", "default": "d", "deprecated": True, "readOnly": True}
    ),
    "Extensions": record(x={"type": "string", "x-open": True, "x-any-of-required": ["q"]}),
}

# Keyword → a member with it, and the pointer below the member at which it is reported.
LOOSENED: dict[str, Json] = {
    "pattern": {"type": "string", "pattern": "^a$"},
    "multipleOf": {"type": "integer", "multipleOf": 2},
    "exclusiveMinimum": {"type": "number", "exclusiveMinimum": 0},
    "uniqueItems": {"type": "array", "uniqueItems": True},
    "contains": {"type": "array", "contains": STRING},
    "prefixItems": {"type": "array", "prefixItems": [STRING], "items": {"type": "integer"}},
    "minProperties": {"type": "object", "minProperties": 1},
    "propertyNames": {"type": "object", "propertyNames": {"pattern": "^a"}},
    "patternProperties": {"type": "object", "patternProperties": {"^a": STRING}},
    "unevaluatedProperties": {"type": "object", "unevaluatedProperties": False},
    "dependentRequired": {"type": "object", "dependentRequired": {"a": ["b"]}},
    "not": {"type": "string", "not": {"const": "x"}},
    "if": {"type": "string", "if": {"const": "x"}, "then": {"const": "y"}},
    "additionalProperties": {**record(x=STRING), "additionalProperties": False},
    "oneOf": {"oneOf": [STRING, {"type": "integer"}]},
    "const": {"const": {"a": 1}},
    "enum": {"enum": [[1], [2]]},
    "minLength": {"anyOf": [{"type": "string", "minLength": 1}, {"type": "null"}]},
    "minItems": {"type": "array", "items": {"type": "array", "minItems": 1}},
    "maximum": {"type": ["integer", "string"], "maximum": 1},
}

_SCALARS: list[Any] = [None, True, 0, 1, 2, 7, 1.5, "", "a", "b", "abc", [], ["a"], [1, 2, 3], {}]
VALUES: list[Any] = [
    *_SCALARS,
    {"y": "s"},
    {"y": 1},
    {"k": {"y": "s"}},
    {"x": {}},
    [{"k": "s"}],
    [{"k": 1}],
]


def document() -> Json:
    made = schemas.schema()
    text: Json = {"type": ["null", "string"]}
    texts: Json = {"type": "array", "items": ref("Text")}
    made["$defs"] |= {"Anything": True, "Text": text, "TextByName": ref("Text"), "Texts": texts}
    made["$defs"] |= FAITHFUL
    made["$defs"]["Loose"] = record(**{f"a{key}": value for key, value in LOOSENED.items()})
    beside = {**record(x=STRING), "additionalProperties": STRING}
    made["$defs"]["Beside"] = beside
    return made


@pytest.fixture(scope="module")
def package() -> Package:
    return schemas.make(document())


@pytest.fixture(scope="module")
def models(package: Package, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("forms")
    with schemas.import_package(package, folder, "forms") as module:
        yield module.load("draft").models


def _instances(definition: Json) -> Iterator[Json]:
    members = [*definition.get("properties", {}), "x", "y", "z"]
    yield {}
    yield dict.fromkeys(members, "a")
    for member in members:
        yield from ({member: value} for value in VALUES)
        yield from ({**dict.fromkeys(members, "a"), member: value} for value in VALUES)


def test_the_models_accept_what_the_schema_accepts(models: ModuleType) -> None:
    definitions = document()["$defs"]
    for name in FAITHFUL.keys() - {"Either", "Later"}:
        oracle = schemas.validator({**ref(name), "$defs": definitions})
        model = getattr(models, name)
        for instance in _instances(definitions[name]):
            try:
                accepted = model.from_wire(instance).to_wire() == instance
            except ValueError:
                accepted = False
            assert accepted == oracle.is_valid(instance), (name, instance)


def test_loosened_keywords_are_reported(package: Package) -> None:
    for keyword in LOOSENED:
        with tables.case(keyword):
            found = [
                warning
                for warning in package.warnings
                if warning.code == "loosened-schema"
                and warning.pointer.startswith(f"/$defs/Loose/properties/a{keyword}/")
            ]
            assert any(warning.pointer.endswith(f"/{keyword}") for warning in found)
            assert {warning.level for warning in found} == {Level.WARNING}
            assert {warning.place for warning in found} == {"tiny.json"}


def test_a_loosened_member_still_accepts_what_the_schema_accepts(models: ModuleType) -> None:
    definitions = document()["$defs"]
    for keyword, loosened in LOOSENED.items():
        oracle = schemas.validator({"$defs": definitions, **loosened})
        for value in filter(oracle.is_valid, VALUES):
            instance = {f"a{keyword}": value}
            assert models.Loose.from_wire(instance).to_wire() == instance, instance


def test_a_type_of_undeclared_members_is_reported(package: Package) -> None:
    pointers = [warning.pointer for warning in package.warnings]
    assert "/$defs/Beside/additionalProperties" in pointers


def test_an_array_of_tuples_in_the_old_dialect_is_reported() -> None:
    made = schemas.schema()
    made["$schema"] = "http://json-schema.org/draft-07/schema#"
    made["definitions"] = made.pop("$defs")
    made["definitions"]["Pair"] = record(x={"type": "array", "items": [STRING, STRING]})
    made = _with_old_references(made)
    warnings = [w.pointer for w in schemas.read(made).warnings if w.code == "loosened-schema"]
    assert warnings == ["/$defs/Pair/properties/x/items"]


def _with_old_references(document: Json) -> Json:
    old: Json = json.loads(json.dumps(document).replace("#/$defs/", "#/definitions/"))
    return old


def test_members_that_are_called_like_keywords_are_members() -> None:
    keywords = ["allOf", "anyOf", "$ref", "required", "properties", "enum", "const", "items", "not"]
    made = schemas.schema()
    made["$defs"]["Odd"] = record(**dict.fromkeys(keywords, STRING))
    made["$defs"]["OddMap"] = record(**dict.fromkeys(keywords, ANY_OBJECT))
    derived = schemas.read(made)
    assert not [w for w in derived.warnings if w.code == "loosened-schema"]
    assert set(derived.schema["$defs"]["Odd"]["properties"]) == set(keywords)


def maybe(*schemas: Json) -> Json:
    return {"anyOf": [*schemas, {"type": "null"}]}


# How each type contains the next one, and the most types that can be nested.
NESTED: dict[str, tuple[Callable[[Json], Json], int]] = {
    "arrays": (lambda inner: {"type": "array", "items": inner}, 84),
    "maps": (lambda inner: {"type": "object", "additionalProperties": inner}, 84),
    "alternatives": (maybe, 210),
    "alternatives of types": (lambda inner: {"anyOf": [ref("TextBlock"), inner]}, 105),
    "arrays that may be null": (lambda inner: maybe({"type": "array", "items": inner}), 60),
}


def nest(around: Callable[[Json], Json], count: int) -> Json:
    made = schemas.schema()
    names = [f"Nested{number}" for number in range(count)]
    inner = [*map(ref, names[1:]), ref("LinkBlock")]
    made["$defs"] |= {name: around(part) for name, part in zip(names, inner, strict=True)}
    return made


def test_types_nested_more_deeply_than_python_can_are_refused() -> None:
    for name, (around, most) in NESTED.items():
        with tables.case(name):
            schemas.read(nest(around, most))
            for count, place in ((most + 1, 0), (2 * most, most - 1)):
                (problem,) = schemas.errors_of(nest(around, count))
                assert problem.code == "unsupported-schema"
                assert problem.pointer == f"/$defs/Nested{place}"


@pytest.mark.sampled(1)
@pytest.mark.parametrize("name", [*NESTED])
def test_types_nested_as_deeply_as_python_can_are_imported(name: str) -> None:
    require_importable(schemas.make(nest(*NESTED[name])))
