"""The command line: its outputs and exit codes."""

import json
import os
import re
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.cli.app import app, command_names
from mcp_protogen.cli.console import show_problems
from mcp_protogen.cli.run import Plain, parse_plain_command
from mcp_protogen.cli.usage import run_app
from mcp_protogen.instep import schemas
from mcp_protogen.pipeline import commands
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from mcp_protogen.pipeline.settings import Settings
from support import formats, tables
from support.programs import run_program
from support.running import Ran, Run
from support.unit import packages

ONE = ("--revision", "2025-11-25", "--out", "pkg")


pytestmark = pytest.mark.usefixtures("little")


def document(text: str) -> dict[str, Any]:
    """A JSON report, proven to follow its published format."""
    assert formats.faults("report", text) == []
    data: dict[str, Any] = json.loads(text)
    return data


def test_quiet_generating_says_nothing(mcp_gen: Run) -> None:
    assert mcp_gen(*ONE, "--quiet") == Ran(0, "", "")


def test_a_second_run_adds_its_revision(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    ran = mcp_gen("--revision", "2026-07-28", "--out", "pkg")
    assert ran.out == "pkg: 3 files written (1 new), 0 removed, 3 unchanged\n"
    assert Path("pkg", "__init__.py").read_text() == "REVISIONS = ['2025-11-25', '2026-07-28']\n"


@pytest.mark.parametrize("extra", [(), ("--format", "text")], ids=["plain", "with options"])
def test_check_names_every_cause_and_writes_nothing(mcp_gen: Run, extra: tuple[str, ...]) -> None:
    mcp_gen(*ONE)
    Path("pkg", "__init__.py").write_text("edited")
    Path("pkg", "mine.py").write_text("")
    before = packages.contents(Path())
    ran = mcp_gen("--check", *ONE, "--revision", "2026-07-28", *extra)
    assert (ran.code, ran.err) == (1, "")
    causes = [
        line.partition(": this")[0].partition(": mcp-gen")[0] for line in ran.out.splitlines()
    ]
    expected = ["revision-added: 2026-07-28", "edited: __init__.py", "foreign: mine.py"]
    assert causes == [*expected, "pkg is not up to date: 3 causes"]
    assert packages.contents(Path()) == before


def test_files_declared_as_ones_own_are_no_drift(mcp_gen: Run) -> None:
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nout = "pkg"\nown = ["mine.py"]')
    mcp_gen("--revision", "2025-11-25")
    Path("pkg", "mine.py").write_text("")
    assert mcp_gen("--check").code == 0


def test_check_finds_what_the_lock_was_made_to_fit_by_generating_anew(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    again = ("--check", "--regenerate", "--out", "pkg")
    ran = mcp_gen(*again)
    said = "pkg is up to date: 1 revision, 5 files, generated anew and compared\n"
    assert ran == Ran(0, said, "")
    packages.forge(Path("pkg"), __init__="edited")
    assert mcp_gen("--check", "--out", "pkg").code == 0
    ran = mcp_gen(*again)
    kinds = [line.rpartition(": ")[0] for line in ran.out.splitlines()]
    subjects = [f"edited: {LOCK_NAME}", "edited: __init__.py"]
    assert (ran.code, kinds) == (1, [*subjects, "pkg is not up to date"])
    data = document(mcp_gen(*again, "--format", "json").out)
    assert [cause["subject"] for cause in data["drift"]] == [LOCK_NAME, "__init__.py"]
    assert "error[edited-file]: pkg/__init__.py: " in mcp_gen(*ONE).err
    assert Path("pkg", "__init__.py").read_text() == "edited"


def test_check_says_what_it_cannot_generate_anew(mcp_gen: Run) -> None:
    Path("draft.json").write_text('{"$defs": {}}')
    mcp_gen("--revision", "draft", "--schema", "draft.json", "--out", "pkg")
    ran = mcp_gen("--check", "--regenerate", "--out", "pkg")
    assert ran.code == 0
    assert ran.out.endswith("compared; compared with the lock alone: draft, from your own schema\n")


def revisions() -> list[str]:
    """Return the revisions of the package, by its lock and by its folders."""
    lock = json.loads(Path("pkg", LOCK_NAME).read_text())
    folders = [path.parent.name for path in sorted(Path("pkg").glob("v*/models.py"))]
    assert folders == [module_name(revision) for revision in lock["revisions"]]
    return [*lock["revisions"]]


def test_a_line_in_gitattributes_keeps_what_was_written(mcp_gen: Run, tmp_path: Path) -> None:
    git = ("git", "-c", "core.autocrlf=true", "-c", "user.name=A", "-c", "user.email=a@b.example")
    mcp_gen(*ONE)
    for words in (["init"], ["add", "."], ["commit", "--message", "a"], ["rm", "-r", "pkg"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    back = [*git, "checkout", "HEAD", "--", "pkg"]
    subprocess.run(back, check=True, capture_output=True)
    ran = mcp_gen("--check", "--out", "pkg")
    cause, summary = ran.out.splitlines()
    assert (ran.code, cause.partition(":")[0], summary[-7:]) == (1, "line-endings", "1 cause")
    (tmp_path / ".gitattributes").write_text(cause.rpartition("prevents it: ")[2])
    shutil.rmtree("pkg")
    subprocess.run(back, check=True, capture_output=True)
    assert mcp_gen("--check", "--out", "pkg").code == 0


def test_prune_takes_out_what_is_not_asked_for(mcp_gen: Run) -> None:
    mcp_gen("--revision", "2025-06-18,2026-07-28", *ONE)
    one = ("--prune", *ONE)
    before = packages.contents(Path())
    ran = mcp_gen("--dry-run", *one)
    removed = ["v2025_06_18/models.py", "v2026_07_28/models.py"]
    told = [f"change: {path}" for path in ("__init__.py", LOCK_NAME)]
    told += [f"remove: {path}" for path in removed]
    assert (ran.code, ran.out.splitlines()[:-1]) == (0, told)
    ran = mcp_gen("--diff", *one)
    assert ran.code == 1 and "--- a/v2025_06_18/models.py\n+++ /dev/null" in ran.out
    ran = mcp_gen("--check", *one, "--format", "json")
    causes = [(cause["kind"], cause["subject"]) for cause in document(ran.out)["drift"]]
    out = [("revision-unlisted", revision) for revision in ("2025-06-18", "2026-07-28")]
    assert (ran.code, causes) == (1, out)
    assert packages.contents(Path()) == before
    assert mcp_gen("--check", *ONE).code == 0
    assert mcp_gen(*ONE).code == 0 and len(revisions()) == 3
    assert mcp_gen(*one).out == "pkg: 2 files written (0 new), 2 removed, 3 unchanged\n"
    assert revisions() == ["2025-11-25"]
    assert mcp_gen("--check", *one).code == 0


def test_a_package_keeps_its_parts_until_they_are_pruned(mcp_gen: Run) -> None:
    mcp_gen(*ONE, "--with", "http-server")
    assert mcp_gen(*ONE, "--with", "http-client").code == 0
    assert mcp_gen(*ONE).code == 0
    assert parts() == ["http-client", "http-server"]
    for asked, code in (("http-server", 0), ("none", 0), ("http-server,bridge", 1), ("all", 1)):
        assert mcp_gen("--check", *ONE, "--with", asked).code == code
    one = ("--prune", "--out", "pkg", "--with", "http-server")
    ran = mcp_gen("--check", *one)
    assert (ran.code, ran.out.partition(": ")[0]) == (1, "options-changed")
    assert "remove: _runtime/http-client.py" in mcp_gen("--dry-run", *one).out
    Path("pkg/_runtime/http-client.py").write_text("edited")
    ran = mcp_gen(*one)
    assert ran.code == 2 and "error[edited-file]: pkg/_runtime/http-client.py: " in ran.err
    assert mcp_gen(*one, "--force").code == 0
    assert parts() == ["http-server"]
    assert mcp_gen("--check", *one).code == 0


def test_check_and_sync_go_by_the_parts_in_pyproject(mcp_gen: Run) -> None:
    mcp_gen(*ONE, "--with", "http-server,bridge")
    assert mcp_gen("sync", "pkg").code == 0 and parts() == ["bridge", "http-server"]
    Path("pyproject.toml").write_text('[tool.mcp-gen]\nout = "pkg"\nwith = "http-server"\n')
    assert mcp_gen("--check").code == 1
    assert mcp_gen("sync", "--check").code == 1
    assert mcp_gen().code == 0 and parts() == ["bridge", "http-server"]
    assert mcp_gen("sync").code == 0 and parts() == ["http-server"]
    assert mcp_gen("--check").code == 0


def parts() -> list[str]:
    """Return the parts of the package, by its lock and by its files."""
    lock = Path("pkg", LOCK_NAME).read_text()
    assert formats.faults("lock", lock) == []
    said = json.loads(lock)["options"]["with"]
    assert said == [path.stem for path in sorted(Path("pkg/_runtime").iterdir())]
    return [*said]


def test_prune_takes_out_what_cannot_be_generated_any_more(mcp_gen: Run) -> None:
    Path("draft.json").write_text('{"$defs": {}}')
    mcp_gen("--revision", "draft", "--schema", "draft.json", "--out", "pkg")
    mcp_gen(*ONE)
    lock = Path("pkg", LOCK_NAME)
    data = json.loads(lock.read_text())
    data["revisions"]["2019-01-01"] = data["revisions"]["2025-11-25"]
    lock.write_text(json.dumps(data | {"generator_digest": "0" * 64}))
    ran = mcp_gen(*ONE)
    assert "error[needs-schema]" in ran.err and "error[unknown-revision]" in ran.err
    assert "--prune" in ran.err
    assert mcp_gen("--prune", *ONE).code == 0
    assert revisions() == ["2025-11-25"]


def test_check_goes_by_the_list_in_pyproject(mcp_gen: Run) -> None:
    mcp_gen("--revision", "2025-06-18", *ONE)
    lines = ("[tool.mcp-gen]", 'out = "pkg"', 'revisions = ["2025-11-25"]')
    Path("pyproject.toml").write_text("\n".join(lines))
    ran = mcp_gen("--check")
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith("revision-unlisted: 2025-06-18: ") and "--prune" in ran.out
    assert mcp_gen("--check", "--format", "json").code == 1
    # Statements of the command line about revisions or the folder do not concern the list.
    assert mcp_gen("--check", "--revision", "2025-06-18").code == 0
    shutil.copytree("pkg", "other")
    assert mcp_gen("--check", "--out", "other").code == 0
    assert mcp_gen().code == 0 and len(revisions()) == 2
    assert mcp_gen("--prune").code == 0
    assert revisions() == ["2025-11-25"]
    assert mcp_gen("--check").code == 0


def test_a_package_of_a_later_version_is_taken_back_by_force_only(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    lock = Path("pkg", LOCK_NAME)
    later = json.loads(lock.read_text()) | {"generator": "mcp-gen 9.1", "generator_digest": "0"}
    lock.write_text(json.dumps(later))
    before = packages.contents(Path())
    for mode in ((), ("--dry-run",)):
        ran = mcp_gen(*mode, *ONE)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith(f"error[older-generator]: pkg/{LOCK_NAME}: mcp-gen 9.1 made ")
        assert "use mcp-gen 9.1 or a later version" in ran.err
    ran = mcp_gen("--check", *ONE)
    assert ran.code == 1 and "which is older" in ran.out
    assert mcp_gen("--diff", *ONE).code == 1
    assert packages.contents(Path()) == before
    assert mcp_gen(*ONE, "--force").code == 0
    assert mcp_gen("--check", *ONE).code == 0


def test_check_of_a_folder_without_a_package_differs(mcp_gen: Run) -> None:
    ran = mcp_gen("--check", *ONE)
    assert (ran.code, ran.out.partition(":")[0]) == (1, "not-generated")
    assert not Path("pkg").exists()


def test_diff_of_a_package_that_is_up_to_date_is_fine(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    assert mcp_gen("--diff", "--out", "pkg").code == 0


def test_diff_shows_new_files_as_such(mcp_gen: Run) -> None:
    ran = mcp_gen("--diff", *ONE)
    assert "--- /dev/null\n+++ b/v2025_11_25/models.py\n" in ran.out
    assert not Path("pkg").exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="makes a named pipe")
def test_diff_reads_regular_files_only(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    file = Path("pkg", "__init__.py")
    Path("secret.txt").write_text("secret")
    for link in ("../secret.txt", "nowhere", None):
        file.unlink()
        if link is None:
            os.mkfifo(file)
        else:
            file.symlink_to(link)
        ran = mcp_gen("--diff", *ONE)
        assert (ran.code, ran.err) == (1, "")
        assert "-not a regular file\n+REVISIONS" in ran.out and "secret" not in ran.out


def test_dry_run_fails_where_the_run_would(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    Path("pkg", "__init__.py").write_text("edited")
    ran = mcp_gen("--dry-run", *ONE)
    assert ran.code == 2
    assert "error[edited-file]: pkg/__init__.py: " in ran.err


def test_settings_are_taken_from_the_nearest_pyproject(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '[tool.mcp-gen]\nrevision = "2025-11-25"\nout = "src/pkg"\nformat = "json"'
    Path("pyproject.toml").write_text(text)
    Path("deep").mkdir()
    monkeypatch.chdir("deep")
    assert document(mcp_gen().out)["status"] == "fine"
    assert Path("..", "src", "pkg", LOCK_NAME).is_file()
    assert mcp_gen("--out", "../other", "--format", "text").out.startswith("../other: ")


def test_links_in_a_circle_are_no_fault(mcp_gen: Run) -> None:
    Path("pkg").symlink_to("other")
    Path("other").symlink_to("pkg")
    for mode in ((), ("--check",), ("--diff",)):
        assert "error[bad-lock]: pkg/mcp-gen.lock: " in mcp_gen(*mode, *ONE).err


def test_sync_judges_the_settings_that_it_uses(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    lines = ("[tool.mcp-gen]", 'schema = "https://example.com/a.json"', 'templates = "../x"')
    for out in ("other", "../pkg"):  # of another package
        Path("pyproject.toml").write_text("\n".join([*lines, f'out = "{out}"']))
        assert mcp_gen("sync", "pkg").out.startswith("pkg is in step")
    Path("pyproject.toml").write_text("\n".join([*lines, 'out = "pkg"']))
    err = mcp_gen("sync").err
    assert "mcp-gen --revision ... --schema ... --out ...\n" in err
    assert err.count("error[outside-project]: pyproject.toml: ") == err.count("error[") == 2


@pytest.mark.parametrize(
    ("command", "catalogue"), [("revisions", "catalogue"), ("extensions", "extensions")]
)
def test_failed_list_names_its_command(
    command: str, catalogue: str, mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert document(mcp_gen(command, "--format", "json").out)["command"] == command

    def fail() -> NoReturn:
        raise ProblemError(Problem("bad-pins", "unusable"))

    monkeypatch.setattr(schemas, catalogue, fail)
    ran = mcp_gen(command, "--format", "json")
    said = document(ran.out)
    assert (ran.code, said["command"], said["status"]) == (2, command, "failed")
    assert [problem["code"] for problem in said["problems"]] == ["bad-pins"]
    ran = mcp_gen(command)
    assert ran.code == 2 and ran.err.startswith("error[bad-pins]: unusable")


def monorepo(*settings: str) -> tuple[Path, Path]:
    """Make a repository where a project names a package beside it; return both."""
    Path(".git").mkdir()
    project, package = Path("tooling").resolve(), Path("sdk", "wire").resolve()
    package.parent.mkdir()
    (package.parent / "pyproject.toml").write_text("[tool.mcp-gen]\nformat = 'text'\n")
    project.mkdir()
    (project / "pyproject.toml").write_text("\n".join(("[tool.mcp-gen]", *settings)))
    return project, package


def test_sync_finds_package_beside_its_project(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = Path.cwd()
    lines = ("revisions = '2025-11-25'", "with = 'http-server'", "out = '../sdk/wire'")
    project, package = monorepo(*lines)
    monkeypatch.chdir(project)
    assert mcp_gen().code == 0
    made = packages.contents(package)
    for folder, words in (
        (project, ()),
        (root, ("tooling",)),
        (project, ("../sdk/wire",)),
        (package.parent, (str(project),)),
    ):
        monkeypatch.chdir(folder)
        (package / "bridge.py").unlink()
        assert mcp_gen("sync", "--check", *words).code == 1
        assert mcp_gen("sync", *words).code == 0
        assert packages.contents(package) == made


def test_sync_takes_out_in_place_of_the_setting(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = ("revisions = '2025-11-25'", "with = 'http-server'", "out = '../../beyond'")
    project, package = monorepo(*lines)
    monkeypatch.chdir(project)
    assert "outside-project" in mcp_gen("sync").err
    out = ("--out", "../sdk/wire")
    assert "error[no-package]" in mcp_gen("sync", *out).err
    assert mcp_gen(*out).code == 0
    made = packages.contents(package)
    (package / "bridge.py").unlink()
    assert mcp_gen("sync", "--check", *out).code == 1
    assert mcp_gen("sync", *out).code == 0
    assert packages.contents(package) == made
    monkeypatch.chdir(project.parent)
    assert mcp_gen("sync", "tooling", "--out", "sdk/wire", "--check").code == 0


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--check",), "no-output"),
        (("--check", "--diff", *ONE), "conflicting-options"),
        (("--regenerate", *ONE), "conflicting-options"),
        (("--prune", "--out", "pkg"), "no-revision"),
        (("--out", "pkg", "revisions"), "conflicting-options"),
        (("--templates", "nowhere", *ONE), "missing-templates"),
        (("--rules", "rules.json", *ONE), "conflicting-options"),
        (("explain", ""), "unknown-code"),
        (("schema", "verify", "2020-01-01"), "unknown-revision"),
    ],
)
def test_wrong_use_ends_with_2_and_a_problem_on_stderr(
    mcp_gen: Run, arguments: tuple[str, ...], code: str
) -> None:
    ran = mcp_gen(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err


WRONG_USE = {
    ("--bogus",): "mcp-gen generate: no such option: --bogus",
    ("bogus",): "mcp-gen: no such command 'bogus'",
    ("--check", "--out"): "mcp-gen generate: option '--out' requires an argument",
    ("update", "--ref"): "mcp-gen update: option '--ref' requires an argument",
    ("schema", "add", "--from"): "mcp-gen schema add: option '--from' requires an argument",
    ("--format", "x"): "'--format': 'x' is not one of 'text', 'json', 'github'",
    ("new",): "mcp-gen new: missing argument 'NAME'",
    ("new", "a", "b"): "mcp-gen new: got unexpected extra argument",
    ("new", "a", "--kind", "x"): "'--kind': 'x' is not one of 'server', 'client', 'gateway'",
    ("audit", "a", "--timeout", "x"): "mcp-gen audit: invalid value for '--timeout': ",
    ("schema", "add", "a"): "mcp-gen schema add: missing option '--from'",
    ("schema", "bogus"): "mcp-gen schema: no such command 'bogus'",
}


def test_wrong_use_is_told_like_every_other_problem(mcp_gen: Run) -> None:
    for arguments, told in WRONG_USE.items():
        ran = mcp_gen(*arguments)
        line, hint = ran.err.splitlines()
        assert (ran.code, ran.out) == (2, "")
        assert line.startswith("error[wrong-usage]: ") and told in line
        assert "alue error" not in line
        command = line.removeprefix("error[wrong-usage]: ").partition(":")[0]
        assert hint.startswith("  hint: ") and hint.endswith(f"{command} --help says more")
    assert (
        "usage: mcp-gen schema add [options] --from FILE|URL [REV];" in mcp_gen("schema", "add").err
    )


def test_a_fault_is_one_line_and_a_way_to_see_more(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(commands, "write", fail)
    ran = mcp_gen(*ONE)
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.splitlines()[0] == "error[internal-fault]: RuntimeError: two lines"
    assert "--debug" in ran.err
    ran = mcp_gen("--debug", *ONE)
    assert ran.code == 3
    assert "Traceback" in ran.err


@pytest.mark.parametrize("arguments", [("--check", "--out", "pkg"), ONE], ids=["plain", "typer"])
def test_an_interrupt_ends_with_130(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "prepare", interrupt)
    assert mcp_gen(*arguments).code == 130
    assert list(Path().iterdir()) == []


def test_a_reader_that_goes_away_is_no_fault() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-c", "from mcp_protogen.cli import main; main()", "revisions"]
    ran = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (141, b"")


def test_closed_streams_change_no_exit_code() -> None:
    code = "from mcp_protogen.cli import main; main()"
    for closed in ("1>&-", "2>&-", "1>&- 2>&-"):
        for line, expected in (("revisions", 0), ("diff 2025-11-25 nope", 2)):
            with tables.case((closed, line)):
                command = f'"$0" -c "$1" {line} {closed}'
                ran = subprocess.run(
                    ["sh", "-c", command, sys.executable, code], capture_output=True, check=False
                )
                assert ran.returncode == expected


@pytest.mark.parametrize("mode", [(), ("--check",), ("--diff",), ("--dry-run",)])
def test_json_is_one_document_of_the_published_format(mcp_gen: Run, mode: tuple[str, ...]) -> None:
    ran = mcp_gen(*mode, *ONE, "--format", "json")
    assert ran.err == ""
    assert document(ran.out)["command"] == (mode[0][2:] if mode else "generate")


def test_warnings_of_a_kind_about_a_file_are_shown_together(
    capsys: pytest.CaptureFixture[str],
) -> None:
    warn = partial(Problem, hint="Do.", level=Level.WARNING)
    many = [warn("stale", f"is {number}", "a.json", f"/{number}") for number in range(12)]
    two = [warn("stale", "alone", place) for place in ("b.json", "c.json")]
    error = Problem("stale", "wrong", "a.json")
    other = [warn("loose", f"{number}", "a.json")._replace(hint=f"{number}") for number in range(3)]
    show_problems([error, many[0], *other, *many[1:], *two])
    assert capsys.readouterr().err.split("\n") == [
        "error[stale]: a.json: wrong",
        "warning[stale]: a.json: 12 warnings",
        *(f"  #/{number}: is {number}" for number in range(10)),
        "  and 2 more; --format json lists all",
        "  hint: Do.",
        "warning[loose]: a.json: 3 warnings",
        *(f"  {number}" for number in range(3)),
        "  hint: mcp-gen explain loose",
        *("warning[stale]: b.json: alone", "  hint: Do."),
        *("warning[stale]: c.json: alone", "  hint: Do.", ""),
    ]


def test_github_gets_annotations_with_files(mcp_gen: Run) -> None:
    mcp_gen(*ONE)
    Path("pkg", "__init__.py").write_text("edited")
    ran = mcp_gen("--check", "--out", "pkg", "--format", "github")
    message = "this generated file was edited by hand"
    assert ran.out.splitlines()[0] == f"::error file=pkg/__init__.py,title=edited::{message}"
    ran = mcp_gen(*ONE, "--format", "github")
    assert ran.out.startswith("::error file=pkg/__init__.py,title=edited-file::")


USAGE = {
    "": "COMMAND ...",
    "generate": "generate [options] [REVISION ...]",
    "new": "new [options] NAME",
    "sync": "sync [options] [DIR]",
    "diff": "diff [options] A [B]",
    "client": "client [options] [SERVER]",
    "audit": "audit [options] SDK",
    "vectors": "vectors [options] [REVISION ...]",
    "update": "update [options] [REVISION ...]",
    "revisions": "revisions [options]",
    "extensions": "extensions [options]",
    "schema": "schema COMMAND ...",
    "schema add": "schema add [options] --from FILE|URL [REV]",
    "schema verify": "schema verify [options] [REV]",
    "explain": "explain [options] [CODE]",
}


def test_help_is_plain_text_within_80_columns(mcp_gen: Run) -> None:
    for command, usage in USAGE.items():
        ran = mcp_gen(*command.split(), "--help")
        assert ran.code == 0
        assert ran.out.splitlines()[0] == f"Usage: mcp-gen {usage}"
        assert max(map(len, ran.out.splitlines())) <= 80
        assert not set("{}<") & set(re.sub(r"schema/<revision>/|\$\{NAME\}", "", ran.out))
        assert "..." not in ran.out.replace("COMMAND ...", "").replace("[REVISION ...]", "")


def test_help_has_the_commands_by_what_they_are_for_before_the_options(mcp_gen: Run) -> None:
    lines = mcp_gen("--help").out.splitlines()
    assert len(lines) <= 50
    headings = [line.rstrip(":") for line in lines if line.endswith(":")]
    assert headings == [
        "Generate and keep",
        "Your servers",
        "Servers of others",
        "The specification",
        "Options",
    ]
    listed = lines[lines.index("Generate and keep:") :]
    found = {line.split()[0] for line in listed if re.match(r"  [a-z]+ ", line)}
    assert found == set(command_names())
    for name in command_names():
        assert mcp_gen(name, "--help").code == 0


def test_options_stand_below_what_they_are_about(mcp_gen: Run) -> None:
    page = mcp_gen("generate", "--help").out
    about = {
        heading: [line for line in section.splitlines() if line.startswith("  -")]
        for heading, section in re.findall(r"^([A-Z][^\n]+):\n(.*?)(?=^\S|\Z)", page, re.M | re.S)
    }
    for option, heading in (
        ("--revision", "What is generated"),
        ("--dry-run", "Comparing, in place of writing"),
        ("--layout", "Types and tables alone"),
        ("--out", "Options"),
    ):
        assert [line for line in about[heading] if line.startswith(f"  {option} ")], option


def test_revisions_may_be_words(mcp_gen: Run) -> None:
    assert mcp_gen("generate", "2025-11-25", "--out", "pkg", "--dry-run") == mcp_gen(
        "generate", "--revision", "2025-11-25", "--out", "pkg", "--dry-run"
    )
    two = ("--out", "pkg", "--dry-run")
    every = mcp_gen("generate", "2025-11-25", "--revision", "2025-06-18", *two)
    assert every == mcp_gen("generate", "--revision", "2025-11-25,2025-06-18", *two)
    assert (
        mcp_gen("vectors", "1999-01-01").err == mcp_gen("vectors", "--revision", "1999-01-01").err
    )


def test_only_the_command_that_is_named_is_imported() -> None:
    code = (
        "import sys\nfrom mcp_protogen.cli.app import load_declaration\n"
        "load_declaration('explain')\n"
        "print([name for name in sys.modules if name.startswith('mcp_protogen.cli.')])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
    assert "mcp_protogen.cli.explain" in printed
    for command in ("audit", "bridge", "generate", "vectors"):
        assert f"'mcp_protogen.cli.{command}'" not in printed


def test_without_anything_to_do_the_help_is_shown_and_it_is_no_success(
    mcp_gen: Run, tmp_path: Path
) -> None:
    for arguments in ((), ("schema",)):
        ran = mcp_gen(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == mcp_gen(*arguments, "--help").out
    (tmp_path / "pyproject.toml").write_text('[tool.mcp-gen]\nrevision = "2025-11-25"')
    assert "error[no-output]" in mcp_gen().err
    (tmp_path / "pyproject.toml").write_text("[tool.mcp-gen]\nout = 1")
    assert "error[bad-config]" in mcp_gen().err


def complete(folder: Path, words: str, *arguments: str) -> list[str]:
    """Return the completions of the last word in a shell."""
    code = "from mcp_protogen.cli import main; main()"
    number = str(len(words.split()) - 1)
    asking = {"_MCP_GEN_COMPLETE": "complete_bash", "COMP_CWORD": number, "COMP_WORDS": words}
    command = [sys.executable, "-c", code, *arguments]
    return run_program(*command, cwd=folder, env={**os.environ, **asking}).split()


def test_revisions_complete_in_a_shell(tmp_path: Path) -> None:
    for arguments in ((), ("--check", "--out", "pkg"), ("new", "a"), ("diff", "a", "b")):
        with tables.case(arguments):
            found = complete(tmp_path, "mcp-gen --revision 2025-0", *arguments)
            assert found == ["2025-03-26", "2025-06-18"]
            assert not any(tmp_path.iterdir())


def test_options_of_all_commands_and_of_generate_complete_once(tmp_path: Path) -> None:
    found = complete(tmp_path, "mcp-gen --")
    assert {"--debug", "--version", "--revision", "--out"} <= {*found}
    assert len({*found}) == len(found)


PLAIN: tuple[tuple[str, ...], ...] = (
    ("--check",),
    ("--check", "--out", "pkg"),
    ("--out", "pkg", "--revision", "2025-11-25"),
    ("--revision", "2025-11-25", "--out", "pkg", "--force", "--revision", "all"),
    ("--force", "--no-cache", "--out", "a b"),
    ("generate", "--check", "--out", "pkg"),
    ("generate", "all", "--out", "pkg"),
    ("generate", "--check", "--revision", "2025-06-18", "2025-11-25", "2024-11-05"),
)
NOT_PLAIN: tuple[tuple[str, ...], ...] = (
    (),
    ("generate",),
    ("all", "--check"),
    ("generate", "", "--check"),
    ("generate", "--check", "list"),
    ("--check", "generate"),
    ("--force",),
    ("--revision", "2025-11-25"),
    ("--out", "pkg", "--quiet"),
    ("--out", "a", "--out", "b"),
    ("--out", "--check"),
    ("--out", "pkg", "--revision"),
    ("--out=pkg",),
    ("new", "--out", "pkg"),
)


def test_usual_command_lines_are_read_as_by_the_library(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[Plain] = []

    def run(
        mode: str, flags: Settings, *, force: bool = False, cached: bool = True, quiet: bool = False
    ) -> NoReturn:
        asked.append(Plain(mode, flags, force, cached))
        raise SystemExit(0)

    def refuse(*_: object, **__: object) -> bool:
        return False

    # A folder that exists but cannot be read.
    (tmp_path / "pkg").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "access", refuse)
    monkeypatch.setattr("mcp_protogen.cli.generate.run", run)
    for arguments in PLAIN:
        monkeypatch.setattr(sys, "argv", ["mcp-gen", *arguments])
        with tables.case(arguments), pytest.raises(SystemExit):
            run_app(app, [*arguments])
        assert parse_plain_command(arguments) == asked[-1]
    for arguments in NOT_PLAIN:
        with tables.case(arguments):
            assert parse_plain_command(arguments) is None


def test_usual_command_lines_do_not_wait_for_the_library(
    mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp_protogen.cli.app", None)  # to import it is a fault
    for arguments, code in (
        (("--check", "--out", "pkg"), 2),
        (("diff", "2025-06-18", "2025-11-25"), 0),
        (("diff", "a.lock", "2025-11-25"), 3),
        (("diff", "2025-11-25", "a.lock"), 3),
        (("new", "no/name"), 2),
        (("revisions",), 3),
    ):
        with tables.case(arguments):
            assert mcp_gen(*arguments).code == code


USUAL: tuple[tuple[str, ...], ...] = (
    ("diff", "2025-06-18", "2025-11-25"),
    ("diff", "2025-06-18", "no such"),
    ("diff", "diff", "diff"),
    ("diff", "a\nb", "\udcff"),
    ("new", "no/name"),
    ("new", "a b"),
    ("new", "new"),
)
UNUSUAL: tuple[tuple[str, ...], ...] = (
    ("diff", "2025-06-18", "2025-11-25"),
    ("diff",),
    ("diff", "2025-06-18"),
    ("diff", "a", "b", "c"),
    ("diff", "", "a"),
    ("diff", "-h", "a"),
    ("diff", "a", "--for"),
    ("diff", "--", "a", "b"),
    ("new",),
    ("new", ""),
    ("new", "-"),
    ("new", "--hel"),
    ("new", "a", "b"),
    ("--", "new", "a/b"),
)


def test_lines_of_other_commands_mean_the_same_however_they_are_read(
    mcp_gen: Run, little: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_value(_: str) -> bool:
        return False

    for arguments in (*USUAL, *UNUSUAL):
        with tables.case(arguments):
            shutil.rmtree("new", ignore_errors=True)
            ran = mcp_gen(*arguments)
            shutil.rmtree("new", ignore_errors=True)
            with monkeypatch.context() as patch:
                patch.setattr("mcp_protogen.cli.dispatch.is_value", no_value)
                assert mcp_gen(*arguments) == ran
