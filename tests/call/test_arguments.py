"""Words of a command line become arguments of a tool, by its input schema."""

from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.servers.call.arguments import ArgumentReader
from mcp_protogen.servers.call.input_schemas import signature
from support.tables import case

NUMBER = {"type": "integer"}
TEXT = {"type": "string"}
TEXTS = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "text": {"type": "string", "default": "world"},
        "count": {"type": "integer", "minimum": 1},
        "ratio": {"type": "number"},
        "loud": {"type": "boolean"},
        "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
        "either": {"type": ["string", "integer"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "sizes": {"type": "array", "items": {"$ref": "#/$defs/size"}},
        "place": {"$ref": "#/$defs/place"},
        "kind": {"enum": ["tea", "coffee", 3]},
        "data": {"type": "string", "contentEncoding": "base64"},
        "a/b": {"type": "integer"},
        "any": {},
    },
    "required": ["text"],
    "$defs": {
        "size": {"type": "integer"},
        "place": {"type": "object", "properties": {"x": {"type": "integer"}}},
    },
}

READ: dict[str, tuple[list[str], dict[str, Any]]] = {
    "text": (["text=5"], {"text": "5"}),
    "text with a sign": (["text=a=b:=c"], {"text": "a=b:=c"}),
    "no text": (["text="], {"text": ""}),
    "text of null": (["text=null"], {"text": "null"}),
    "whole number": (["count=5"], {"count": 5}),
    "number": (["ratio=5", "loud=true"], {"ratio": 5, "loud": True}),
    "null": (["maybe=null"], {"maybe": None}),
    "one of two types": (["either=7"], {"either": 7}),
    "the other type": (["either=x7"], {"either": "x7"}),
    "items": (["tags=a", "tags=b,c"], {"tags": ["a", "b,c"]}),
    "one item": (["sizes=1"], {"sizes": [1]}),
    "an array": (["sizes=[1, 2]"], {"sizes": [1, 2]}),
    "an object": (['place={"x": 1}'], {"place": {"x": 1}}),
    "a choice": (["kind=tea"], {"kind": "tea"}),
    "a choice that is a number": (["kind=3"], {"kind": 3}),
    "anything": (["any=5"], {"any": "5"}),
    "JSON": (["any:=5", 'text:="x"'], {"any": 5, "text": "x"}),
    "an unknown name": (["nothing=5"], {"nothing": "5"}),
    "one object": (['{"text": "x", "count": 2}'], {"text": "x", "count": 2}),
    "standard input": (["-"], {"text": "from stdin"}),
    "a file": (["text=@note.txt"], {"text": "5\n"}),
    "a file for a number": (["count=@note.txt"], {"count": 5}),
    "a file of bytes": (["data=@note.txt"], {"data": "NQo="}),
}

