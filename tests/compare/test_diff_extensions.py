"""`mcp-gen diff` of extensions: with another version of themselves, and with the core."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.extensions import compared_extension
from mcp_protogen.instep.compare.revisions import compared_pin
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions
from mcp_protogen.pipeline.inputs.pins import extensions_folder, load_extension_pins, snapshot_file
from support import formats, tables
from support.running import Run

Json = dict[str, Any]


def find_changes(mcp_gen: Run, *sides: str) -> set[tuple[str, str]]:
    """The code and item of each change between two sides, in a report of the published format."""
    ran = mcp_gen("diff", *sides, "--format", "json")
    assert ran.code == 0 and formats.faults("comparison", ran.out) == []
    return {(change["code"], change["item"]) for change in json.loads(ran.out)["changes"]}


@pytest.fixture
def edited_extension() -> Path:
    """A version of the extension tasks: a method gone, a method and a member new."""
    schema = json.loads(snapshot_file("tasks", extensions_folder()).read_text())
    types: Json = schema["$defs"]
    del types["CancelTaskRequest"]
    types["PauseTaskRequest"] = {
        "type": "object",
        "properties": {"method": {"type": "string", "const": "tasks/pause"}},
    }
    types["Task"]["properties"]["priority"] = {"type": "integer"}
    file = Path("edited.json")
    file.write_text(json.dumps(schema))
    return file


def test_a_feature_of_the_core_is_compared_with_the_extension_it_became(mcp_gen: Run) -> None:
    changes = find_changes(mcp_gen, "2025-11-25", "tasks")
    assert changes >= {
        ("method-removed", "tasks/list"),
        ("method-removed", "tasks/result"),
        ("method-added", "tasks/update"),
        ("method-sender-removed", "tasks/get"),
        ("base-member-removed", "Task.ttl"),
        ("base-member-added", "Task.ttlMs"),
        ("field-removed-required", "CreateTaskResult.task"),
        ("field-removed", "CallToolRequest.params.task"),
        ("capability-removed", "server:tasks.requests.tools.call"),
        ("capability-added", "server:extensions.io.modelcontextprotocol/tasks"),
        ("gate-added", "tasks/cancel"),
        ("meta-key-removed", "io.modelcontextprotocol/related-task"),
    }
    assert {item for code, item in changes if code == "method-removed"} == {
        *("notifications/tasks/status", "tasks/list", "tasks/result"),
    }
    assert not any("Elicit" in item and "task" not in item for _, item in changes)
    back = find_changes(mcp_gen, "tasks", "2025-11-25")
    assert {("method-added", "tasks/list"), ("method-removed", "tasks/update")} <= back


def test_beside_the_revision_it_extends_an_extension_only_adds(mcp_gen: Run) -> None:
    codes = {code for code, _ in find_changes(mcp_gen, "2026-07-28", "tasks")}
    assert codes == {"method-added", "method-result-added", "capability-added", "type-added"}


def test_two_versions_of_an_extension_differ_in_nothing_else(
    mcp_gen: Run, edited_extension: Path
) -> None:
    pinned = Path("pinned.json")
    pinned.write_bytes(snapshot_file("tasks", extensions_folder()).read_bytes())
    assert (
        find_changes(mcp_gen, "tasks", "tasks")
        == find_changes(mcp_gen, "tasks", str(pinned))
        == set()
    )
    assert mcp_gen("diff", "tasks", str(pinned)).err == ""
    wanted = {
        ("method-removed", "tasks/cancel"),
        ("type-removed", "CancelTaskRequest"),
        ("type-added", "PauseTaskRequest"),
        ("base-member-added", "Task.priority"),
    }
    for side in (f"tasks={edited_extension}", str(edited_extension)):
        changes = find_changes(mcp_gen, "tasks", side)
        assert wanted <= changes
        assert all("ancel" in i or i == "Task.priority" or "Pause" in i for _, i in changes)
    ran = mcp_gen("diff", "tasks", str(edited_extension))
    assert "methods name CancelTaskRequest, which the schema does not have" in ran.err
    assert "tasks/pause has no facts: PauseTaskRequest is compared only as a type" in ran.err


def test_a_revision_in_a_file_is_no_version_of_the_extension(mcp_gen: Run) -> None:
    draft = json.loads(snapshot_file("2026-07-28").read_text())
    draft["$defs"]["Tool"]["properties"]["size"] = {"type": "integer"}
    Path("draft.json").write_text(json.dumps(draft))
    changes = find_changes(mcp_gen, "tasks", "draft.json")
    assert ("method-removed", "tasks/get") in changes
    assert not any("Tool" in item for _, item in changes)


def test_beside_another_revision_only_what_is_of_the_extension_is_compared(mcp_gen: Run) -> None:
    changes = find_changes(mcp_gen, "2025-11-25", "skills")
    assert ("method-added", "resources/directory/read") in changes
    assert not any(item.startswith(("Resource.", "resources/list")) for _, item in changes)
    assert ("method-removed", "resources/subscribe") not in changes
    declared = ("capability-added", "server:extensions.io.modelcontextprotocol/ui")
    assert declared in find_changes(mcp_gen, "2025-03-26", "apps")


def test_types_in_facts_are_compared_with_a_schema_in_a_file(mcp_gen: Run) -> None:
    Path("skills.json").write_text('{"$defs": {"SkillResource": {"type": "object"}}}')
    ran = mcp_gen("diff", "skills", "skills=skills.json", "--format", "json")
    changes = {(change["code"], change["item"]) for change in json.loads(ran.out)["changes"]}
    assert ("method-removed", "skills/list") in changes


def test_every_format_shows_the_extension(mcp_gen: Run) -> None:
    for format in ("text", "markdown", "github", "html"):
        page = mcp_gen("diff", "2025-11-25", "tasks", "--format", format, "--only", "breaking")
        assert page.code == 0 and "tasks/result" in page.out and "2025-11-25" in page.out
    assert "resources/subscribe" not in page.out and "tasks/update" in page.out


def test_extension_publications_are_named_like_revisions(mcp_gen: Run) -> None:
    digest = load_extension_pins()["tasks"].published.sha256
    assert find_changes(mcp_gen, f"tasks@{digest[:8]}", "tasks") == set()
    ran = mcp_gen("diff", "tasks@ffff", "tasks")
    assert ran.code == 2 and f"known: {digest[:8]} of 2026-08-21" in ran.err


def test_every_extension_adds_to_each_revision_that_it_extends(mcp_gen: Run) -> None:
    for extension in pinned_extensions():
        with tables.case(extension.name):
            codes = {
                code for code, _ in find_changes(mcp_gen, max(extension.revisions), extension.name)
            }
            assert codes and all(code.endswith("-added") for code in codes)


def test_incomparable_extensions_name_alternatives(mcp_gen: Run) -> None:
    ran = mcp_gen("diff", "tasks", "core")
    assert ran.code == 2 and "write the revision whose core you mean" in ran.err
    assert "did you mean tasks" in mcp_gen("diff", "2025-11-25", "task").err
    ran = mcp_gen("diff", "tasks", "apps")
    assert ran.code == 2 and "error[conflicting-options]: tasks and apps are two" in ran.err


def test_a_change_of_stage_is_named() -> None:
    before = compared_extension("tasks")
    assert before.extension is not None
    stable = replace(before, extension=replace(before.extension, stage="stable"))
    revision = compared_pin("2026-07-28")
    core = replace(revision, ir=replace(revision.ir, absorbs=(before.extension.identifier,)))
    for after, stage in ((stable, "stable"), (core, "core")):
        changes = compare_revisions(before, after).changes
        (change,) = (change for change in changes if change.code == "stage-changed")
        assert change.item == f"stage of {before.extension.identifier}"
        assert (change.before, change.after) == ("beta", stage)
