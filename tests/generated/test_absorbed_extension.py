"""A revision that made an extension part of its core: its draft, its facts and its package."""

import json
import shutil
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.drafts.drafting import draft, write
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.vectors.subjects import topics
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs.absorbed import merge_facts
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.pinned_extensions import absorbing_revision
from mcp_protogen.pipeline.inputs.sources import load_pinned
from support import missing
from support.generated.absorbing_revision import (
    ABSORBED,
    ABSORBING,
    draft_in,
    write_package,
)
from support.generated.schema_folders import decide
from support.tables import case

Json = dict[str, Any]


@pytest.fixture(scope="module")
def draft_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only schema folder with the draft of the revision."""
    return draft_in(tmp_path_factory.mktemp("drafted"))


@pytest.fixture(scope="module")
def decided_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a read-only schema folder without open decisions."""
    folder = draft_in(tmp_path_factory.mktemp("decided"))
    decide(folder, ABSORBING)
    write(ABSORBING, folder)
    return folder


def read(folder: Path, *path: str) -> Json:
    document: Json = json.loads(folder.joinpath(*path).read_bytes())
    return document


def change_facts(folder: Path, absorbs: Json) -> None:
    file = folder / ABSORBING / "facts.json"
    file.write_text(json.dumps({**json.loads(file.read_bytes()), "absorbs": absorbs}))


def test_an_extension_is_recognised_by_its_messages(draft_folder: Path) -> None:
    facts = read(draft_folder, ABSORBING, "facts.json")
    assert facts["absorbs"] == {ABSORBED: {"source": "TODO"}}
    # All else about its methods follows from its own facts.
    assert "methods" not in facts and "enums" not in facts


def test_a_draft_asks_nothing_that_the_facts_of_the_extension_say(draft_folder: Path) -> None:
    made = draft(ABSORBING, draft_folder)
    asked = Counter(problem.pointer.split("/")[1] for problem in made.undecided)
    # The order of arms and the marks of types are in no file of the extension.
    assert asked.keys() == {"absorbs", "capabilities", "types", "unions"}
    assert sum(asked.values()) <= 12 and not made.contradictions


def test_a_published_form_of_the_move_is_recognised_too(tmp_path: Path) -> None:
    case_file = missing.reference(
        "cases/next-revision/tasks-in-core.schema.json", "the case of an extension that moved"
    )
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    add(ABSORBING, case_file.read_bytes(), Origin(), case_file.name, folder)
    made = write(ABSORBING, folder)
    facts = read(folder, ABSORBING, "facts.json")
    assert [*facts["absorbs"]] == [ABSORBED] and "methods" not in facts
    assert len(made.undecided) <= 12


def test_patches_of_the_extension_are_entries_of_the_draft(draft_folder: Path) -> None:
    entries = read(draft_folder, ABSORBING, "patches.json")["patches"]
    theirs = read(draft_folder, "extensions", ABSORBED, "patches.json")["patches"]
    gone = {entry["pointer"] for entry in theirs if "TasksExtensionCapability" in entry["pointer"]}
    pointers = {entry["pointer"] for entry in theirs} - gone
    assert pointers <= {entry["pointer"] for entry in entries}


def test_a_decided_draft_leaves_nothing_open_and_does_not_change(decided_folder: Path) -> None:
    made = draft(ABSORBING, decided_folder)
    assert not made.undecided and not made.changed


def test_a_person_can_say_that_an_extension_is_something_else(tmp_path: Path) -> None:
    folder = draft_in(tmp_path)
    change_facts(folder, {ABSORBED: None})
    write(ABSORBING, folder)
    facts = read(folder, ABSORBING, "facts.json")
    assert facts["absorbs"] == {ABSORBED: None}
    assert facts["methods"]["tasks/update"]["source"] == "TODO"


