"""The parts that a schema without facts and patches inherits from a known revision."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import Level
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.inputs import facts, sources
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.patch_fit import apply_inherited
from mcp_protogen.pipeline.inputs.pins import load_pins, read_snapshot
from mcp_protogen.pipeline.ir import LiteralOf, ObjectIR

NAMES = ("draft", "2024-01-01", "2025-07-01", "2099-01-01")


def snapshot(revision: str) -> dict[str, Any]:
    schema: dict[str, Any] = parse_json(read_snapshot(revision), revision)
    return schema


def read(schema: Any, revision: str = "draft") -> DerivedRevision:
    given = GivenFile("given.json", json.dumps(schema).encode())
    source = sources.load(revision, GenerationOptions((revision,), {revision: given}))
    return derive_revision(source)


def test_a_schema_takes_after_the_revision_it_is_most_like_whatever_it_is_called() -> None:
    for published in load_pins():
        schema = snapshot(published)
        for name in NAMES:
            held = facts.facts_for(schema_folder(), name, schema)
            assert (held.origin, held.era) == (
                published,
                facts.load(schema_folder(), published).era,
            )


def test_a_schema_takes_after_one_that_opens_sessions_as_it_does() -> None:
    schema = snapshot("2026-07-28")
    discover = schema["$defs"]["DiscoverRequest"]["properties"]["method"]
    discover["const"] = "initialize"
    held = facts.facts_for(schema_folder(), "draft", schema)
    assert (held.origin, held.era) == ("2025-11-25", "handshake")


def test_how_sessions_open_is_as_the_schema_says_where_no_known_revision_opens_them_so(
    tmp_path: Path,
) -> None:
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    (folder / "2026-07-28" / "facts.json").unlink()
    schema = snapshot("2026-07-28")
    held = facts.facts_for(folder, "draft", schema)
    assert (held.origin, held.era) == ("2025-11-25", "stateless")
    given = GivenFile("given.json", json.dumps(schema).encode())
    found = read_inputs(GenerationOptions(("draft",), {"draft": given}), folder)
    assert found.revisions["draft"].era == "stateless"


def test_result_type_member_is_known_for_every_base() -> None:
    schema = snapshot("2025-11-25")
    for name in ("Result", "InitializeResult"):
        schema["$defs"][name]["properties"]["resultType"] = {"type": "string"}
        schema["$defs"][name].setdefault("required", []).append("resultType")
    derived = read(schema)
    assert derived.ir.rules.result_type_values == ("complete", "input_required")
    types = {str(type_.name): type_ for type_ in derived.ir.types}
    welcome = types["InitializeResult"]
    assert isinstance(welcome, ObjectIR)
    assert [field.default for field in welcome.fields if field.wire == "resultType"] == ["complete"]


def test_filled_members_are_known_for_every_base() -> None:
    schema = snapshot("2025-11-25")
    cacheable = {"ttlMs": {"type": "number"}, "cacheScope": {"enum": ["public", "private"]}}
    for name in ("CacheableResult", "ListToolsResult"):
        result = schema["$defs"].setdefault(name, {"type": "object", "properties": {}})
        result["properties"] |= cacheable
        result["required"] = [*result.get("required", ()), *cacheable]
    types = {str(type_.name): type_ for type_ in read(schema).ir.types}
    listed = types["ListToolsResult"]
    assert isinstance(listed, ObjectIR)
    filled = {field.wire: field.default for field in listed.fields if field.wire in cacheable}
    assert filled == {"ttlMs": 0, "cacheScope": "private"}


def test_inherited_patches_mend_remaining_faults() -> None:
    types = {str(type_.name): type_ for type_ in read(snapshot("2026-07-28")).ir.types}
    asked = types["InputRequiredResult"]
    assert isinstance(asked, ObjectIR)
    assert asked.any_of_required == ("inputRequests", "requestState")
    (kind,) = (field for field in asked.fields if field.wire == "resultType")
    assert kind.type == LiteralOf(("input_required",))


def test_inherited_patches_are_named_unless_done() -> None:
    schema = snapshot("2026-07-28")
    defs = schema["$defs"]
    defs["ClientNotification"] = {"$ref": "#/$defs/CancelledNotification"}  # done
    defs["JSONValue"]["anyOf"][2]["type"] = ["string", "boolean"]  # something else
    found = {
        (warning.code, warning.message.split()[0], warning.place)
        for warning in read(schema).warnings
    }
    place = "schema/draft/patches.json"
    kept = "/$defs/InputRequiredResult/properties/resultType/const"
    assert ("inherited-patch", kept, place) in found
    assert ("stale-patch", "/$defs/JSONValue/anyOf/2/type", place) in found
    assert not any(pointer == "/$defs/ClientNotification" for _, pointer, _ in found)


def test_own_facts_and_patches_of_what_an_edited_schema_lacks_are_left_out() -> None:
    schema = snapshot("2025-11-25")
    assert read(schema, "2025-11-25").warnings == ()
    gone = "ElicitationCompleteNotification"
    del schema["$defs"][gone]
    schema["$defs"]["ServerNotification"]["anyOf"].remove({"$ref": f"#/$defs/{gone}"})
    derived = read(schema, "2025-11-25")
    assert {warning.level for warning in derived.warnings} == {Level.WARNING}
    assert {(warning.code, warning.place, warning.pointer) for warning in derived.warnings} == {
        ("stale-patch", "schema/2025-11-25/patches.json", ""),
        *(
            (code, "schema/2025-11-25/facts.json", pointer)
            for code, pointer in (
                ("facts-disagree", "/methods/notifications~1elicitation~1complete"),
                ("unknown-type", "/unions/ServerNotification/arms/7"),
            )
        ),
    }
    assert "notifications/elicitation/complete" not in {m.method for m in derived.ir.methods}
    (pattern,) = (f"/$defs/{gone}" in w.message for w in derived.warnings if not w.pointer)
    assert pattern


def test_a_patch_that_refers_to_what_is_not_there_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "1").mkdir()
    entry = {"pointer": "/$defs/A/b", "now": {"$ref": "#/$defs/B"}, "reason": "Why.", "source": ""}
    (tmp_path / "1" / "patches.json").write_text(json.dumps({"patches": [entry]}))
    cases: list[tuple[dict[str, Any], int]] = [({"A": {}}, 0), ({"A": {}, "B": {}}, 1)]
    for definitions, kept in cases:
        mended = apply_inherited({"$defs": definitions}, tmp_path, "2", "1")
        assert len(mended.entries) == kept
        assert [note.level for note in mended.notes] == [Level.WARNING]


@pytest.mark.parametrize("file", ["patches", "facts"])
def test_inherited_revision_is_input(file: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    given = GivenFile("given.json", read_snapshot("2026-07-28"))
    options = GenerationOptions(("draft",), {"draft": given})
    before = read_inputs(options, folder).revisions["draft"]
    path = folder / "2026-07-28" / f"{file}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "extra": 1}))
    after = read_inputs(options, folder).revisions["draft"]
    assert {n for n in ("patches", "facts") if getattr(before, n) != getattr(after, n)} == {file}
