"""docs/new.md agrees with the commands."""

import re
from itertools import product

import pytest
from mcp_protogen.scaffold.choices import (
    ProjectChoices,
    ProjectEngine,
    ProjectKind,
    ProjectTransport,
)
from mcp_protogen.scaffold.files import project_files
from mcp_protogen.scaffold.project_name import project_name
from mcp_protogen.scaffold.revisions import default_revisions
from support.folders import ROOT
from support.running import Run

PAGE = (ROOT / "docs" / "new.md").read_text()
# Said of every command elsewhere.
COMMON = {"--help", "--quiet"}


@pytest.mark.parametrize("command", ["new", "sync"])
def test_every_option_is_explained(command: str, mcp_gen: Run) -> None:
    options = set(re.findall(r"--[a-z-]+", mcp_gen(command, "--help").out))
    assert len(options) > 4
    assert {
        option
        for option in options - COMMON
        if f"`{option}" not in PAGE and f" {option} " not in PAGE
    } == set()


def test_page_lists_make_targets() -> None:
    for kind, transport in product(ProjectKind, ProjectTransport):
        project = ProjectChoices(project_name("x"), kind, transport, "2025-11-25", ("2025-11-25",))
        makefile = project_files(project)["Makefile"].decode()
        _, *offered = re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE)
        assert f"  {', '.join(offered)}\n" in PAGE


def test_page_states_default_revisions() -> None:
    assert f"`{','.join(default_revisions())}`" in PAGE


def test_the_files_that_are_shown_are_those_that_are_made() -> None:
    shown = re.findall(
        r"^ {4}(?: {2})?([\w./-]+) {2,}\S", PAGE.split("## The files")[1], re.MULTILINE
    )
    choices = ProjectChoices(
        project_name("word-clock"),
        ProjectKind.SERVER,
        ProjectTransport.BOTH,
        "2025-11-25",
        ("2025-11-25",),
        ProjectEngine.REDIS,
    )
    made = {*project_files(choices), "src/word_clock/protocol/"}
    named = {name for name in shown if not name.startswith("tests")}
    assert {"pyproject.toml", "server.py", "Dockerfile"} <= named
    assert {name for name in named if not any(path.endswith(name) for path in made)} == set()
