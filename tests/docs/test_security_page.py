"""The page on security names existing tests and listed duties, and its program runs."""

import re
from pathlib import Path

import pytest
from mcp_revisions import ToolError
from support.docs.pages import example, page
from support.folders import ROOT
from support.tables import case

NAME = "security.md"


def test_each_claim_names_a_test_that_there_is() -> None:
    named = re.findall(r"`([\w/]+\.py)::(\w+)`", page(NAME))
    assert len(named) > 25
    for file, test in named:
        with case(f"{file}::{test}"):
            source = (ROOT / "tests" / file).read_text(encoding="utf-8")
            assert re.search(rf"^\s*(async )?def {test}\(", source, re.MULTILINE)
    for file in re.findall(r"`(examples/\w+\.py)`", page(NAME)):
        assert (ROOT / file).exists()


def test_the_duties_are_those_of_the_lists() -> None:
    lists = page("requirements.md") + page("requirements-authorization.md")
    duties = set(re.findall(r"^\| (\S+) \|.*\| the application's duty \|$", lists, re.MULTILINE))
    named = set(re.findall(r"\b(?:S\d|[A-Z]{2})-\d\d\b", page(NAME)))
    assert named and named <= duties


def test_no_name_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "milk").write_text("Buy milk.")
    (tmp_path / "secret").write_text("secret")
    (tmp_path / "notes" / "link").symlink_to(tmp_path / "secret")
    program = example(NAME, "paths", {"/srv/notes": str(tmp_path / "notes")})
    assert program["read"]("milk") == "Buy milk."
    for name in ("../secret", str(tmp_path / "secret"), "link", "a/../../secret"):
        with case(name), pytest.raises(ToolError, match="no such note"):
            program["read"](name)
