"""`mcp-gen vectors`: its outputs, and options that exclude each other."""

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.folders import GENERATED
from support.revisions import NEWEST, REVISIONS
from support.running import Run
from support.vectors import vector_sets
from support.vectors.processes import is_running
from support.vectors.vector_sets import ODD, document

GOLDEN = shlex.join(vector_sets.GOLDEN)


def test_vectors_go_to_stdout_as_one_document(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--revision", NEWEST, "--type", "Tool", "--only", "valid")
    assert ran.code == 0
    document = json.loads(ran.out)
    assert document["revision"] == NEWEST
    assert {(v["type"], v["valid"]) for v in document["vectors"]} == {("Tool", True)}
    assert ran.err == ""


def test_vectors_of_several_revisions_go_to_stdout_as_lines(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--revision", "all", "--method", "tools/list", "--format", "jsonl")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert {row["revision"] for row in rows} == set(REVISIONS)
    assert {row["method"] for row in rows} == {"tools/list"}


def test_vectors_and_findings_can_be_written_to_a_file(mcp_gen: Run) -> None:
    crashing = shlex.join([*ODD, "exit", "Tool/invalid/null"])
    tried = ("--run-command", crashing, "--format", "json")
    for code, options in ((0, ("--revision", NEWEST)), (1, tried)):
        asked = ("vectors", *options, "--type", "Tool")
        said = mcp_gen(*asked).out
        ran = mcp_gen(*asked, "-o", "file")
        assert (ran.code, ran.out, ran.err) == (code, "", "")
        assert Path("file").read_text() == said != ""
    (change,) = json.loads(Path("file").read_text())["changes"]
    assert (change["code"], change["item"], change["worst"]) == ("crashes", "Tool", "breaking")


def test_the_same_bytes_come_of_every_run(mcp_gen: Run) -> None:
    asked = ("vectors", "--revision", NEWEST)
    argv = [sys.executable, "-m", "mcp_protogen", *asked]
    ran = subprocess.run(argv, env={"PYTHONHASHSEED": "1"}, capture_output=True, check=True)
    assert ran.stdout.decode() == mcp_gen(*asked).out


def test_vectors_of_a_draft_are_made_from_its_schema(mcp_gen: Run) -> None:
    schema = dict(document(NEWEST).schema)
    tool = {**schema["$defs"]["Tool"], "required": ["name"]}
    Path("draft.json").write_text(
        json.dumps({**schema, "$defs": {**schema["$defs"], "Tool": tool}})
    )
    ran = mcp_gen("vectors", "--revision", "draft", "--schema", "draft.json", "--type", "Tool")
    assert ran.code == 0, ran.err
    made = json.loads(ran.out)
    assert made["revision"] == "draft"
    (minimal,) = [v for v in made["vectors"] if v["id"] == "Tool/valid/minimal"]
    assert minimal["value"] == {"name": "example"}


def test_a_draft_that_is_no_schema_is_one_problem(mcp_gen: Run) -> None:
    Path("draft.json").write_text('{"$defs": {"Tool": {}}}')
    ran = mcp_gen("vectors", "--revision", "draft", "--schema", "draft.json")
    assert ran.code == 2
    assert "no-message-unions" in ran.err


def test_draft_is_not_tried_as_the_newest_revision_unless_it_is_named(mcp_gen: Run) -> None:
    Path("draft.json").write_text(json.dumps(dict(document(NEWEST).schema)))
    for tried in ((), ("--run-command", "x")):
        ran = mcp_gen("vectors", *tried, "--schema", "draft.json")
        assert (ran.code, ran.out) == (2, "")
        assert "error[ambiguous-schema]: draft.json: " in ran.err


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM), (signal.SIGHUP, -signal.SIGHUP)],
)
def test_a_program_is_ended_with_an_interrupted_run(
    tmp_path: Path, number: signal.Signals, code: int
) -> None:
    responder = shlex.join([*ODD, "hang-and-tell", "hello"])
    argv = [sys.executable, "-m", "mcp_protogen", "vectors", "--run-command", responder]
    os.mkfifo(tmp_path / "told")
    running = subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.DEVNULL)
    pid = int((tmp_path / "told").read_text())
    running.send_signal(number)
    assert running.wait(timeout=60) == code
    assert not is_running(pid)


