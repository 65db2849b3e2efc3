"""Extensions on the command line: named, recorded, compared, kept and removed."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.canonical import pretty, sha256
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.inheritance import add_bases
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs import sources
from mcp_protogen.pipeline.inputs.extensions import load
from mcp_protogen.pipeline.inputs.inputs import read_inputs
from mcp_protogen.pipeline.inputs.named_extensions import parse_extension_names
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.pins import extensions_folder, load_extension_pins, snapshot_file
from mcp_protogen.pipeline.normalise.extension_definitions import own_definitions
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.parts import DEFAULT
from mcp_protogen.scaffold.choices import ProjectKind, ProjectTransport
from mcp_protogen.scaffold.extensions import project_extensions
from mcp_protogen.scaffold.files import project_files
from support import formats, tables
from support.running import Run
from support.scaffold import projects

ONE = ("--revision", "2026-07-28", "--out", "pkg")
TASKS = (*ONE, "--extension", "tasks")
FILE = Path("pkg/v2026_07_28/ext/tasks/models.py")


def read_extensions() -> dict[str, Any]:
    """The extensions of the package, by a lock that follows its published format."""
    text = Path("pkg", LOCK_NAME).read_text()
    assert formats.faults("lock", text) == []
    found: dict[str, Any] = json.loads(text).get("extensions", {})
    return found


def own_schema(**more: Any) -> Path:
    """Return a user's own schema for tasks: the pinned one with additions."""
    file = snapshot_file("tasks", extensions_folder())
    mine = Path("mine.json")
    mine.write_bytes(pretty({**json.loads(file.read_text()), **more}))
    return mine


