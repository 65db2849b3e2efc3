"""Files that are not MCP schemas, and invalid names of revisions."""

import json
from itertools import product
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from support import tables
from support.unit import schemas
from support.unit.schemas import Json, errors_of, record

NOT_JSON = {
    "nothing": b"",
    "a word": b"schema",
    "cut off": b'{"$defs": {',
    "not UTF-8": b'{"$defs": {"\xff": {}}}',
    "UTF-16": '{"$defs": {}}'.encode("utf-16"),
    "a member twice": b'{"$defs": {"A": {}, "A": {}}}',
    "NaN": b'{"$defs": {"A": {"minimum": NaN}}}',
    "a number beyond all": b'{"$defs": {"A": {"minimum": 1e999}}}',
    "an endless number": b'{"$defs": {"A": {"minimum": ' + b"9" * 5000 + b"}}}",
    "half a character": b'{"$defs": {"A": {"description": "\\ud800"}}}',
    "nested beyond reading": b"[" * 100_000 + b"]" * 100_000,
    "HTML": b"<!DOCTYPE html><html></html>",
}


def test_invalid_json_is_refused() -> None:
    for name, content in NOT_JSON.items():
        with tables.case(name):
            with pytest.raises(ProblemError) as caught:
                generate(
                    GenerationOptions(("draft",), {"draft": GivenFile("broken.json", content)})
                )
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == ("not-json", "broken.json")


NOT_A_SCHEMA: dict[str, Any] = {
    "null": None,
    "a boolean": True,
    "a number": 1,
    "a list": [],
    "a text": "schema",
    "no definitions": {"type": "object"},
    "definitions that are a list": {"$defs": []},
    "definitions that are null": {"$defs": None},
    "two kinds of definitions": {"$defs": {}, "definitions": {}},
    "a definition that is a number": {"$defs": {"A": 1}},
    "a member that is a text": {"$defs": {"A": {"properties": {"x": "string"}}}},
    "alternatives that are an object": {"$defs": {"A": {"anyOf": {"x": {}}}}},
    "a dialect that is a list": {"$schema": [], "$defs": {"A": {}}},
    "a reference that is a number": {"$defs": {"A": {"$ref": 1}}},
}


def test_invalid_schema_is_refused() -> None:
    for name, document in NOT_A_SCHEMA.items():
        with tables.case(name):
            assert {problem.code for problem in errors_of(document)} == {"not-a-schema"}


def test_empty_definitions_are_no_protocol() -> None:
    (problem,) = errors_of({"$defs": {}})
    assert problem.code == "no-message-unions"


def test_another_protocols_schema_is_named_as_such() -> None:
    dialect = "http://json-schema.org/draft-07/schema#"
    document: Json = {"$schema": dialect, "definitions": {"Pet": {}}}
    (problem,) = errors_of(document)
    assert problem.code == "no-message-unions"
    assert "ClientRequest" in problem.message


def test_violations_of_the_metaschema_are_shown_together() -> None:
    document = schemas.schema()
    document["$defs"]["TextBlock"]["type"] = "text"
    document["$defs"]["LinkBlock"]["required"] = "type"
    document["$defs"]["Token"]["minLength"] = -1
    found = errors_of(document)
    assert {problem.pointer for problem in found} == {
        "/$defs/TextBlock/type",
        "/$defs/LinkBlock/required",
        "/$defs/Token/minLength",
    }
    assert {problem.code for problem in found} == {"not-a-schema"}


def test_a_badly_broken_schema_does_not_drown_its_reader() -> None:
    document = schemas.schema()
    document["$defs"] |= {f"T{number}": {"type": "nothing"} for number in range(500)}
    assert len(errors_of(document)) <= 10


def test_deep_nesting_is_refused() -> None:
    for depth, shape in product((61, 150, 400, 2000, 20_000), ("array", "map", "object", "union")):
        with tables.case((depth, shape)):
            opening = {
                "array": '{"type":"array","items":',
                "map": '{"type":"object","additionalProperties":',
                "object": '{"type":"object","properties":{"x":',
                "union": '{"anyOf":[{"type":"null"},',
            }[shape]
            closing = {"object": "}}", "union": "]}"}.get(shape, "}")
            text = json.dumps(schemas.schema()).replace(
                '"$defs": {',
                '"$defs": {"Deep": ' + opening * depth + "{}" + closing * depth + ",",
                1,
            )
            with pytest.raises(ProblemError) as caught:
                generate(
                    GenerationOptions(("draft",), {"draft": GivenFile("deep.json", text.encode())})
                )
            codes = {problem.code for problem in caught.value.problems}
            assert codes <= {"not-a-schema", "not-json"}


def test_nesting_that_a_human_could_write_is_accepted() -> None:
    for shape in ("array", "map", "object", "union"):
        with tables.case(shape):
            inner: Json = {"type": "string"}
            for _ in range(14):
                inner = {
                    "array": {"type": "array", "items": inner},
                    "map": {"type": "object", "additionalProperties": inner},
                    "object": record(x=inner),
                    "union": {"anyOf": [{"type": "array", "items": inner}, {"type": "null"}]},
                }[shape]
            document = schemas.schema()
            document["$defs"]["Deep"] = record(x=inner)
            schemas.make(document)


def test_revision_names_that_are_no_folder_are_refused() -> None:
    for name in (
        *("", ".", "..", "../x", "a/b", "a b"),
        *("a--b", "a_b", "x\n", 'x"""', "é", "v;import os"),
    ):
        with tables.case(name):
            with pytest.raises(ProblemError) as caught:
                schemas.make(schemas.schema(), name)
            (problem,) = caught.value.problems
            assert problem.code == "unsafe-name"


def test_revisions_that_would_share_a_folder_are_refused() -> None:
    given = {name: schemas.schema_file(schemas.schema()) for name in ("draft-1", "draft.1")}
    with pytest.raises(ProblemError) as caught:
        generate(GenerationOptions(("draft-1", "draft.1"), given))
    assert [problem.code for problem in caught.value.problems] == ["name-collision"]


def test_an_unknown_revision_without_a_schema_is_refused() -> None:
    with pytest.raises(ProblemError) as caught:
        generate(GenerationOptions(("2025-11-26",)))
    assert caught.value.problems[0].code == "unknown-revision"
