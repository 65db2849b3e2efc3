"""The target `dataclasses`: its functions accept the right values, and write them back."""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from mcp_protogen.base.names import ModuleName, type_name
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.package import GenerationInputs, Package
from mcp_protogen.pipeline.target import TargetOptions
from mcp_protogen.targets.dataclasses import TARGET
from support import tables
from support.generated import made_up_schemas, oracle, spec_examples
from support.generated.differential import same
from support.targets import differential
from support.targets.made_up_modules import build_module
from support.targets.target_modules import module
from support.unit import schemas

pytestmark = pytest.mark.long

Json = dict[str, Any]

OPTIONS = TargetOptions("dataclasses")
OPEN_CONTENT = differential.Difference(*oracle.WANTED[0])


def _reads(made: ModuleType, name: str, value: Any) -> bool:
    """Return whether a type accepts a value; accepted values must come back."""
    try:
        read = made.from_wire(getattr(made, name), value)
    except made.WireError:
        return False
    assert same(made.to_wire(read), value, exact=False), f"{name} {value!r:.300}"
    return True


def _accepts(subject: str, value: Any) -> bool:
    revision, name = subject.split()
    return _reads(module(OPTIONS, revision), name, value)


def test_functions_accept_what_the_schema_accepts_and_write_it_back() -> None:
    differential.require_agreement(_accepts, (differential.ANY_JSON_SCHEMA, OPEN_CONTENT))


def test_published_examples_are_read_and_written_back() -> None:
    for example in spec_examples.examples("request", "notification", "response", "error"):
        with tables.case(example.name):
            made = module(OPTIONS, example.revision)
            for definition, value in example.parts():
                assert _reads(made, type_name(definition), value), definition


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The module for types that no published schema has."""
    file = build_module("dataclasses", "__init__.py")
    package = Package((file,), GenerationInputs("", "", "", "", {}, {}))
    with schemas.import_package(
        package, tmp_path_factory.mktemp("made-up"), "dataclasses_made_up"
    ) as found:
        yield found


def test_types_accept_what_their_definitions_accept(made_up: ModuleType) -> None:
    definitions = {**schemas.schema()["$defs"], **made_up_schemas.SCHEMAS}
    for name, schema in made_up_schemas.TRIED.items():
        with tables.case(name):
            wanted = schemas.validator({**schema, "$defs": definitions})
            for value in made_up_schemas.values(schema):
                assert _reads(made_up, type_name(name), value) == wanted.is_valid(value), value


def test_undeclared_members_are_dropped_or_refused_but_for_open_types() -> None:
    tool: Json = {"name": "x", "inputSchema": {}}
    result: Json = {"tools": [], "later": None}
    for extra in ("ignore", "forbid"):
        made = module(TargetOptions("dataclasses", extra=extra), "2025-11-25")
        with tables.case(extra):
            assert made.to_wire(made.from_wire(made.ListToolsResult, result)) == result
            assert made.to_wire(made.from_wire(made.Tool, tool)) == tool
            if extra == "ignore":
                assert made.to_wire(made.from_wire(made.Tool, {**tool, "new": 1})) == tool
            else:
                with pytest.raises(made.WireError, match="/new: is not declared"):
                    made.from_wire(made.Tool, {**tool, "new": 1})


def test_absent_null_and_a_value_stay_apart() -> None:
    made = module(OPTIONS, "2026-07-28")
    for members, attribute in (
        ({}, made.ABSENT),
        ({"structuredContent": None}, None),
        ({"structuredContent": 0}, 0),
    ):
        wire: Json = {"content": [], "resultType": "complete", **members}
        assert made.from_wire(made.CallToolResult, wire).structured_content is attribute
    assert "structuredContent" not in made.to_wire(made.CallToolResult(content=[]))


def test_usual_values_need_not_be_given_but_are_required_on_the_wire() -> None:
    made = module(OPTIONS, "2026-07-28")
    params = made.CallToolRequestParams(name="x")
    wire = made.to_wire(params)
    assert wire["_meta"] == {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    del wire["_meta"]
    with pytest.raises(made.WireError, match="/_meta: is required"):
        made.from_wire(made.CallToolRequestParams, wire)


def test_value_outside_json_is_not_written() -> None:
    made = module(OPTIONS, "2025-11-25")
    with pytest.raises(TypeError, match="set"):
        made.to_wire(made.Tool(name="x", input_schema={"required": {"x"}}))


def test_a_package_has_one_reader_for_all_revisions() -> None:
    options = TargetOptions("dataclasses", layout="package")
    both = ("2024-11-05", "2026-07-28")
    old, new = (module(options, layer, both) for layer in both)
    wire = import_module(f"{old.__name__.split('.')[0]}.wire")
    for made in (old, new):
        assert type(wire.from_wire(made.Root, {"uri": "file:///"})) is made.Root
        assert issubclass(made.Root, wire.OpenObject)


def test_an_error_says_where_and_never_what() -> None:
    made = module(OPTIONS, "2025-11-25")
    cases: tuple[tuple[str, Any, str, str], ...] = (
        ("Tool", [], "", "an object is expected"),
        ("Tool", {"name": "x"}, "/inputSchema", "is required"),
        ("ListToolsResult", {"tools": [{"name": 7}]}, "/tools/0/name", "a string is expected"),
        (
            "ClientCapabilities",
            {"experimental": {"a/b~c": "secret"}},
            "/experimental/a~1b~0c",
            "an object is expected",
        ),
        ("RequestId", None, "", "a string is expected, or an integer is expected"),
        ("Annotations", {"priority": 2}, "/priority", "a value of at most 1 is expected"),
        ("ContentBlock", {"type": 1}, "/type", "a string is expected"),
        ("Role", "secret", "", '"user" or "assistant" is expected'),
    )
    for name, value, pointer, message in cases:
        with tables.case(name), pytest.raises(made.WireError) as raised:
            made.from_wire(getattr(made, name), value)
        assert (raised.value.pointer, raised.value.message) == (pointer, message)
        assert "secret" not in repr(raised.value)


def test_names_that_the_code_beside_the_classes_needs_are_refused() -> None:
    document = schemas.schema()
    document["$defs"]["Result"]["properties"]["extraMembers"] = schemas.STRING
    ir = schemas.read(document).ir
    for changed, options, message in (
        (ir, OPTIONS, "its undeclared members, extra_members"),
        (replace(ir, module=ModuleName("wire")), OPTIONS._replace(layout="package"), "module wire"),
    ):
        with pytest.raises(ProblemError, match=message):
            list(TARGET.files((changed,), options))