@pytest.fixture
def moving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make runs read a writable copy of the schema folder."""
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "moving"))
    for module in ("pipeline.inputs.inputs", "pipeline.inputs.pins"):
        monkeypatch.setattr(f"mcp_protogen.{module}.schema_folder", lambda: folder)
    return folder


def test_extensions_are_named_with_or_without_a_file() -> None:
    rows: list[tuple[list[str], dict[str, str | None]]] = [
        (["tasks"], {"tasks": None}),
        (["tasks, apps", "tasks"], {"tasks": None, "apps": None}),
        (["tasks=a,b=c.json"], {"tasks": "a,b=c.json"}),
        (["none"], {}),
        ([], {}),
    ]
    for said, found in rows:
        with tables.case(said):
            assert parse_extension_names(said) == found
    for wrong in (
        *(["none", "tasks"], ["tasks=a", "tasks=b"], ["tasks", "tasks=b"]),
        *(["tasks="], ["none=a"], ["all=a"]),
    ):
        with tables.case(wrong), pytest.raises(ProblemError, match="conflicting-options"):
            parse_extension_names(wrong)


@pytest.mark.usefixtures("little")
def test_names_that_cannot_be_generated_are_refused(mcp_gen: Run) -> None:
    for revision, said, code, more in (
        ("2026-07-28", "task", "unknown-extension", "did you mean tasks"),
        ("2026-07-28", "../x", "unsafe-name", "small letters"),
        ("2025-11-25", "tasks", "unbound-extension", "it extends 2026-07-28"),
        ("2026-07-28", "tasks=gone.json", "unreadable-source", "gone.json"),
        ("2026-07-28", "none,tasks", "conflicting-options", "tasks"),
    ):
        with tables.case(said):
            ran = mcp_gen("--revision", revision, "--extension", said, "--out", "pkg")
            assert ran.code == 2 and f"error[{code}]" in ran.err and more in ran.err
            assert not Path("pkg").exists()


@pytest.mark.usefixtures("little")
def test_a_package_keeps_its_extensions_until_they_are_pruned(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    without = Path("pkg", LOCK_NAME).read_bytes()
    ran = mcp_gen("--check", *TASKS)
    assert ran.code == 1 and ran.out.startswith("extension-added: tasks: ")
    assert f"create: {FILE.relative_to('pkg')}" in mcp_gen("--dry-run", *TASKS).out
    assert mcp_gen(*TASKS).code == 0
    assert mcp_gen(*ONE).code == 0 and mcp_gen(*ONE, "--extension", "none").code == 0
    assert read_extensions()["tasks"]["revisions"] == ["2026-07-28"] and FILE.is_file()
    for same in (("--check", *TASKS), ("--check", *ONE), ("sync", "pkg", "--check")):
        assert mcp_gen(*same).code == 0
    pruning = ("--prune", *ONE, "--extension", "none")
    ran = mcp_gen("--check", *pruning)
    assert ran.code == 1 and ran.out.startswith("extension-removed: tasks: ")
    FILE.write_text("edited")
    ran = mcp_gen(*pruning)
    assert ran.code == 2 and "error[edited-file]: pkg/v2026_07_28/ext/tasks" in ran.err
    assert mcp_gen(*pruning, "--force").code == 0
    assert Path("pkg", LOCK_NAME).read_bytes() == without and not FILE.parents[1].exists()


@pytest.mark.usefixtures("little")
def test_check_and_sync_go_by_the_extensions_in_pyproject(mcp_gen: Run) -> None:
    mcp_gen(*TASKS)
    for listed, extensions in (
        ("[]", set[str]()),
        ('["tasks"]', {"tasks"}),
        ('["all"]', {*extension_names()}),
    ):
        text = f'[tool.mcp-gen]\nout = "pkg"\nextensions = {listed}\n'
        Path("pyproject.toml").write_text(text)
        with tables.case(listed):
            assert mcp_gen("--check").code == 1
            assert mcp_gen("sync").code == 0 and read_extensions().keys() == extensions
            assert mcp_gen("--check").code == 0


@pytest.mark.usefixtures("little")
def test_an_extension_goes_with_the_last_revision_that_it_extends(mcp_gen: Run) -> None:
    mcp_gen(*TASKS)
    ran = mcp_gen("--prune", "--revision", "2025-11-25", "--out", "pkg")
    assert ran.code == 0 and read_extensions() == {} and not FILE.exists()


@pytest.mark.usefixtures("little")
def test_an_extension_from_a_file_is_kept_where_the_file_is_not(mcp_gen: Run) -> None:
    mine = own_schema(maxProperties=9)
    assert mcp_gen(*TASKS[:-1], f"tasks={mine}").code == 0
    made = read_extensions()["tasks"]
    assert (made["source"], made["published"]) == (str(mine), sha256(mine.read_bytes()))
    mine.rename("elsewhere.json")
    ran = mcp_gen("--check", "--regenerate", "--out", "pkg")
    assert ran.code == 0 and "compared with the lock alone: tasks" in ran.out
    assert mcp_gen("sync", "pkg").code == 0
    assert mcp_gen("--revision", "2025-11-25", "--out", "pkg").code == 0
    assert read_extensions()["tasks"] == made and FILE.is_file()
    ran = mcp_gen("--out", "pkg", "--with", "none", "--prune")
    assert "error[needs-schema]: extension 'tasks' was made from mine.json" in ran.err
    assert mcp_gen(*TASKS).code == 0 and read_extensions()["tasks"]["source"] == "pinned"


def test_a_package_has_all_that_its_kept_extension_needs() -> None:
    name = "server-card"  # documents are a condition of its modules
    options = GenerationOptions(("2026-07-28",), extensions={name: None})
    made = generate(options)
    kept = generate(
        options._replace(extensions={}, kept_extensions={name: made.inputs.extensions[name]})
    )
    own = "v2026_07_28/ext/server_card/"
    others = {file for file in made.files if not file.path.startswith(own)}
    assert {*kept.files} == others != {*made.files}


def test_an_extension_is_pinned_and_verified_like_a_revision(mcp_gen: Run) -> None:
    folder = ("--schema-folder", "schema")
    Path("one.json").write_text('{"$defs": {"A": {"type": "integer", "description": "Prose."}}}')
    Path("two.json").write_text('{"$defs": {"A": {"type": "number"}}}')
    add = ("schema", "add", "--extension", "mine", *folder)
    mcp_gen("schema", "add", "draft", "--from", "two.json", *folder)
    assert mcp_gen(*add, "--from", "one.json", "--date", "2030-01-02").code == 0
    place = extensions_folder(Path("schema"))
    assert formats.faults("pins", (place / "pins.json").read_bytes()) == []
    assert "Prose" not in snapshot_file("mine", place).read_text()
    assert mcp_gen(*add, "--from", "two.json", "--format", "json").code == 0
    pin = load_extension_pins(Path("schema"))["mine"]
    assert pin.published.changed == ("/$defs/A/type",)
    assert (pin.repository[-9:], pin.spec_path) == ("/ext-mine", "one.json")
    ran = mcp_gen("schema", "verify", "--format", "json", *folder)
    assert formats.faults("report", ran.out) == []
    assert json.loads(ran.out)["extensions"] == [{"extension": "mine", "genuine": True}]
    alone = ("schema", "verify", "--extension", "mine", *folder, "--against")
    assert mcp_gen(*alone, "two.json").out == "mine: the snapshot is two.json without its prose\n"
    assert "error[earlier-publication]" in mcp_gen(*alone, "one.json").err
    snapshot_file("mine", place).write_text("{}")
    ran = mcp_gen("schema", "verify", *folder)
    assert ran.code == 1 and "mcp-gen schema add --extension mine --from FILE" in ran.err


def test_schema_add_takes_revision_or_extension(mcp_gen: Run) -> None:
    Path("one.json").write_text('{"$defs": {}}')
    add = ("schema", "add", "--from", "one.json", "--schema-folder", "schema")
    for more, code in (
        ((), "conflicting-options"),
        (("draft", "--extension", "mine"), "conflicting-options"),
        (("--extension", "none"), "unsafe-name"),
        (("--extension", "Mine"), "unsafe-name"),
    ):
        with tables.case(more):
            ran = mcp_gen(*add, *more)
            assert ran.code == 2 and f"error[{code}]" in ran.err and not Path("schema").exists()


def test_an_extension_without_facts_is_listed_and_not_generated(mcp_gen: Run, moving: Path) -> None:
    Path("one.json").write_text('{"$defs": {}}')
    mcp_gen(
        *("schema", "add", "--extension", "mine", "--from", "one.json"),
        *("--schema-folder", str(moving)),
    )
    ran = mcp_gen("extensions", "--format", "json")
    assert formats.faults("report", ran.out) == []
    rows = {row["extension"]: row for row in json.loads(ran.out)["extensions"]}
    assert rows["tasks"]["identifier"] == "io.modelcontextprotocol/tasks"
    assert (rows["mine"]["identifier"], rows["mine"]["extends"]) == (None, [])
    assert "error[missing-facts]" in mcp_gen(*ONE, "--extension", "mine").err


def test_types_of_an_extension_are_in_its_facts_while_no_schema_is_published(
    mcp_gen: Run, moving: Path
) -> None:
    folder = ("--schema-folder", str(moving))
    ran = mcp_gen("extensions", "--format", "json")
    assert formats.faults("report", ran.out) == []
    rows = {row["extension"]: row for row in json.loads(ran.out)["extensions"]}
    identifier = "io.modelcontextprotocol/skills"
    assert rows["skills"] == {
        "extension": "skills", "identifier": identifier, "extends": ["2026-07-28"],
        "stage": "beta", "core_from": None
    }  # fmt: skip
    assert "skills       unpublished  " in mcp_gen("extensions").out
    said = "skills: no schema is published, so its facts have its types"
    assert said in mcp_gen("schema", "verify", *folder).out
    Path("one.json").write_text('{"$defs": {"A": {}}}')
    alone = ("schema", "verify", "--extension", "skills", *folder)
    assert mcp_gen(*alone).out == f"{said}\n"
    ran = mcp_gen(*alone, "--against", "one.json")
    assert ran.code == 1 and "error[unknown-publication]" in ran.err
    assert mcp_gen(*ONE, "--extension", "skills").code == 0
    made = read_extensions()["skills"]
    assert (made["source"], made["published"], made["schema"]) == ("pinned", "", "")
    assert mcp_gen("--check", *ONE, "--extension", "skills").code == 0
    # A later published schema replaces these types.
    mcp_gen("schema", "add", "--extension", "skills", "--from", "one.json", *folder)
    assert "error[facts-disagree]" in mcp_gen(*ONE, "--extension", "skills").err


def test_a_snapshot_that_is_not_the_pinned_one_is_not_read(moving: Path) -> None:
    file = snapshot_file("tasks", extensions_folder(moving))
    file.write_bytes(file.read_bytes() + b"\n")
    with pytest.raises(ProblemError, match="digest-mismatch"):
        load("tasks", moving)


def test_wrong_types_in_facts_are_a_problem_with_their_place(moving: Path) -> None:
    file = extensions_folder(moving) / "skills" / "facts.json"
    facts = json.loads(file.read_text())
    for name, written, code, pointer in (
        ("Skill", {"type": "object"}, "bad-form", "/$defs/Skill"),
        ("Skill", {"source": "here", "type": 3}, "not-a-schema", "/$defs/Skill/type"),
        ("Resource", {"source": "here", "type": "object"}, "extension-differs", "/$defs/Resource"),
        (
            "Cursor",
            {"source": "here", "type": "string", "format": "uri"},
            "extension-differs",
            "/$defs/Cursor/format",
        ),
    ):
        with tables.case(code):
            file.write_text(json.dumps({**facts, "$defs": {**facts["$defs"], name: written}}))
            with pytest.raises(ProblemError) as stopped:
                extension = load("skills", moving)
                core = sources.load("2026-07-28", GenerationOptions(("2026-07-28",)))
                own_definitions(extension.schema, core.schema, extension.place)
            problem = stopped.value.problems[0]
            place = "schema/extensions/skills/facts.json"
            assert (problem.code, problem.place) == (code, place)
            assert problem.pointer.startswith(pointer)


def test_intersection_that_has_no_type_of_its_own_extends_nothing() -> None:
    joined: dict[str, Any] = {"allOf": [{"$ref": "#/$defs/Base"}, {"properties": {"x": {}}}]}
    assert add_bases((), {"A": {"properties": {"b": joined}}}) == ()


def test_projects_take_extensions_from_pins_alone() -> None:
    assert project_extensions(["tasks"], ["2025-11-25", "2026-07-28"]) == ("tasks",)
    assert project_extensions([], ["2025-11-25"]) == ()
    assert project_extensions(["all"], ["2025-11-25"]) == ("apps",)
    assert project_extensions(["all"], ["2025-03-26"]) == ()
    for said, revision, code in (
        ("tasks=a.json", "2026-07-28", "conflicting-options"),
        ("tasks", "2025-11-25", "unbound-extension"),
    ):
        with tables.case(said), pytest.raises(ProblemError, match=code):
            project_extensions([said], [revision])


def test_inputs_have_extensions_only_where_there_are_some() -> None:
    plain = GenerationOptions(("2026-07-28",), parts=DEFAULT)
    assert "extensions" not in read_inputs(plain).as_json()
    made = read_inputs(plain._replace(extensions={"tasks": None}))
    pin = load_extension_pins()["tasks"]
    found = made.extensions["tasks"]
    assert (found.source, found.published) == ("pinned", pin.published.sha256)
    assert found.schema == pin.snapshot_sha256 and len(found.facts) == len(found.schema)


def test_a_project_with_an_extension_has_the_part_that_runs_it() -> None:
    one = projects.choices(ProjectKind.SERVER, ProjectTransport.STDIO)
    assert "tasks" not in one.parts
    assert "tasks" in replace(one, extensions=("apps", "tasks")).parts


def test_the_server_of_a_project_has_the_extensions_of_its_revision() -> None:
    one = projects.choices(ProjectKind.SERVER, ProjectTransport.STDIO, ["2026-07-28"])
    texts = [
        project_files(choices)[f"src/{one.name.package}/server.py"].decode()
        for choices in (one, replace(one, extensions=("apps", "tasks")))
    ]
    assert "ext." not in texts[0] and "task=True" not in texts[0]
    assert "class Clock(AppsServer, TasksServer, Toolkit, mcp.Server):" in texts[1]
    assert "@tool(task=True)" in texts[1]


def test_the_client_of_a_project_waits_for_tasks_of_either_kind() -> None:
    for revision, base in (("2025-11-25", "TaskCalls"), ("2026-07-28", "TasksClient")):
        one = projects.choices(ProjectKind.CLIENT, ProjectTransport.STDIO, [revision])
        path = f"src/{one.name.package}/client.py"
        assert "class Client(mcp.Client):" in project_files(one)[path].decode()
        text = project_files(replace(one, extensions=("tasks",)))[path].decode()
        assert f"class Client({base}, mcp.Client):" in text


def test_the_tool_of_a_project_may_be_a_task_where_its_revision_has_tasks_of_its_own() -> None:
    one = projects.choices(ProjectKind.SERVER, ProjectTransport.STDIO)
    text = project_files(replace(one, extensions=("tasks",)))[f"src/{one.name.package}/server.py"]
    assert "class Clock(Toolkit, mcp.Server):" in text.decode()
    assert "@tool(task=True)" in text.decode()
