"""Places of values: facts that fit the types of a revision, and those that do not."""

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.drafts.method_facts import SchemaFacts
from mcp_protogen.instep.drafts.types import places
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import (
    DerivedRevision,
    derive_revision,
    normalise_revision,
)
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.inputs.todo import TODO
from mcp_protogen.runtime.core.value_paths import ToolPlaces
from support.generated.moved_results import with_outputs
from support.revisions import REVISIONS, STATELESS
from support.tables import case

STRUCTURED_SINCE = "2025-06-18"


def derive_with(revision: str, **paths: str | None) -> DerivedRevision:
    """Derive a revision with other paths in its facts."""
    source = sources.load(revision, GenerationOptions((revision,)))
    places: dict[str, Any] = dict(source.facts.document["places"])
    for place, path in paths.items():
        places[place] = path and {"path": path, "source": "schema.ts"}
    document = {**source.facts.document, "places": places}
    return derive_revision(replace(source, facts=replace(source.facts, document=document)))


def refusal(revision: str, **paths: str | None) -> list[Problem]:
    with pytest.raises(ProblemError) as refused:
        derive_with(revision, **paths)
    return list(refused.value.problems)


def test_results_are_structured_from_one_revision_on() -> None:
    for revision in REVISIONS:
        with case(revision):
            places = derive_with(revision).ir.places
            is_structured = revision >= STRUCTURED_SINCE
            usual = ToolPlaces()
            assert places.tool == (usual if is_structured else usual._replace(structured=None))
            assert places.output_schema == (("outputSchema",) if is_structured else None)
            assert (places.cursor, places.next_cursor) == ("cursor", "nextCursor")


@pytest.mark.parametrize(
    ("place", "path", "message"),
    [
        ("tool_content", "outputs", "CallToolResult: 'outputs' is not a member"),
        ("tool_content", "isError", "CallToolResult: isError is a boolean"),
        ("tool_structured", "content.x", "CallToolResult: 'x' is not a member"),
        ("tool_error", "content", "CallToolResult: content is an array of ContentBlock"),
        ("tool_output_schema", "schema", "Tool: 'schema' is not a member"),
        (
            "tool_content_variant",
            "inputSchema",
            "it must be an entry, which its constants describe",
        ),
        ("cursor", "page", "PaginatedRequestParams: 'page' is not a member"),
        ("next_cursor", "ttlMs", "ListPromptsResult: ttlMs is an integer"),
        (
            "next_cursor",
            "prompts[name=a].name",
            "lists can only have their cursors in members of params and pages",
        ),
    ],
)
def test_path_that_does_not_fit_is_refused(place: str, path: str, message: str) -> None:
    (problem,) = refusal(STATELESS, **{place: path})
    assert problem.code == "facts-disagree"
    assert (problem.place, problem.pointer) == (
        f"schema/{STATELESS}/facts.json",
        f"/places/{place}",
    )
    assert problem.message == message


def test_result_without_any_value_is_refused() -> None:
    (problem,) = refusal(STATELESS, tool_content=None, tool_structured=None)
    assert problem.message == "nothing says where CallToolResult has the value of a tool"
    assert problem.pointer == "/places/tool_content"


def rename_method(source: RevisionSource, old: str, new: str) -> RevisionSource:
    """Return a source whose schema and facts have another name for a method."""
    schema, document = (
        json.loads(json.dumps(part).replace(f'"{old}"', f'"{new}"'))
        for part in (source.schema, source.facts.document)
    )
    facts = replace(source.facts, document=document)
    return replace(source, schema=schema, facts=facts)


OF_METHODS = {
    "tools/call": ("tool_content", "tool_structured", "tool_error"),
    "tools/list": ("tool_output_schema",),
}


@pytest.mark.parametrize("method", OF_METHODS)
def test_places_in_results_of_a_method_that_is_gone_are_reported(method: str) -> None:
    source = sources.load(STATELESS, GenerationOptions((STATELESS,)))
    renamed = rename_method(source, method, "tools/other")
    expected = [
        ("facts-disagree", f"/places/{name}", f"the schema has no method {method}")
        for name in OF_METHODS[method]
    ]
    with pytest.raises(ProblemError) as refused:
        derive_revision(renamed)
    problems = refused.value.problems
    assert [(p.code, p.pointer, p.message) for p in problems] == expected
    assert all(p.hint.startswith("write null") for p in problems)
    borrowed = replace(renamed, facts=replace(renamed.facts, origin="another"))
    warnings = derive_revision(borrowed).warnings
    found = [(p.code, p.pointer, p.message) for p in warnings if "/places/" in p.pointer]
    assert found == expected
    shown = SchemaFacts(STATELESS, normalise_revision(renamed)[0], renamed.schema)
    drafted = places(renamed.facts.document["places"], shown)
    assert {name for name in drafted if drafted[name]["path"] == TODO} == {*OF_METHODS[method]}
    stated = {**renamed.facts.document["places"], **dict.fromkeys(OF_METHODS[method])}
    without = replace(renamed.facts, document={**renamed.facts.document, "places": stated})
    assert derive_revision(replace(renamed, facts=without)).warnings == ()


def test_result_may_lack_the_other_places() -> None:
    bare = derive_with(STATELESS, tool_structured=None, tool_error=None, tool_output_schema=None)
    assert bare.ir.places.tool == ToolPlaces(structured=None, error=None)
    assert bare.ir.places.output_schema is None
    only_structured = derive_with(STATELESS, tool_content=None).ir.places.tool
    assert only_structured == ToolPlaces(content=None)


def test_undecided_path_is_not_a_contradiction() -> None:
    assert (
        derive_with(STATELESS, tool_content="TODO", tool_structured="TODO").ir.places.tool is None
    )
    found = derive_with(STATELESS, tool_structured="TODO").ir.places.tool
    assert found == ToolPlaces(structured=None)


def test_draft_asks_for_each_place_that_the_schema_lost() -> None:
    source = sources.load(STATELESS, GenerationOptions((STATELESS,)))
    moved = replace(source, schema=with_outputs(deepcopy(source.schema)), patches=())
    stated = source.facts.document["places"]
    undecided = {"path": TODO, "source": TODO}
    lost = ("tool_content", "tool_structured", "tool_output_schema")
    for drafted, expected in ((source, {}), (moved, dict.fromkeys(lost, undecided))):
        shown = SchemaFacts(STATELESS, normalise_revision(drafted)[0], drafted.schema)
        assert places(stated, shown) == {**stated, **expected}


def test_lists_without_a_cursor_are_not_walked() -> None:
    ir = derive_with(STATELESS, next_cursor=None).ir
    assert ir.places.next_cursor == ""
    assert not any(method.items for method in ir.methods)
