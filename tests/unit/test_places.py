"""Places of values: facts that fit the types of a revision, and those that do not."""

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from mcp_protogen.base.jsonvalue import merge_patch
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
from support.generated.moved_results import (
    NAMES,
    PAGE,
    facts_of_outputs,
    publish_outputs,
    with_outputs,
)
from support.revisions import OLD, REVISIONS, STATELESS
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
            "it must be a member, without objects or entries around it",
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


PLACES_IN = {
    "tools/call": ["tool_content", "tool_structured", "tool_error"],
    "tools/list": ["tool_output_schema"],
}


def rename_method(source: RevisionSource, old: str, new: str) -> RevisionSource:
    """Return a source with another name for a method in its schema and facts."""
    schema, document = (
        json.loads(json.dumps(part).replace(f'"{old}"', f'"{new}"'))
        for part in (source.schema, source.facts.document)
    )
    return replace(source, schema=schema, facts=replace(source.facts, document=document))


@pytest.mark.parametrize("method", PLACES_IN)
def test_renamed_method_keeps_its_places(method: str) -> None:
    source = sources.load(STATELESS, GenerationOptions((STATELESS,)))
    usual = derive_revision(source).ir.places
    renamed = rename_method(source, method, "tools/other")
    facts = replace(renamed.facts, first_names={"tools/other": method})
    derived = derive_revision(replace(renamed, facts=facts))
    assert (derived.ir.places, derived.warnings) == (usual, ())
    shown = SchemaFacts(
        STATELESS, normalise_revision(renamed)[0], renamed.schema, names={method: "tools/other"}
    )
    stated = renamed.facts.document["places"]
    assert places(stated, shown) == stated


@pytest.mark.parametrize("method", PLACES_IN)
def test_places_in_a_method_that_is_gone_are_reported(method: str) -> None:
    source = sources.load(STATELESS, GenerationOptions((STATELESS,)))
    renamed = rename_method(source, method, "tools/other")
    expected = [
        ("facts-disagree", f"/places/{place}", f"the schema has no request {method}")
        for place in PLACES_IN[method]
    ]
    with pytest.raises(ProblemError) as refused:
        derive_revision(renamed)
    problems = refused.value.problems
    assert [(p.code, p.pointer, p.message) for p in problems] == expected
    assert all("`became`" in p.hint for p in problems)
    borrowed = replace(renamed, facts=replace(renamed.facts, origin="another"))
    warnings = derive_revision(borrowed).warnings
    assert [(p.code, p.pointer, p.message) for p in warnings if "/places/" in p.pointer] == expected
    none = dict.fromkeys(PLACES_IN[method])
    document = {**renamed.facts.document, "places": renamed.facts.document["places"] | none}
    derived = derive_revision(replace(renamed, facts=replace(renamed.facts, document=document)))
    assert derived.warnings == ()
    assert derived.ir.places.item == ("Tool" if method == "tools/call" else "")


REQUESTED = "requestedOutputs[kind=content]"
OUTPUTS = {
    "tool_content": "outputs[kind=content].content",
    "tool_structured": "outputs[kind=structured].value",
    "tool_content_variant": "outputVariants[kind=content]",
    "tool_output_schema": "outputVariants[kind=structured].schema",
}


@pytest.mark.parametrize(
    ("place", "path", "message"),
    [
        ("requested_outputs", "requested[kind=content]", "'requested' is not a member"),
        ("requested_outputs", "requestedOutputs[kind=image]", "no entry has kind=image"),
        ("requested_outputs", "requestedOutputs", "it must be an entry, which its constants"),
        ("tool_content", "outputs", "tool_content leads through no array of outputs"),
    ],
)
def test_requested_outputs_that_do_not_fit_are_refused(place: str, path: str, message: str) -> None:
    source = sources.load(STATELESS, GenerationOptions((STATELESS,)))
    document = merge_patch(source.facts.document, facts_of_outputs(STATELESS))
    paths = {**OUTPUTS, "requested_outputs": REQUESTED, place: path}
    document["places"] |= {name: {"path": path, "source": PAGE} for name, path in paths.items()}
    first_names = {new: old for old, new in NAMES.items()}
    facts = replace(source.facts, document=document, first_names=first_names)
    schema = publish_outputs()
    with pytest.raises(ProblemError) as refused:
        derive_revision(replace(source, schema=schema, facts=facts))
    (problem,) = (p for p in refused.value.problems if "/places/" in p.pointer)
    assert (problem.pointer, message in problem.message) == ("/places/requested_outputs", True)


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
    shown = SchemaFacts(STATELESS, normalise_revision(source)[0], source.schema)
    stated = source.facts.document["places"]
    assert places(stated, shown) == stated
    shown = SchemaFacts(STATELESS, normalise_revision(moved)[0], moved.schema)
    lost = ("tool_content", "tool_structured", "tool_output_schema")
    undecided = {"path": TODO, "source": TODO}
    assert places(stated, shown) == {**stated, **dict.fromkeys(lost, undecided)}


def test_draft_asks_where_requests_name_a_task_if_one_lost_the_member() -> None:
    source = sources.load(OLD, GenerationOptions((OLD,)))
    stated = source.facts.document["places"]
    schema = deepcopy(source.schema)
    params = schema["$defs"]["GetTaskRequest"]["properties"]["params"]
    params["properties"]["id"] = params["properties"].pop("taskId")
    params["required"] = ["id"]
    moved = replace(source, schema=schema, patches=())
    for changed, expected in ((source, stated["task_id"]), (moved, {"path": TODO, "source": TODO})):
        shown = SchemaFacts(OLD, normalise_revision(changed)[0], changed.schema)
        assert places(stated, shown) == {**stated, "task_id": expected}


def test_lists_without_a_cursor_are_not_walked() -> None:
    ir = derive_with(STATELESS, next_cursor=None).ir
    assert ir.places.next_cursor == ""
    assert not any(method.items for method in ir.methods)
