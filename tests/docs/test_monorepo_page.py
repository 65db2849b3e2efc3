"""The hooks and the workflow of the page about monorepos guard each member."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.docs.pages import block_texts
from support.update.specifications import commit_folder, git
from support.update.workflows import Runner, pre_commit_program

yaml: Any = importlib.import_module("yaml")  # comes without types

PAGE = "monorepo.md"
MEMBERS = ("weather", "shop")


@pytest.fixture
def repository(tmp_path: Path) -> Runner:
    """A repository with two members, both up to date."""
    (settings,) = block_texts(PAGE, "toml")
    hooks, workflow = block_texts(PAGE, "yaml")
    folder = tmp_path / "checkout"
    for member in MEMBERS:
        (folder / "services" / member).mkdir(parents=True)
        # Types alone are generated in less time.
        own = settings.replace("weather", member) + 'only = ["models"]\n'
        (folder / "services" / member / "pyproject.toml").write_text(own)
    first, second = (folder / "services" / member / "src" for member in MEMBERS)
    subprocess.run([sys.executable, "-m", "mcp_protogen", "--quiet"], cwd=first.parent, check=True)
    shutil.copytree(first / "weather", second / "shop")
    (folder / ".pre-commit-config.yaml").write_text(hooks)
    (folder / "workflow.yml").write_text(workflow)
    commit_folder(folder)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    workspace = {"GITHUB_WORKSPACE": str(folder), "MCP_GEN_SOURCE": ""}
    return Runner(folder, {**os.environ, **workspace, "PATH": path})


@pytest.mark.long
@pytest.mark.xdist_group("pre-commit")
def test_hooks_and_jobs_of_members_fail_for_the_member_that_differs(repository: Runner) -> None:
    wire = repository.folder / "services" / "weather" / "src" / "weather" / "wire"
    edited = wire / "v2025_11_25.py"
    with edited.open("a") as file:
        file.write("# edited\n")
    check_jobs(repository)
    git(repository.folder, "add", "--all")
    program = pre_commit_program()
    done = repository.run_hook(program, "run", "--all-files")
    assert done.returncode == 1
    weather, shop = hook_states(done)
    assert (weather, shop) == ("Failed", "Passed")
    assert "edited: v2025_11_25.py: this generated file was edited by hand" in done.stdout
    git(repository.folder, "reset", "--quiet", "--hard")
    (repository.folder / "services" / "shop" / "notes.txt").write_text("more")
    git(repository.folder, "add", "--all")
    done = repository.run_hook(program, "run")
    assert (done.returncode, hook_states(done)) == (0, ["Skipped", "Passed"])


def hook_states(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return the last word about each hook, in their order."""
    lines = [line for line in done.stdout.splitlines() if line.startswith("mcp-gen sync")]
    return [line.rpartition(".")[2].rpartition(")")[2] for line in lines]


def check_jobs(repository: Runner) -> None:
    """Require that the job of each member reports it, with paths of the repository."""
    (job,) = yaml.safe_load(repository.text("workflow.yml"))["jobs"].values()
    assert job["defaults"]["run"]["working-directory"] == "${{ matrix.member }}"
    assert job["strategy"]["matrix"]["member"] == [f"services/{member}" for member in MEMBERS]
    check, install = (
        next(step for step in job["steps"] if step.get("name") == name)
        for name in ("Check", "Install")
    )
    weather, shop = (
        repository.run(check, member) for member in job["strategy"]["matrix"]["member"]
    )
    assert (shop.returncode, "::error" in shop.stdout) == (0, False), shop.stdout
    assert weather.returncode == 1
    begin = "::error file=services/weather/src/weather/wire/v2025_11_25.py,title=edited::"
    assert weather.stdout.startswith(begin), weather.stdout
    refused = repository.run(install)
    assert refused.returncode != 0 and "MCP_GEN_SOURCE" in refused.stderr
