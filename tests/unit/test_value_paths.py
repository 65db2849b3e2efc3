"""Paths to values: checked against types, then read and written in decoded JSON."""

from collections.abc import Mapping
from typing import Any

import pytest
from mcp_protogen.base.names import ClassName, FieldName
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.derive.value_paths import UnknownPath, typed_path
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.ir import FieldIR, ListOf, ObjectIR, Ref, Scalar, TypeIR
from mcp_protogen.runtime.core.copies import put
from mcp_protogen.runtime.core.value_paths import PathEntry, find

VALUE: Mapping[str, Any] = {
    "outputs": [{"kind": "content", "content": [1]}, {"kind": "structured", "value": 2}],
    "variants": {"first": {"kind": "content"}},
}

STRUCTURED = PathEntry({"kind": "structured"})


def scalars_object(name: str, *members: tuple[str, Any]) -> ObjectIR:
    """Return an object with optional scalars."""
    fields = (
        FieldIR(wire, FieldName(wire), Scalar(kind), False, None, False, (), (), "", False)
        for wire, kind in members
    )
    return ObjectIR(ClassName(name), tuple(fields), (), False, "", "", False)


@pytest.fixture(scope="module")
def types() -> Mapping[str, TypeIR]:
    source = sources.load("2026-07-28", GenerationOptions(("2026-07-28",)))
    return {str(type_.name): type_ for type_ in derive_revision(source).ir.types}


def test_path_names_members_and_entries(types: Mapping[str, TypeIR]) -> None:
    found = typed_path("content[type=text].text", Ref("CallToolResult"), types)
    assert found.path == ("content", PathEntry({"type": "text"}), "text")
    assert found.type == Scalar("string")


def test_path_may_end_at_an_array(types: Mapping[str, TypeIR]) -> None:
    found = typed_path("tools", Ref("ListToolsResult"), types)
    assert (found.path, found.type) == (("tools",), ListOf(Ref("Tool")))


def test_entry_of_a_map_is_named_after_its_constants(types: Mapping[str, TypeIR]) -> None:
    found = typed_path("[method=roots/list]", Ref("InputRequests"), types)
    assert found.path == (PathEntry({"method": "roots/list"}, "roots/list"),)


@pytest.mark.parametrize(
    ("entry", "constants"),
    [
        ("isError=true", {"isError": True}),
        ("size=3", {"size": 3}),
        ("size=03", None),
        ("name=3", {"name": "3"}),
        ("name=true,isError=false", {"name": "true", "isError": False}),
        ("isError=1", None),
        ("size=true", None),
    ],
)
def test_constant_has_the_json_type_of_its_member(
    types: Mapping[str, TypeIR], entry: str, constants: Mapping[str, Any] | None
) -> None:
    members = (("isError", "boolean"), ("size", "integer"), ("name", "string"))
    known = {**types, "Entry": scalars_object("Entry", *members)}
    if constants is None:
        with pytest.raises(UnknownPath):
            typed_path(f"[{entry}]", ListOf(Ref(ClassName("Entry"))), known)
    else:
        found = typed_path(f"[{entry}]", ListOf(Ref(ClassName("Entry"))), known)
        assert repr(found.path) == repr((PathEntry(constants),))


def test_entry_with_true_is_not_the_one_with_1() -> None:
    entries = [{"kind": 1}, {"kind": True}, {"other": 1}]
    assert find(entries, (PathEntry({"kind": True}),)) is entries[1]
    assert find(entries, (PathEntry({"kind": 1}),)) is entries[0]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("outputs", "'outputs' is not a member"),
        ("isError.text", "'text' is not a member"),
        ("content[type=video]", "no entry has type=video"),
        ("isError[type=text]", "brackets follow an array, or an object with free keys"),
        ("content[", "'content[' is not a path such as a.b[kind=c].d"),
    ],
)
def test_path_that_a_type_lacks_is_refused(
    types: Mapping[str, TypeIR], path: str, reason: str
) -> None:
    with pytest.raises(UnknownPath) as refusal:
        typed_path(path, Ref("CallToolResult"), types)
    assert str(refusal.value) == reason


def test_value_is_found_by_members_and_constants() -> None:
    assert find(VALUE, ("outputs", STRUCTURED, "value")) == 2
    assert find(VALUE, ("variants", PathEntry({"kind": "content"}, "content"))) == {
        "kind": "content"
    }


def test_value_is_put_into_a_copy() -> None:
    before = repr(VALUE)
    assert put(VALUE, ("outputs", STRUCTURED, "value"), 3)["outputs"] == [
        VALUE["outputs"][0],
        {"kind": "structured", "value": 3},
    ]
    assert repr(VALUE) == before


def test_missing_objects_arrays_and_entries_are_added() -> None:
    path = ("outputs", STRUCTURED, "value")
    assert put({}, path, 3) == {"outputs": [{"kind": "structured", "value": 3}]}
    entry = PathEntry({"kind": "structured"}, "structured")
    assert put({}, ("variants", entry, "schema"), 3) == {
        "variants": {"structured": {"kind": "structured", "schema": 3}}
    }
