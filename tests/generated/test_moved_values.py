"""Values that moved: a made-up revision with results and tools of another shape, to all others."""

import json
from functools import cache
from itertools import permutations
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.patch_fit import apply_fitting
from mcp_protogen.pipeline.plans.tables import PairTables, all_tables
from mcp_protogen.runtime.core.errors import Untranslatable
from mcp_protogen.runtime.translation.translator import Translator
from support import tables as rows
from support.generated.instances import Instances
from support.generated.moved_results import options_with_outputs
from support.generated.next_revision import NEXT
from support.generated.translations import unnamed_losses
from support.revisions import REVISIONS

Json = dict[str, Any]

OPTIONS = options_with_outputs()
PAIRS = tuple(pair for pair in permutations(OPTIONS.revisions, 2) if NEXT in pair)
TYPES = ("CallToolResult", "Tool", "ListToolsResult")
OLD, BEFORE = REVISIONS[0], REVISIONS[-1]


@cache
def schema(revision: str) -> Json:
    """Return the schema of a revision with its patches."""
    source = sources.load(revision, OPTIONS)
    return apply_fitting(source.schema, source.patches, source.patches_place).schema


@cache
def steps() -> tuple[PairTables, ...]:
    loaded = {name: derive_revision(sources.load(name, OPTIONS)).ir for name in OPTIONS.revisions}
    return all_tables(loaded, OPTIONS)


@cache
def translator(source: str, destination: str) -> Translator:
    """Return the translator of a package with the made-up revision, without generating it."""
    older, newer = sorted((source, destination))
    between = [step for step in steps() if older < step.newer.id <= newer]
    directions = [step.down for step in between][::-1]
    if source == older:
        directions = [step.up for step in between]
    made = Translator(directions[-1])
    for direction in directions[-2::-1]:
        made = Translator(direction, made)
    return made


@cache
def validator(revision: str, name: str) -> Any:
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema(revision)["$defs"]})


@pytest.mark.parametrize(("source", "destination"), PAIRS)
@pytest.mark.parametrize("name", TYPES)
def test_moved_values_are_valid_there_and_what_is_lost_is_named(
    name: str, source: str, destination: str
) -> None:
    for value in Instances(schema(source)).some(f"/$defs/{name}", rows.count(20, 100)):
        try:
            outcome = translator(source, destination).translate(value, name)
        except Untranslatable:
            continue
        assert [*validator(destination, name).iter_errors(outcome.value)] == [], value
        is_newer = '"outputs"' in (text := json.dumps(outcome.value)) or "outputVariants" in text
        assert destination == NEXT or not is_newer, value
        assert unnamed_losses(value, outcome) == [], f"{value}, {outcome}"
        places = [(loss.pointer, loss.what) for loss in outcome.losses]
        assert len(places) == len({*places})


def translate(value: Json, source: str, destination: str, name: str = "CallToolResult") -> Any:
    outcome = translator(source, destination).translate(value, name)
    lost = [(loss.pointer, loss.what) for loss in outcome.losses if not loss.harmless]
    return outcome.value, lost


def test_value_that_a_newer_rule_makes_is_translated_by_older_ones() -> None:
    audio = {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"}
    outputs = [{"kind": "content", "content": [audio]}, {"kind": "structured", "value": [1, 2]}]
    value, lost = translate({"resultType": "complete", "outputs": outputs}, NEXT, OLD)
    assert [block["type"] for block in value["content"]] == ["resource", "text"]
    assert value["content"][1]["text"] == "[1,2]"
    assert lost == [("/structuredContent", "replaced"), ("/content/0", "replaced")]
    value, lost = translate({"resultType": "complete", "outputs": outputs}, NEXT, "2025-11-25")
    assert value["structuredContent"] == {"result": [1, 2]}
    assert lost == []


def test_second_entry_and_untaken_parts_are_lost_once_each() -> None:
    outputs: list[Json] = [
        {"kind": "content", "content": [], "x": 1},
        {"kind": "content", "content": []},
        {"kind": "graph"},
    ]
    value, lost = translate({"resultType": "complete", "outputs": outputs}, NEXT, BEFORE)
    assert value == {"resultType": "complete", "content": []}
    assert lost == [
        ("/outputs/1/content", "dropped"),
        ("/outputs/0/x", "dropped"),
        ("/outputs/2", "dropped"),
    ]


def test_required_member_that_nothing_fills_gets_the_value_of_the_rule() -> None:
    structured = {"kind": "structured", "value": {"a": 1}}
    value, lost = translate({"resultType": "complete", "outputs": [structured]}, NEXT, BEFORE)
    assert value["structuredContent"] == {"a": 1}
    assert value["content"] == [{"type": "text", "text": '{"a":1}'}]
    assert lost == []
    assert translate({"resultType": "complete", "outputs": []}, NEXT, BEFORE)[0]["content"] == []


def test_values_move_into_what_is_added() -> None:
    objects: Json = {"type": "object"}
    tool: Json = {"name": "t", "inputSchema": objects}
    plain, _ = translate(tool, BEFORE, NEXT, "Tool")
    assert plain["outputVariants"] == {"content": {"kind": "content"}}
    typed, _ = translate({**tool, "outputSchema": objects}, BEFORE, NEXT, "Tool")
    structured = {"kind": "structured", "schema": objects}
    assert typed["outputVariants"] == {**plain["outputVariants"], "structured": structured}
    back, lost = translate(typed, NEXT, BEFORE, "Tool")
    assert (back, lost) == ({**tool, "outputSchema": objects}, [])