# Root schemas, words, and the resulting arguments.
BY_SCHEMA: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "an arm of anyOf": (
        {"anyOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": NUMBER}}]},
        ["a=1", "b=3"],
        {"a": "1", "b": 3},
    ),
    "an arm of oneOf": (
        {"oneOf": [{"properties": {"op": {"const": "drop"}, "id": NUMBER}, "required": ["op"]}]},
        ["op=drop", "id=4"],
        {"op": "drop", "id": 4},
    ),
    "a text that looks like a number in the arm that others choose": (
        {
            "oneOf": [
                {"properties": {"op": {"const": "add"}, "x": NUMBER, "y": NUMBER}},
                {"properties": {"op": {"const": "find"}, "x": TEXT, "y": TEXT, "z": NUMBER}},
            ]
        },
        ["op=find", "x=1", "y=2", "z=3"],
        {"op": "find", "x": "1", "y": "2", "z": 3},
    ),
    "a text that looks like a number under else": (
        {
            "if": {"properties": {"op": {"const": "add"}}},
            "then": {"properties": {"x": NUMBER}},
            "else": {"properties": {"x": TEXT}},
        },
        ["op=find", "x=1"],
        {"op": "find", "x": "1"},
    ),
    "others": ({"additionalProperties": NUMBER}, ["a=1"], {"a": 1}),
    "others by a reference": (
        {"additionalProperties": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "boolean"}}},
        ["a=true"],
        {"a": True},
    ),
    "others of a list": (
        {"additionalProperties": {"items": NUMBER}},
        ["a=1", "a=2"],
        {"a": [1, 2]},
    ),
    "a reference in allOf": (
        {"allOf": [{"$ref": "#/$defs/Page"}], "$defs": {"Page": {"properties": {"p": NUMBER}}}},
        ["p=3"],
        {"p": 3},
    ),
    "then and else": (
        {
            "properties": {"k": {"type": "string"}},
            "if": {"properties": {"k": {"const": "a"}}},
            "then": {"properties": {"size": NUMBER}},
            "else": {"properties": {"big": {"type": "boolean"}}},
        },
        ["k=a", "size=5", "big=true"],
        {"k": "a", "size": 5, "big": True},
    ),
    "dependent members": (
        {
            "properties": {"a": NUMBER},
            "dependentSchemas": {"a": {"properties": {"b": NUMBER}}},
            "dependencies": {"a": {"properties": {"c": NUMBER}}, "b": ["a"]},
        },
        ["a=1", "b=2", "c=3"],
        {"a": 1, "b": 2, "c": 3},
    ),
    "unions within unions": (
        {"allOf": [{"anyOf": [{"oneOf": [{"properties": {"n": NUMBER}}]}]}]},
        ["n=1"],
        {"n": 1},
    ),
    "different types in arms": (
        {"anyOf": [{"properties": {"x": NUMBER}}, {"properties": {"x": {"type": "string"}}}]},
        ["x=1"],
        {"x": 1},
    ),
    "an escaped reference": (
        {"properties": {"a": {"$ref": "#/%24defs/two%20words"}}, "$defs": {"two words": NUMBER}},
        ["a=5"],
        {"a": 5},
    ),
    "a reference with ~": (
        {"properties": {"a": {"$ref": "#/$defs/x~1y~0z"}}, "$defs": {"x/y~z": NUMBER}},
        ["a=5"],
        {"a": 5},
    ),
    "an address of the root": (
        {
            "$id": "https://x.example/t.json",
            "properties": {
                "a": {"$ref": "https://x.example/t.json#/$defs/N"},
                "b": {"$ref": "t.json#/$defs/N"},
            },
            "$defs": {"N": NUMBER},
        },
        ["a=5", "b=6"],
        {"a": 5, "b": 6},
    ),
    "an address of a part": (
        {
            "$id": "https://x.example/t.json",
            "properties": {"a": {"$ref": "parts/n.json"}, "b": {"$ref": "/parts/n.json#in"}},
            "$defs": {
                "N": {
                    "$id": "parts/n.json",
                    "$ref": "#/$defs/M",
                    "$defs": {"M": NUMBER, "I": {"$anchor": "in", "type": "boolean"}},
                }
            },
        },
        ["a=5", "b=true"],
        {"a": 5, "b": True},
    ),
    "an anchor": (
        {"properties": {"a": {"$ref": "#n"}}, "$defs": {"N": {"$anchor": "n", **NUMBER}}},
        ["a=5"],
        {"a": 5},
    ),
    "a reference into a member": (
        {"properties": {"a": NUMBER, "b": {"$ref": "#/properties/a"}}},
        ["b=5"],
        {"b": 5},
    ),
    "a tuple": (
        {"properties": {"p": {"type": "array", "prefixItems": [NUMBER, {"type": "string"}]}}},
        ["p=1", "p=2"],
        {"p": [1, "2"]},
    ),
    "a tuple of draft 7": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {
                "p": {"type": "array", "items": [NUMBER], "additionalItems": {"type": "boolean"}}
            },
        },
        ["p=1", "p=true"],
        {"p": [1, True]},
    ),
    "the type of an arm": (
        {"properties": {"a": {"type": "string", "anyOf": [{"type": ["integer", "string"]}]}}},
        ["a=5"],
        {"a": "5"},
    ),
    "any value in an arm": ({"properties": {"a": {"anyOf": [NUMBER, {}]}}}, ["a=x"], {"a": "x"}),
    "an unknown type": ({"properties": {"a": {"type": "float"}}}, ["a=1.5"], {"a": "1.5"}),
    "an unknown type among others": (
        {"properties": {"a": {"type": ["float", "null"]}, "b": {"type": ["float", "null"]}}},
        ["a=1.5", "b=null"],
        {"a": "1.5", "b": None},
    ),
    "no type": ({"properties": {"a": {"type": []}}}, ["a=1"], {"a": "1"}),
    "an open choice": (
        {"properties": {"a": {"enum": ["3", 4]}, "b": {"enum": [3, "3"]}}},
        ["a=3", "b=3"],
        {"a": "3", "b": 3},
    ),
    "a whole number": (
        {"properties": {"a": NUMBER, "b": {"type": ["integer", "string"]}}},
        ["a=1e3", "b=1.0"],
        {"a": 1000, "b": "1.0"},
    ),
    "an object or text": (
        {"properties": {"a": {"type": ["string", "object"]}, "b": {"type": ["string", "object"]}}},
        ['a={"x": 1}', "b={x}"],
        {"a": {"x": 1}, "b": "{x}"},
    ),
    "items of unions": (
        {
            "properties": {
                "a": {"anyOf": [{"type": "array", "items": NUMBER}, {"type": "null"}]},
                "b": {"type": "array", "items": {"type": ["string", "null"]}},
            }
        },
        ["a=null", "b=null"],
        {"a": None, "b": [None]},
    ),
    "text or an array": (
        {"properties": {"to": TEXTS, "cc": TEXTS, "bcc": TEXTS}},
        ["to=ann", "cc=bob", "cc=eve", 'bcc=["dan"]'],
        {"to": "ann", "cc": ["bob", "eve"], "bcc": ["dan"]},
    ),
    "arrays in an array": (
        {"properties": {"m": {"type": "array", "items": {"type": "array", "items": NUMBER}}}},
        ["m=[1]", "m=2"],
        {"m": [[1], [2]]},
    ),
    "items as JSON": (
        {"properties": {"a": {"type": "array"}}},
        ["a:=1", "a:=null"],
        {"a": [1, None]},
    ),
    "names that are only required": ({"properties": {}, "required": ["a"]}, ["a=5"], {"a": "5"}),
}

