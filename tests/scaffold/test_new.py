"""`mcp-gen new`: its results, its refusals, and its atomicity."""

import json
import subprocess
import sys
from pathlib import Path
from typing import NoReturn

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.output.lock import read_lock
from mcp_protogen.pipeline.package import Package
from mcp_protogen.scaffold.choices import ProjectEngine, ProjectKind
from mcp_protogen.scaffold.revisions import default_revisions, project_revisions
from mcp_protogen.scaffold.start import NewOptions, start
from support import tables
from support.revisions import HANDSHAKE, REVISIONS
from support.running import Run

pytestmark = pytest.mark.usefixtures("little")


def below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_settings_and_lock_of_a_new_project_agree(mcp_gen: Run, tmp_path: Path) -> None:
    assert mcp_gen("new", "clock", "--revision", "2025-11-25").code == 0
    lock = read_lock(tmp_path / "clock" / "src" / "clock" / "protocol")
    assert lock is not None
    assert [*lock.inputs.revisions] == ["2025-11-25"]
    done = mcp_gen("sync", "clock", "--check")
    assert (done.code, done.err) == (0, "")


def test_invalid_choices_are_reported_before_questions(tmp_path: Path) -> None:
    def ask(question: str, *_: object) -> NoReturn:
        raise AssertionError(question)

    (tmp_path / "full" / "mine").mkdir(parents=True)
    for options, code in (
        (NewOptions("a/b"), "unusable-name"),
        (NewOptions("full"), "folder-not-empty"),
        (
            NewOptions("clock", ProjectKind.CLIENT, shared=ProjectEngine.REDIS),
            "conflicting-options",
        ),
    ):
        with tables.case(options), pytest.raises(ProblemError) as raised:
            start(options, ask)
        assert [problem.code for problem in raised.value.problems] == [code]


def test_without_a_terminal_nothing_is_asked(mcp_gen: Run, tmp_path: Path) -> None:
    done = mcp_gen("new", "word-clock")
    assert (done.code, done.err) == (0, "")
    assert "a server written in 2025-11-25" in done.out
    assert (tmp_path / "word-clock" / "src" / "word_clock" / "server.py").is_file()


@pytest.mark.parametrize("kind", ProjectKind)
def test_defaults_use_newest_handshake_revision(
    kind: ProjectKind, mcp_gen: Run, tmp_path: Path
) -> None:
    assert mcp_gen("new", "x", "--kind", kind).code == 0
    lock = read_lock(tmp_path / "x" / "src" / "x" / "protocol")
    assert lock is not None
    assert project_revisions(default_revisions()) == (
        default_revisions()[0],
        (*lock.inputs.revisions,),
    )
    # Both eras of the protocol.
    assert {revision in HANDSHAKE for revision in lock.inputs.revisions} == {True, False}


@pytest.mark.parametrize("engine", ProjectEngine)
def test_a_server_that_shares_something_is_one_over_http(
    engine: ProjectEngine, mcp_gen: Run, tmp_path: Path
) -> None:
    assert mcp_gen("new", "clock", "--shared", engine).code == 0
    lock = read_lock(tmp_path / "clock" / "src" / "clock" / "protocol")
    assert lock is not None
    assert {"http-server", engine} <= {*lock.inputs.parts}
    assert "stdio" not in lock.inputs.parts
    assert (tmp_path / "clock" / "compose.yaml").is_file()


@pytest.mark.parametrize("unfit", ["--kind client", "--kind gateway", "--transport stdio"])
def test_choices_that_cannot_share_are_named(unfit: str, mcp_gen: Run, tmp_path: Path) -> None:
    done = mcp_gen("new", "clock", "--shared", "redis", *unfit.split())
    assert (done.code, below(tmp_path)) == (2, [])
    assert f"--shared and {unfit} exclude each other" in done.err


def test_the_first_revision_is_the_one_to_write_in() -> None:
    assert project_revisions(["2026-07-28", "2024-11-05"]) == (
        "2026-07-28",
        ("2024-11-05", "2026-07-28"),
    )
    assert project_revisions(["2025-06-18,2025-11-25"]) == (
        "2025-06-18",
        ("2025-06-18", "2025-11-25"),
    )
    first, every = project_revisions(["2025-06-18,all"])
    assert (first, len(every)) == ("2025-06-18", len(REVISIONS))
    assert project_revisions(["all"]) == (default_revisions()[0], REVISIONS)


