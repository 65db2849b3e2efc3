"""The hooks and the workflow of the page about monorepos guard each member."""

import importlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from support.docs.pages import block_texts
from support.running import Ran, Run
from support.update.specifications import commit_folder, git
from support.update.workflows import Runner, pre_commit_program

yaml: Any = importlib.import_module("yaml")  # comes without types

PAGE = "monorepo.md"
MEMBERS = ("weather", "shop")


@pytest.fixture
def repository(tmp_path: Path, mcp_gen: Run, monkeypatch: pytest.MonkeyPatch) -> Runner:
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
    monkeypatch.chdir(first.parent)
    assert mcp_gen("--quiet").code == 0
    shutil.copytree(first / "weather", second / "shop")
    (folder / ".pre-commit-config.yaml").write_text(hooks)
    (folder / "workflow.yml").write_text(workflow)
    commit_folder(folder)
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return Runner(folder, {**os.environ, "MCP_GEN_SOURCE": "", "PATH": path})


@pytest.fixture
def edited_member(repository: Runner) -> Runner:
    """The same, with a generated file of the first member edited."""
    wire = repository.folder / "services" / MEMBERS[0] / "src" / MEMBERS[0] / "wire"
    with (wire / "v2025_11_25.py").open("a") as file:
        file.write("# edited\n")
    return repository


@pytest.mark.long
@pytest.mark.xdist_group("pre-commit")
def test_hook_runs_for_the_member_that_a_commit_touches(edited_member: Runner) -> None:
    weather, shop = yaml.safe_load(edited_member.text(".pre-commit-config.yaml"))["repos"][0][
        "hooks"
    ]
    assert json.loads(json.dumps(weather).replace("weather", "shop")) == shop
    git(edited_member.folder, "add", "--all")
    done = edited_member.run_hook(pre_commit_program(), "run")
    lines = [line for line in done.stdout.splitlines() if line.startswith("mcp-gen sync")]
    assert [line.rpartition(".")[2].rpartition(")")[2] for line in lines] == ["Failed", "Skipped"]
    assert "edited: v2025_11_25.py: this generated file was edited by hand" in done.stdout


def test_job_fails_for_the_member_that_differs_with_paths_of_the_repository(
    edited_member: Runner, mcp_gen: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = yaml.safe_load(edited_member.text("workflow.yml"))["jobs"].values()
    assert job["defaults"]["run"]["working-directory"] == "${{ matrix.member }}"
    check, install = (
        next(step for step in job["steps"] if step.get("name") == name)
        for name in ("Check", "Install")
    )
    program, *arguments = check["run"].split()
    assert program == "mcp-gen"
    monkeypatch.setenv("GITHUB_WORKSPACE", str(edited_member.folder))
    members = [f"services/{member}" for member in MEMBERS]
    assert job["strategy"]["matrix"]["member"] == members
    found: list[Ran] = []
    for member in members:
        monkeypatch.chdir(edited_member.folder / member)
        found.append(mcp_gen(*arguments))
    weather, shop = found
    assert (shop.code, "::error" in shop.out) == (0, False), shop
    begin = "::error file=services/weather/src/weather/wire/v2025_11_25.py,title=edited::"
    assert (weather.code, weather.out[: len(begin)]) == (1, begin)
    refused = edited_member.run(install)
    assert refused.returncode != 0 and "MCP_GEN_SOURCE" in refused.stderr