REFUSED: dict[str, tuple[list[str], str, str, str]] = {
    "no form": (["text"], "", "'text' is not an argument", "arguments of"),
    "no name": (["=5"], "", "'=5' is not an argument", "arguments of"),
    "no number": (["count=x"], "/properties/count", "count: 'x' is not an integer", ""),
    "a part": (["count=1.5"], "/properties/count", "count: '1.5' is not an integer", ""),
    "no boolean": (["loud=yes"], "/properties/loud", "is not a boolean, true or false", ""),
    "no item": (["sizes=x"], "/properties/sizes", "sizes: 'x' is not an integer", ""),
    "no object": (["place=x"], "/properties/place", "is not an object as JSON", ""),
    "no JSON": (["any:=x"], "/properties/any", "any: 'x' is not JSON", ""),
    "an escaped name": (["a/b=x"], "/properties/a~1b", "a/b: 'x' is not an integer", ""),
    "twice": (["count=1", "count=2"], "/properties/count", "given 2 times", "only an array"),
    "no file": (["text=@gone"], "/properties/text", "text: gone cannot be read: No such file", ""),
    "no text": (["text=@bytes"], "/properties/text", "bytes cannot be read: it is not text", ""),
    "no arguments": (["{}x"], "", "is not JSON", ""),
    "no array": (["sizes=[1"], "/properties/sizes", "is not an array as JSON", "for the shell"),
    "not a number": (["any:=NaN"], "/properties/any", "any: 'NaN' is not JSON", ""),
    "infinite": (["ratio=Infinity"], "/properties/ratio", "'Infinity' is not a number", ""),
    "too large": (["ratio=1e400"], "/properties/ratio", "'1e400' is not a number", ""),
    "too large as JSON": (["any:=[1e400]"], "/properties/any", "a number is too large", ""),
    "too large in an object": (['{"ratio": -1e999}'], "", "a number is too large", ""),
    "bytes": (["text=\udcff"], "", "is not text in UTF-8", ""),
}

