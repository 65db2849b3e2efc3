"""Vectors of extensions: their subjects, their files, and unknown names."""

import json
from pathlib import Path

from mcp_protogen.pipeline.inputs.pins import extensions_folder, snapshot_file
from support import formats
from support.running import Run
from support.vectors.vector_sets import GOLDEN, vectors

TASKS = vectors("2026-07-28+tasks")


def test_extension_vectors_cover_its_types_messages_and_results() -> None:
    types = {vector.subject.type for vector in TASKS.vectors}
    assert {"CreateTaskResult", "Task"} < types and not types & {"Tool", "Result", "JSONRPCRequest"}
    messages = {str(v.subject) for v in TASKS.vectors if v.subject.method}
    assert {"tasks/get:result:server", "notifications/tasks:notification:server"} < messages
    assert {m for m in messages if "tasks" not in m} == {"tools/call:result:server"}
    text = [json.dumps(v.value) for v in TASKS.vectors if v.subject.method == "tools/call"]
    for kind in ("task", "complete"):
        assert any(f'"resultType": "{kind}"' in line for line in text)


def test_extension_vectors_are_file_beside_revisions(mcp_gen: Run) -> None:
    assert mcp_gen("vectors", "--extension", "tasks", "--out", "vectors").code == 0
    assert {file.name for file in Path("vectors").iterdir()} == {
        *("2026-07-28+tasks.json", "vectors.schema.json"),
    }
    text = Path("vectors/2026-07-28+tasks.json").read_text()
    assert formats.faults("vectors", text) == [] and json.loads(text)["extension"] == "tasks"
    again = mcp_gen("vectors", "--extension", "tasks", "--out", "vectors", "--check")
    assert again.code == 0 and "up to date" in again.out


def test_a_schema_of_ones_own_takes_the_place_of_the_pin(mcp_gen: Run) -> None:
    schema = json.loads(snapshot_file("tasks", extensions_folder()).read_text())
    schema["$defs"]["TaskStatus"] = {"enum": ["working", "paused"], "type": "string"}
    Path("mine.json").write_text(json.dumps(schema))
    ran = mcp_gen("vectors", "--extension", "tasks=mine.json", "--type", "TaskStatus")
    assert ran.code == 0 and '"value":"paused"' in ran.out


def test_a_program_is_told_the_extension_and_tried_with_it(mcp_gen: Run) -> None:
    command = " ".join(GOLDEN)
    ran = mcp_gen("vectors", "--extension", "tasks", "--run-command", command, "--type", "Task")
    assert ran.code == 0 and "mcp_revisions" in ran.out and "2026-07-28+tasks" in ran.out


def test_extensions_that_nothing_can_be_made_of_are_refused(mcp_gen: Run) -> None:
    for said, code in (
        (("--extension", "task"), "unknown-extension"),
        (("--extension", "tasks", "--revision", "2025-11-25"), "unbound-extension"),
        (("--extension", "all", "--revision", "2024-11-05"), "unbound-extension"),
        (("--extension", "tasks", "--type", "Tool"), "unknown-subject"),
        (("--extension", "none"), "conflicting-options"),
        (("--extension", "tasks,skills", "--format", "json"), "conflicting-options"),
    ):
        ran = mcp_gen("vectors", *said)
        assert ran.code == 2 and f"error[{code}]" in ran.err