def test_an_absorbed_extension_without_facts_is_refused_with_its_place(tmp_path: Path) -> None:
    folder = draft_in(tmp_path)
    change_facts(folder, {"chores": {"source": "TODO"}})
    with pytest.raises(ProblemError, match="the extension 'chores' has no facts") as refused:
        load_pinned(ABSORBING, folder)
    (problem,) = refused.value.problems
    assert problem.code == "unknown-extension"
    assert (
        problem.place == f"schema/{ABSORBING}/facts.json" and problem.pointer == "/absorbs/chores"
    )


def test_an_extension_is_core_from_the_revision_that_absorbs_it(decided_folder: Path) -> None:
    assert absorbing_revision(ABSORBED, decided_folder) == ABSORBING
    assert absorbing_revision(ABSORBED) is None


def test_a_method_gets_each_result_that_an_absorbed_extension_adds(tmp_path: Path) -> None:
    extension = read(schema_folder(), "extensions", ABSORBED, "facts.json")
    (claim,) = extension["claims"]
    extension["claims"].append({**claim, "result_type": "other", "type": "OtherResult"})
    file = tmp_path / "extensions" / ABSORBED / "facts.json"
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(extension))
    inherited: Json = {"methods": {claim["method"]: {"results": ["CallToolResult"]}}}
    own: Json = {"absorbs": {ABSORBED: {"source": "server/tools"}}}
    facts = merge_facts(inherited, own, ABSORBING, tmp_path)
    results = ["CallToolResult", claim["type"], "OtherResult"]
    assert facts["methods"][claim["method"]]["results"] == results
    assert facts["rules"]["result_type"]["values"] == [claim["result_type"], "other"]


def test_methods_and_types_of_the_extension_are_those_of_the_core(decided_folder: Path) -> None:
    ir = derive_revision(load_pinned(ABSORBING, decided_folder)).ir
    assert ir.absorbs == ("io.modelcontextprotocol/tasks",)
    methods = {method.method: method for method in ir.methods}
    for name in ("tasks/get", "tasks/update", "tasks/cancel", "notifications/tasks"):
        with case(name):
            assert methods[name].since == ABSORBING and methods[name].doc
            assert [need for need in methods[name].requires if need.level == "MUST"] == []
    assert methods["tools/call"].results == (
        "CallToolResult",
        "CreateTaskResult",
        "InputRequiredResult",
    )
    assert methods["tools/call"].traits == ("cancellable", "may_require_input")
    assert methods["tasks/update"].traits == ("cancellable",)
    assert {"CompletedTask", "GetTaskResultWorking"} <= {str(type_.name) for type_ in ir.types}


def test_test_vectors_have_the_union_as_the_result_of_a_method(decided_folder: Path) -> None:
    source = load_pinned(ABSORBING, decided_folder)
    subjects = topics(source.apply_patches(), derive_revision(source).ir)
    (result,) = (
        topic.schema["allOf"][-1]["properties"]["result"]
        for topic in subjects
        if (topic.subject.method, topic.subject.kind) == ("tasks/get", "result")
    )
    assert result == {"$ref": "#/$defs/GetTaskResult"}


def test_a_change_of_the_extension_is_a_change_of_the_inputs(
    decided_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    options = GenerationOptions((ABSORBING,))
    folder = draft_in(tmp_path_factory.mktemp("changed"))
    decide(folder, ABSORBING)
    file = folder / "extensions" / ABSORBED / "facts.json"
    file.write_text(file.read_text().replace("Task to stop.", "The task to stop."))
    digests = [
        read_inputs(options, schema).revisions[ABSORBING].facts
        for schema in (decided_folder, folder)
    ]
    assert digests[0] != digests[1]


def test_the_package_has_the_types_in_the_core_and_a_client_that_waits(
    decided_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(decided_folder, tmp_path / "absorbing_alone", [ABSORBING])
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    package: Any = import_module("absorbing_alone")
    revision = package.load(ABSORBING)
    assert issubclass(revision.Client, package.TaskCalls)
    assert revision.models.CompletedTask and not hasattr(revision, "ext")
