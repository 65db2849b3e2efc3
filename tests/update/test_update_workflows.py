"""The ready-made workflows and hooks work, as far as they can be tested here."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.resources import schema_folder
from support.docs.pages import block_texts
from support.folders import ROOT
from support.update.specifications import OLDER, Spec, commit_folder, git
from support.update.workflows import Runner, pre_commit_program

yaml: Any = importlib.import_module("yaml")  # comes without types

WORKFLOWS = ROOT / "docs" / "workflows"
PROJECT = '[tool.mcp-gen]\nrevision = ["2024-11-05"]\nout = "pkg"\n'
# Plays the program of GitHub: notes how it was called, and says which issue is open.
GH = """#!/bin/sh
printf '%s ' "$@" >> calls.txt
echo >> calls.txt
case "$1 $2" in "issue list") cat open.txt ;; esac
"""


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    folder = tmp_path / "checkout"
    (tmp_path / "bin").mkdir()
    folder.mkdir()
    (tmp_path / "bin" / "gh").write_text(GH)
    (tmp_path / "bin" / "gh").chmod(0o755)
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "open.txt").write_text("")
    path = os.pathsep.join(
        (str(tmp_path / "bin"), str(Path(sys.executable).parent), os.environ["PATH"])
    )
    files = {"GITHUB_OUTPUT": "output.txt", "GITHUB_STEP_SUMMARY": "summary.md"}
    return Runner(folder, {**os.environ, **files, "PATH": path, "LABEL": "mcp-schemas"})


def steps(workflow: str, job: str) -> dict[str, dict[str, Any]]:
    """The steps of a job that have a name, by it."""
    document = yaml.safe_load((WORKFLOWS / workflow).read_text())
    return {step["name"]: step for step in document["jobs"][job]["steps"] if "name" in step}


@pytest.mark.parametrize("path", sorted(WORKFLOWS.iterdir()), ids=lambda path: path.name)
def test_each_is_yaml_of_the_format_its_reader_expects(path: Path) -> None:
    document = yaml.safe_load(path.read_text())
    if path.name == "pre-commit-config.yaml":
        assert document["repos"][0]["hooks"][0]["entry"] == "mcp-gen --check"
        return
    # YAML 1.1 reads the key on as true.
    assert document[True].keys() <= {"schedule", "workflow_dispatch", "push", "pull_request"}
    for job in document["jobs"].values():
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)


def test_news_become_a_summary_and_a_new_issue(runner: Runner, spec: Spec, tmp_path: Path) -> None:
    job = steps("mcp-schemas.yml", "look")
    commit_folder(spec.folder)  # snapshots, which differ in their prose from what the pins are of
    done = runner.run(job["Look"], SOURCE=str(spec.folder))
    assert done.returncode == 0, done.stderr
    assert runner.text("output.txt") == "status=1\n"
    assert f"# {OLDER} has moved" in runner.text("summary.md")
    assert runner.run(job["Cut"]).returncode == 0
    assert f"# {OLDER} has moved" in runner.text("body.md")
    done = runner.run(steps("mcp-schemas.yml", "keep")["Keep an issue"], STATUS="1")
    assert done.returncode == 0, done.stderr
    listed, label, create = runner.text("calls.txt").splitlines()
    assert (listed.split()[:2], label.split()[:2]) == (["issue", "list"], ["label", "create"])
    assert create.split()[:4] == ["issue", "create", "--label", "mcp-schemas"]
    assert create.split()[-2:] == ["--body-file", "body.md"]


def test_an_open_issue_is_kept_up_to_date(runner: Runner) -> None:
    news = "a" + "é" * 70_000
    (runner.folder / "news.md").write_text(news)
    (runner.folder / "open.txt").write_text("17\n")
    assert runner.run(steps("mcp-schemas.yml", "look")["Cut"]).returncode == 0
    done = runner.run(steps("mcp-schemas.yml", "keep")["Keep an issue"], STATUS="1")
    assert done.returncode == 0, done.stderr
    assert runner.text("calls.txt").splitlines()[1:] == ["issue edit 17 --body-file body.md "]
    cut = "\n\nCut here; the summary of the run has all of it.\n"
    assert runner.text("body.md") == news[:60_000] + cut


def test_without_news_the_issue_is_closed(runner: Runner) -> None:
    (runner.folder / "open.txt").write_text("17\n")
    done = runner.run(steps("mcp-schemas.yml", "keep")["Keep an issue"], STATUS="0")
    assert done.returncode == 0, done.stderr
    (closed,) = runner.text("calls.txt").splitlines()[1:]
    assert closed.startswith("issue close 17 ")
    (runner.folder / "open.txt").write_text("")
    (runner.folder / "calls.txt").unlink()
    assert runner.run(steps("mcp-schemas.yml", "keep")["Keep an issue"], STATUS="0").returncode == 0
    assert len(runner.text("calls.txt").splitlines()) == 1


def test_a_source_that_cannot_be_read_fails_the_job(runner: Runner) -> None:
    done = runner.run(steps("mcp-schemas.yml", "look")["Look"], SOURCE="nowhere")
    assert done.returncode == 1
    assert runner.text("output.txt") == "status=2\n"
    assert "error[not-a-source]" in done.stderr


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package of the project."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text(PROJECT)
    subprocess.run([sys.executable, "-m", "mcp_protogen", "--quiet"], cwd=folder, check=True)
    return folder / "pkg"


@pytest.mark.xdist_group("pre-commit")
def test_the_check_annotates_what_is_out_of_date(runner: Runner, package: Path) -> None:
    check = steps("mcp-gen-check.yml", "check")["Check"]
    shutil.copytree(package, runner.folder / "pkg")
    assert runner.run(check).returncode == 0
    with (runner.folder / "pkg" / "__init__.py").open("a") as file:
        file.write("# edited\n")
    done = runner.run(check)
    assert done.returncode == 1
    assert "::error file=pkg/__init__.py,title=edited::" in done.stdout


@pytest.mark.parametrize(
    ("workflow", "job"), [("mcp-schemas.yml", "look"), ("mcp-gen-check.yml", "check")]
)
def test_the_generator_is_installed_from_what_the_repository_says(
    runner: Runner, workflow: str, job: str
) -> None:
    install = steps(workflow, job)["Install"]
    assert install["env"] == {"MCP_GEN_SOURCE": "${{ vars.MCP_GEN_SOURCE }}"}
    python = runner.folder.parent / "bin" / "python"  # plays the interpreter of the job
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o755)
    done = runner.run(install, MCP_GEN_SOURCE="git+https://example.com/a b@main")
    assert done.stdout.splitlines() == ["-m", "pip", "install", "git+https://example.com/a b@main"]
    done = runner.run(install, MCP_GEN_SOURCE="")
    assert done.returncode != 0
    assert "MCP_GEN_SOURCE" in done.stderr and done.stdout == ""


@pytest.fixture(scope="module")
def pre_commit() -> Path:
    return pre_commit_program()


def assert_guards(runner: Runner, package: Path, pre_commit: Path) -> None:
    """Require that the hook passes for an up-to-date package, and names edited or deleted files."""
    shutil.copytree(package, runner.folder / "pkg")
    commit_folder(runner.folder)
    done = runner.run_hook(pre_commit, "run", "--all-files")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout
    with (runner.folder / "pkg" / "__init__.py").open("a") as file:
        file.write("# edited\n")
    git(runner.folder, "add", "--all")
    done = runner.run_hook(pre_commit, "run", "--all-files")
    assert done.returncode == 1
    assert "edited: __init__.py: this generated file was edited by hand" in done.stdout
    git(runner.folder, "rm", "--quiet", "--force", "pkg/__init__.py")
    done = runner.run_hook(pre_commit, "run")
    assert done.returncode == 1
    assert "missing: __init__.py" in done.stdout


@pytest.mark.xdist_group("pre-commit")
def test_the_hook_of_the_example_guards_commits(
    runner: Runner, pre_commit: Path, package: Path
) -> None:
    shutil.copy(WORKFLOWS / "pre-commit-config.yaml", runner.folder / ".pre-commit-config.yaml")
    assert_guards(runner, package, pre_commit)


@pytest.fixture
def clone_to_install(tmp_path: Path) -> Path:
    """A clone of the repository, as far as it can be installed from."""
    folder = tmp_path / "mcp-gen"
    for name in ("codegen", "templates"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    shutil.copytree(schema_folder(), folder / "schema")
    for name in (".pre-commit-hooks.yaml", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    commit_folder(folder)
    return folder


@pytest.mark.long
@pytest.mark.xdist_group("pre-commit")
def test_a_hook_that_installs_the_generator_guards_commits(
    runner: Runner, pre_commit: Path, clone_to_install: Path, package: Path
) -> None:
    (example,) = block_texts("update.md", "yaml")
    assert "[SOURCE]" in example
    here = example.replace("[SOURCE]", f"[{clone_to_install}]")
    (runner.folder / ".pre-commit-config.yaml").write_text(here)
    assert_guards(runner, package, pre_commit)
