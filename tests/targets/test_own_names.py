"""A project's own names: their effect, and their faults."""

import json
from functools import cache
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive import recursion
from mcp_protogen.pipeline.derive.renaming import names_for, rename_revision
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.pins import load_extension_pins
from mcp_protogen.pipeline.ir import ObjectIR, RevisionIR
from support.tables import case

REVISION = "2025-11-25"


@cache
def ours() -> RevisionIR:
    """The revision with our names."""
    return derive_revision(sources.load(REVISION, GenerationOptions((REVISION,)))).ir


def _options_with(content: bytes) -> GenerationOptions:
    return GenerationOptions((REVISION,), names=GivenFile("names.json", content))


def _own(document: Any) -> RevisionIR:
    found = names_for(REVISION, _options_with(json.dumps(document).encode()))
    assert found is not None
    return rename_revision(ours(), found)


def _types(**names: str) -> RevisionIR:
    return _own({"types": {REVISION: names}})


def _object(ir: RevisionIR, name: str) -> ObjectIR:
    found = next(type_ for type_ in ir.types if type_.name == name)
    assert isinstance(found, ObjectIR)
    return found


def test_everything_that_names_a_type_names_it_anew() -> None:
    def names(ir: RevisionIR) -> set[str]:
        methods = (
            name
            for method in ir.methods
            for name in (method.message, method.params, *method.results)
        )
        items = (recursion.names_in(method.items) for method in ir.methods if method.items)
        data = {error.data for error in ir.errors if error.data}
        keys = {name for meta_key in ir.meta_keys for name in (meta_key.type, *meta_key.of)} - {
            "string"
        }
        types = {name for type_ in ir.types for name in (type_.name, *recursion.uses(type_))}
        return {*map(str, (*methods, *data, *keys, *types)), *(n for names in items for n in names)}

    everything = {str(type_.name): f"X{type_.name}" for type_ in ours().types}
    assert names(ours()) == everything.keys()
    assert names(_types(**everything)) == set(everything.values())


def test_two_types_change_places() -> None:
    ir = _types(Tool="Prompt", Prompt="Tool")
    assert _object(ir, "Prompt").fields == _object(ours(), "Tool").fields
    listed = _object(ir, "ListToolsResult").fields
    assert "Prompt" in {name for member in listed for name in recursion.names_in(member.type)}


def test_types_with_the_same_members_become_one() -> None:
    ir = _types(RequestParamsMeta="Meta", ElicitRequestFormParamsMeta="Meta")
    assert [str(type_.name) for type_ in ir.types].count("Meta") == 1
    assert len(ir.types) == len(ours().types) - 1


def test_a_member_has_another_name_in_python_and_the_same_on_the_wire() -> None:
    members = {"Tool.inputSchema": "arguments", "ListToolsResult.tools": "found"}
    ir = _own({"members": {REVISION: members}})
    fields = {field.wire: field.name for field in _object(ir, "Tool").fields}
    assert fields["inputSchema"] == "arguments"
    (listing,) = [method for method in ir.methods if method.method == "tools/list"]
    assert listing.list_member == "tools"


def test_a_project_says_which_types_are_open_by_its_own_names() -> None:
    ir = _own({"types": {REVISION: {"Tool": "Utility"}}, "open": {REVISION: ["Utility"]}})
    found = [str(type_.name) for type_ in ir.types if isinstance(type_, ObjectIR) and type_.open]
    assert found == ["Utility"]


def test_a_file_without_names_for_a_revision_changes_nothing() -> None:
    assert names_for(REVISION, _options_with(b'{"types": {"2026-07-28": {}}}')) is None
    assert names_for(REVISION, GenerationOptions((REVISION,))) is None


WRONG: tuple[tuple[Any, str, str, str], ...] = (
    ([], "bad-names", "", "modules, types, members, open"),
    ({"type": {}}, "bad-names", "/type", "did you mean types"),
    ({"types": []}, "bad-names", "/types", ""),
    ({"types": {"2025-11-26": {}}}, "bad-names", "/types/2025-11-26", REVISION),
    ({"types": {REVISION: []}}, "bad-names", f"/types/{REVISION}", ""),
    ({"types": {REVISION: {"Tool": 1}}}, "bad-names", f"/types/{REVISION}/Tool", ""),
    ({"modules": {REVISION: 1}}, "bad-names", f"/modules/{REVISION}", ""),
    ({"open": {REVISION: "Tool"}}, "bad-names", f"/open/{REVISION}", ""),
    ({"types": {REVISION: {"Tol": "A"}}}, "bad-names", f"/types/{REVISION}/Tol", "mean Tool"),
    (
        {"members": {REVISION: {"Tool.inputSchem": "a"}}},
        *("bad-names", f"/members/{REVISION}/Tool.inputSchem", "Tool.inputSchema"),
    ),
    (
        {"members": {REVISION: {"TextContent.type": "kind"}}},
        *("bad-names", f"/members/{REVISION}/TextContent.type", ""),
    ),
    ({"open": {REVISION: ["Tol"]}}, "bad-names", f"/open/{REVISION}/0", "mean Tool"),
    ({"types": {REVISION: {"Tool": "tool"}}}, "unsafe-name", f"/types/{REVISION}/Tool", ""),
    ({"types": {REVISION: {"Tool": "Any"}}}, "unsafe-name", f"/types/{REVISION}/Tool", ""),
    ({"types": {REVISION: {"Tool": "A b"}}}, "unsafe-name", f"/types/{REVISION}/Tool", ""),
    (
        {"members": {REVISION: {"Tool.name": "class"}}},
        *("unsafe-name", f"/members/{REVISION}/Tool.name", ""),
    ),
    (
        {"members": {REVISION: {"Tool.name": "model_name"}}},
        *("unsafe-name", f"/members/{REVISION}/Tool.name", ""),
    ),
    ({"modules": {REVISION: "../x"}}, "unsafe-name", f"/modules/{REVISION}", ""),
    ({"modules": {REVISION: "__init__"}}, "unsafe-name", f"/modules/{REVISION}", ""),
    ({"types": {REVISION: {"Tool": "Prompt"}}}, "name-collision", f"/types/{REVISION}/Tool", ""),
    (
        {"members": {REVISION: {"Tool.name": "title"}}},
        *("name-collision", f"/members/{REVISION}", ""),
    ),
)


def test_each_mistake_is_reported_with_its_place_in_the_file() -> None:
    for document, code, pointer, hint in WRONG:
        with case(document), pytest.raises(ProblemError) as raised:
            _own(document)
        (problem,) = raised.value.problems
        with case(document):
            assert (problem.code, problem.place, problem.pointer) == (code, "names.json", pointer)
            assert hint in problem.hint


def test_package_with_own_names_is_of_one_revision_without_extensions() -> None:
    other = "2025-06-18"
    kept = read_inputs(GenerationOptions((other,))).revisions
    extension = next(iter(load_extension_pins()))
    for name, options in {
        "two revisions": _options_with(b"{}")._replace(revisions=(REVISION, other)),
        "a kept revision": _options_with(b"{}")._replace(kept=kept),
        "an extension": _options_with(b"{}")._replace(extensions={extension: None}),
    }.items():
        with case(name), pytest.raises(ProblemError) as refused:
            generate(options)
        assert [problem.code for problem in refused.value.problems] == ["conflicting-options"]