UNFIT: dict[str, tuple[dict[str, Any], str, str, str]] = {
    "unknown": ({"text": "x", "cuont": 1}, "/properties", "no argument cuont", "mean count"),
    "missing": ({}, "/required", "the argument text is missing", "add text=… (str)"),
    "too small": ({"text": "x", "count": 0}, "/properties/count", "count: 0 is less than", ""),
    "inside": ({"text": "", "place": {"x": "y"}}, "/properties/place", "place/x: 'y' is not", ""),
    "a choice": ({"text": "x", "kind": "milk"}, "/properties/kind", "kind: 'milk' is not one", ""),
}


def reader(schema: dict[str, Any] = SCHEMA) -> ArgumentReader:
    return ArgumentReader(tool="t", schema=schema, stdin='{"text": "from stdin"}')


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("note.txt").write_text("5\n")
    Path("bytes").write_bytes(b"\xff")


def test_a_word_is_read_as_the_schema_says() -> None:
    for name, (words, arguments) in READ.items():
        with case(name):
            read = reader().read(words)
            assert read == arguments
            assert [type(value) for value in read.values()] == [*map(type, arguments.values())]


def test_members_references_and_types_of_all_schemas_are_read() -> None:
    for name, (schema, words, arguments) in BY_SCHEMA.items():
        with case(name):
            read = reader(schema).read(words)
            assert read == arguments
            assert [*map(type, read.values())] == [*map(type, arguments.values())]
            assert Level.ERROR not in {problem.level for problem in reader(schema).check(read)}


