"""`mcp-gen update --extension`: a schema of an extension that has moved, and moving its pin."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs.pins import extensions_folder, load_extension_pins, snapshot_file
from support import formats, tables
from support.running import Ran, Run

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Upstream:
    """A repository of an extension as a folder, and a schema folder whose pin is its file."""

    file: Path
    schema: Path
    run: Run

    def edit(self, change: Callable[[Json], object]) -> str:
        """Change the published file; return its digest."""
        document = json.loads(self.file.read_text())
        change(document["$defs"])
        self.file.write_text(json.dumps(document))
        return sha256(self.file.read_bytes()).hexdigest()

    def update(self, *more: str) -> Ran:
        """Look at the file, and perhaps accept it."""
        where = ("--source", "spec", "--schema-folder", str(self.schema))
        return self.run("update", "--extension", "tasks", *where, *more)


@pytest.fixture
def upstream(mcp_gen: Run, tmp_path: Path) -> Upstream:
    schema = Path(shutil.copytree(schema_folder(), tmp_path / "pins"))
    file = Path("spec/schema/draft/schema.json")
    file.parent.mkdir(parents=True)
    file.write_bytes(snapshot_file("tasks", extensions_folder()).read_bytes())
    made = Upstream(file, schema, mcp_gen)
    digest = made.edit(dict)
    assert made.update("--accept", digest).code == 0
    return made


def with_a_priority(types: Json) -> None:
    """Requests for a task may say how urgent they are."""
    types["GetTaskRequest"]["allOf"][1]["properties"]["params"]["properties"]["hurry"] = {
        "type": "boolean"
    }


def without_updates(types: Json) -> None:
    """No method answers questions of tasks."""
    del types["UpdateTaskRequest"]


def test_the_pinned_file_is_no_news(upstream: Upstream) -> None:
    ran = upstream.update()
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("nothing has moved: 1 extension at spec")


def test_a_file_that_moved_is_shown_with_what_follows(upstream: Upstream) -> None:
    digest = upstream.edit(with_a_priority)
    ran = upstream.update()
    assert ran.code == 1 and "tasks has moved" in ran.out
    assert "GetTaskRequest.params.hurry" in ran.out and "Tool" not in ran.out
    assert "patches: 3 still needed, 1 to write again" in ran.out
    assert "mcp-gen update --extension tasks --source spec" in ran.out
    assert f"--accept {digest[:12]}" in ran.out
    document = upstream.update("--format", "json")
    assert formats.faults("update", document.out) == []
    assert json.loads(document.out)["revisions"][0]["kind"] == "extension"


def test_failing_generation_is_reported_before_pin_moves(upstream: Upstream) -> None:
    upstream.edit(without_updates)
    ran = upstream.update()
    _, _, why = ran.out.partition("nothing can be generated from this schema")
    assert ran.code == 1 and "schema/extensions/tasks/facts.json#/methods/tasks~1update" in why


def test_packages_that_have_the_extension_are_named(upstream: Upstream) -> None:
    lock = Path("pkg/mcp-gen.lock")
    lock.parent.mkdir()
    golden = Path(__file__).parents[2] / "generated" / "mcp_revisions" / "mcp-gen.lock"
    lock.write_bytes(golden.read_bytes())
    upstream.edit(with_a_priority)
    out = upstream.update().out
    assert "pkg: made from an earlier publication" in out


def test_accepting_moves_the_pin_and_keeps_the_one_before(upstream: Upstream) -> None:
    before = load_extension_pins(upstream.schema)["tasks"]
    digest = upstream.edit(with_a_priority)
    ran = upstream.update("--accept", digest[:12], "--note", "How urgent it is.")
    assert ran.code == 0 and f"tasks is pinned to {digest[:12]}" in ran.out
    pin = load_extension_pins(upstream.schema)["tasks"]
    assert pin.published.sha256 == digest and pin.published.note == "How urgent it is."
    assert pin.history[-1].sha256 == before.published.sha256
    assert all("GetTaskRequest" in name for name in pin.published.changed) and pin.published.changed
    assert upstream.update().code == 0
    verified = upstream.run(
        *("schema", "verify", "--extension", "tasks"),
        *("--schema-folder", str(upstream.schema)),
    )
    assert verified.code == 0
    revisions = (upstream.schema / "pins.json").read_bytes()
    assert revisions == (schema_folder() / "pins.json").read_bytes()


def test_a_file_is_looked_for_at_the_path_of_its_pin_alone(mcp_gen: Run) -> None:
    path = load_extension_pins()["apps"].spec_path
    file = Path("spec") / path
    file.parent.mkdir(parents=True)
    file.write_bytes(snapshot_file("apps", extensions_folder()).read_bytes())
    ran = mcp_gen("update", "--extension", "apps", "--source", "spec")
    # Types outside its choice need no decision.
    assert ran.code == 1 and "apps has moved" in ran.out and "to decide" not in ran.out
    Path("empty").mkdir()
    ran = mcp_gen("update", "--extension", "apps", "--source", "empty")
    assert ran.code == 2 and f"it must contain {path}" in ran.err


def test_invalid_extension_arguments_are_single_problem(upstream: Upstream) -> None:
    for said, code in (
        (("--extension", "task"), "unknown-extension"),
        (("--extension", "skills"), "unknown-extension"),
        (("2025-11-25", "--extension", "tasks"), "conflicting-options"),
        (("--extension", "tasks", "--ignore", "draft"), "conflicting-options"),
    ):
        with tables.case(said):
            ran = upstream.run("update", *said, "--source", "spec")
            assert ran.code == 2 and f"error[{code}]" in ran.err
    upstream.file.unlink()
    ran = upstream.update()
    assert ran.code == 2 and "schema/draft/schema.json is missing here" in ran.err