def test_a_program_that_agrees_ends_with_0(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--run-command", GOLDEN, "--type", "Tool", "--type", "Annotations")
    assert ran.code == 0, ran.err
    assert "mcp_revisions: " in ran.out
    assert f"vectors of {NEWEST}: " in ran.out


def test_a_program_that_does_not_ends_with_1(mcp_gen: Run) -> None:
    ran = mcp_gen("vectors", "--run-command", GOLDEN, "--method", "tools/list", "--format", "json")
    assert ran.code == 1
    codes = {change["code"] for change in json.loads(ran.out)["changes"]}
    assert codes == {"loses-undeclared"}


def test_a_python_package_is_tried_through_its_own_types(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(GENERATED))
    revision = "2025-11-25"
    implementation = ("--run", "mcp_revisions.v2025_11_25", "--python", sys.executable)
    ran = mcp_gen("vectors", *implementation, "--revision", revision, "--type", "Tool")
    assert ran.code == 0, ran.out + ran.err
    assert "mcp_revisions.v2025_11_25: " in ran.out
    assert "unknown" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--run-command", "no-such-program"], "responder-not-started"),
        (["--run-command", "true"], "responder-ended"),
        (["--run", "no_such_module_anywhere"], "target-not-found"),
        (["--run-command", "true", "--type", "Tol"], "unknown-subject"),
        (["--run-command", "true", "--revision", "2020-01-01"], "unknown-revision"),
    ],
)
def test_problems_of_a_trial_have_the_requested_format(
    mcp_gen: Run, arguments: list[str], code: str
) -> None:
    ran = mcp_gen("vectors", *arguments, "--format", "json")
    assert (ran.code, ran.err) == (2, "")
    document = json.loads(ran.out)
    assert (document["command"], document["status"]) == ("vectors", "failed")
    assert [problem["code"] for problem in document["problems"]] == [code]
    ran = mcp_gen("vectors", *arguments, "--format", "github")
    assert (ran.code, ran.err) == (2, "")
    assert ran.out.startswith("::error ")
    assert f"title={code}::" in ran.out
    ran = mcp_gen("vectors", *arguments, "--format", "html")
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ([], "no-revision", "no revision is requested"),
        (["--revision", "2020-01-01"], "unknown-revision", "no schema is pinned"),
        (["--revision", "all"], "conflicting-options", "several revisions"),
        (["--revision", NEWEST, "--type", "Tol"], "unknown-subject", "did you mean Tool"),
        (["--revision", NEWEST, "--method", "tools"], "unknown-subject", "no vectors of 'tools'"),
        (["--revision", NEWEST, "--check"], "conflicting-options", "--check needs --out"),
        (["--revision", NEWEST, "--force"], "conflicting-options", "--force needs --out"),
        (["--revision", NEWEST, "--format", "html"], "conflicting-options", "shown as html"),
        (["--run", "x", "--run-command", "y"], "conflicting-options", "name an implementation"),
        (["--run", "x", "--out", "y"], "conflicting-options", "exclude each other"),
        (
            ["--run-command", "x", "--python", "y"],
            "conflicting-options",
            "--run-command and --python",
        ),
        (["--revision", "all", "--run-command", "x"], "conflicting-options", "one revision"),
        (["--out", "x", "--revision", "all", "--type", "Tool"], "conflicting-options", "--type"),
        (["--out", "x", "--revision", "all", "-o", "y"], "conflicting-options", "--output"),
        (["--run-command", "x 'y"], "responder-not-started", "no closing quotation"),
        (["--run-command", " "], "responder-not-started", "it is empty"),
        (["--run-command", "no-such-program"], "responder-not-started", "cannot be started"),
        (["--schema", "x.json", "--revision", "draft"], "unreadable-source", "x.json"),
    ],
)
def test_wrong_use_is_one_problem(
    mcp_gen: Run, arguments: list[str], code: str, message: str
) -> None:
    ran = mcp_gen("vectors", *arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert ran.err.count("error[") == 1
    assert f"error[{code}]" in ran.err
    assert message in ran.err
    assert not list(Path().iterdir())