def test_schema_that_refers_to_itself_in_a_loop_is_a_warning() -> None:
    for schema in (
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        {"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"$ref": "#/$defs/A"}}},
        {
            "properties": {"a": {"$ref": "#/$defs/A"}},
            "$defs": {"A": {"anyOf": [{"$ref": "#/$defs/B"}]}, "B": {"$ref": "#/$defs/A"}},
        },
    ):
        with case(schema):
            assert reader(schema).read(["a=5"]) == {"a": "5"}
            (problem,) = reader(schema).check({"a": "5"})
            assert (problem.code, problem.level) == ("unusable-schema", Level.WARNING)
    nested: dict[str, Any] = NUMBER
    for _ in range(190):
        nested = {"items": nested}
    (problem,) = reader({"properties": {"a": nested}}).check({"a": []})
    assert (problem.code, problem.level) == ("unusable-schema", Level.WARNING)


def test_required_members_of_all_arms_are_missed() -> None:
    arms: list[dict[str, Any]] = [
        {"properties": {"op": {}, name: {}}, "required": ["op", name]} for name in "ab"
    ]
    (problem,) = reader({"oneOf": [*arms, {"type": "null"}]}).check({"a": 1})
    assert problem.message == "the argument op is missing"
    (problem,) = reader({"oneOf": arms}).check({"op": 1, "a": 1, "c": 1})
    assert problem.message == "the tool has no argument c"


def test_a_word_that_cannot_be_read_is_refused_with_its_place() -> None:
    for name, (words, pointer, message, hint) in REFUSED.items():
        with case(name):
            with pytest.raises(ProblemError) as caught:
                reader().read(words)
            (problem,) = caught.value.problems
            assert (problem.code, problem.place) == ("wrong-argument", "t/inputSchema")
            assert problem.pointer == pointer
            assert message in problem.message and hint in problem.hint


def test_arguments_that_the_schema_refuses_are_named() -> None:
    assert reader().check({"text": "x", "count": 1, "tags": ["a"]}) == []
    for name, (arguments, pointer, message, hint) in UNFIT.items():
        with case(name):
            (problem,) = reader().check(arguments)
            assert (problem.code, problem.pointer) == ("wrong-argument", pointer)
            assert message in problem.message and hint in problem.hint


def test_other_arguments_are_fine_where_the_schema_speaks_of_them() -> None:
    speaking: list[dict[str, Any]] = [
        {"additionalProperties": True},
        {"additionalProperties": {"type": "integer"}},
        {"patternProperties": {"^x": {}}},
        {"anyOf": [{"properties": {"other": {}}}, {}]},
    ]
    for more in speaking:
        with case(more):
            assert reader({**SCHEMA, **more}).check({"text": "x", "other": 1}) == []


def test_a_schema_that_cannot_be_used_is_a_warning_and_never_fetched() -> None:
    for broken in ({"type": "nonsense"}, {"$ref": "http://127.0.0.1:9/x"}, {"$schema": "urn:x"}):
        with case(broken):
            (problem,) = reader({**broken}).check({"text": "x"})
            assert isinstance(problem, Problem)
            assert (problem.code, problem.level) == ("unusable-schema", Level.WARNING)


def test_pattern_of_server_cannot_delay_call() -> None:
    slow = {"properties": {"text": {"pattern": "^(a+)+$"}}}
    (refused,) = reader({**SCHEMA, **slow}).check({"text": "a" * 40 + "!"})
    assert refused.level is Level.ERROR
    ahead = {"properties": {"text": {"pattern": "(?=x)"}}}
    (said,) = reader({**SCHEMA, **ahead}).check({"text": "x"})
    assert (said.code, said.level) == ("unusable-schema", Level.WARNING)
    assert "the pattern '(?=x)' is not checked" in said.message


def test_a_tool_is_shown_as_a_signature() -> None:
    properties = SCHEMA["properties"]
    shown = {
        name: signature({"name": "t", "inputSchema": {**SCHEMA, "properties": {name: schema}}})
        for name, schema in properties.items()
    }
    assert shown["text"] == 't(text: str = "world")'
    assert shown["count"] == "t(count: int = …)"
    assert shown["maybe"] == "t(maybe: int | None = null)"
    assert shown["either"] == "t(either: str | int = …)"
    assert shown["sizes"] == "t(sizes: list[int] = …)"
    assert shown["place"] == "t(place: dict = …)"
    assert shown["kind"] == 't(kind: "tea" | "coffee" | 3 = …)'
    assert shown["any"] == "t(any: Any = …)"
    assert signature({"name": "t", "inputSchema": SCHEMA}).startswith("t(text: str")
    assert signature({"name": "none"}) == "none()"


def test_signature_shows_four_choices() -> None:
    for number, shown in ((1, "1"), (4, "1 | 2 | 3 | 4"), (5, "1 | 2 | 3 | 4 | …")):
        with case(str(number)):
            schema = {"properties": {"n": {"enum": [*range(1, number + 1)]}}, "required": ["n"]}
            assert signature({"name": "t", "inputSchema": schema}) == f"t(n: {shown})"


def test_values_are_one_choice_in_whichever_order_their_members_are() -> None:
    schema = {"properties": {"n": {"enum": [{"a": 1, "b": 2}, {"b": 2, "a": 1}, {"a": 2}]}}}
    shown = signature({"name": "t", "inputSchema": schema})
    assert shown == 't(n: {"b": 2, "a": 1} | {"a": 2} = …)'


def test_arguments_of_arms_are_in_the_signature() -> None:
    arms = [
        {"properties": {"op": {"const": name}, name: {"type": "integer", "default": 1}}}
        for name in "ab"
    ]
    shown = signature({"name": "t", "inputSchema": {"oneOf": arms, "required": ["op"]}})
    assert shown == 't(op: "a" | "b", a: int = …, b: int = …)'
    pair = {"type": "array", "items": [{"type": "string"}, {"type": "integer"}]}
    shown = signature({"name": "t", "inputSchema": {"properties": {"p": pair}}})
    assert shown == "t(p: list[str | int] = …)"


def test_a_schema_that_refers_to_itself_is_read_to_an_end() -> None:
    schemas: list[dict[str, Any]] = [
        {"properties": {"x": {"$ref": "#/properties/x"}}},
        {"properties": {"x": {"anyOf": [{"$ref": "#/properties/x"}]}}},
        {"properties": {"x": {"$ref": "#/nowhere/at all"}}, "required": "x"},
        {"properties": [], "required": [1]},
        {"$ref": "#"},
        {"$id": 5, "allOf": {}, "anyOf": [5, None], "then": 5, "dependentSchemas": [1]},
        {"properties": {"a": 5, "b": [1], "c": {"type": {}}, "d": {"$ref": "http://["}}},
    ]
    for schema in schemas:
        with case(schema):
            assert signature({"name": "t", "inputSchema": schema}).startswith("t(")