def test_a_name_in_capitals_is_a_package_in_small_letters(mcp_gen: Run, tmp_path: Path) -> None:
    assert mcp_gen("new", "Weather").code == 0
    assert (tmp_path / "Weather" / "src" / "weather" / "__main__.py").is_file()


def test_the_folder_may_be_elsewhere_and_may_be_there_if_it_is_empty(
    mcp_gen: Run, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    assert mcp_gen("new", "clock", "--out", "empty").code == 0
    assert mcp_gen("new", "clock", "--out", "a/b/c").out.endswith(
        "next: cd a/b/c && make setup test run\n"
    )
    assert (tmp_path / "empty" / "pyproject.toml").is_file()
    assert (tmp_path / "a" / "b" / "c" / "pyproject.toml").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "empty"]


def test_the_report_names_every_file_of_ones_own(mcp_gen: Run, tmp_path: Path) -> None:
    done = mcp_gen("new", "clock", "--format", "json")
    report = json.loads(done.out)
    named = {file["path"] for file in report["files"]}
    files = {path for path in below(tmp_path / "clock") if (tmp_path / "clock" / path).is_file()}
    assert {file["action"] for file in report["files"]} == {"create"}
    assert named == {path for path in files if "/protocol/" not in path}


REFUSED = {
    "unusable-name": ("new", "json"),
    "unknown-revision": ("new", "clock", "--revision", "2025-11-26"),
    "no-revision": ("new", "clock", "--revision", ","),
    "folder-not-empty": ("new", "clock", "--out", "full"),
    "not-a-folder": ("new", "clock", "--out", "full/file"),
    "cannot-write": ("new", "clock", "--out", "full/file/deeper"),
    "inside-output": ("new", "clock", "--out", "."),
}


@pytest.mark.parametrize("code", REFUSED)
def test_impossible_choices_are_single_error_and_write_nothing(
    code: str, mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    if code == "inside-output":
        (tmp_path / "here").mkdir()
        monkeypatch.chdir(tmp_path / "here")
    before = below(tmp_path)
    done = mcp_gen(*REFUSED[code])
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"error[{code}]: ")
    assert done.err.count("error[") == 1
    assert below(tmp_path) == before
    assert (tmp_path / "full" / "file").read_text() == "mine"


@pytest.mark.parametrize(
    "arguments", [("new",), ("new", "x", "--kind", "robot"), ("new", "x", "--transport", "pigeon")]
)
def test_wrong_use_ends_with_2(arguments: tuple[str, ...], mcp_gen: Run, tmp_path: Path) -> None:
    done = mcp_gen(*arguments)
    assert (done.code, below(tmp_path)) == (2, [])
    assert done.err


def test_a_disk_that_fills_up_leaves_nothing(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_protogen.base.files import write_new
    from mcp_protogen.pipeline.output import workspace

    written: list[Path] = []

    def full(path: Path, content: bytes) -> None:
        if len(written) == 5:
            raise OSError(28, "No space left on device", str(path))
        written.append(path)
        write_new(path, content)

    monkeypatch.setattr(workspace, "write_new", full)
    done = mcp_gen("new", "clock", "--out", "deep/clock")
    assert done.code == 2
    assert done.err.startswith("error[cannot-write]: ")
    assert len(written) == 5
    assert below(tmp_path) == []


def test_a_fault_while_generating_leaves_nothing(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(options: GenerationOptions) -> Package:
        raise ProblemError(Problem("template-error", "no such luck"))

    monkeypatch.setattr("mcp_protogen.pipeline.generate.generate", fail)
    assert mcp_gen("new", "clock").code == 2
    assert below(tmp_path) == []


def test_file_created_meanwhile_is_not_replaced(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mcp_protogen.pipeline import generate

    usual = generate.generate

    def interrupt(options: GenerationOptions) -> Package:
        (tmp_path / "clock").mkdir()
        (tmp_path / "clock" / "mine").write_text("mine")
        return usual(options)

    monkeypatch.setattr(generate, "generate", interrupt)
    assert mcp_gen("new", "clock").code == 2
    assert below(tmp_path) == ["clock", "clock/mine"]


def test_help_does_not_load_the_generator(tmp_path: Path) -> None:
    program = (
        "import sys; sys.argv = ['mcp-gen', 'new', '--help']\n"
        "from mcp_protogen.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit:\n    pass\n"
        "heavy = {'jinja2', 'black', 'datamodel_code_generator', 'jsonschema'}\n"
        "print(sorted(heavy & {*sys.modules}), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stderr == "[]\n"
