"""The JSON reports of `mcp-gen new` and `mcp-gen sync` have the published format."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.pipeline.output.drift import DriftKind
from mcp_protogen.pipeline.reports.report import Action, RunStatus
from support import formats
from support.running import Ran, Run

JSON = ("--format", "json")


def document(ran: Ran) -> dict[str, Any]:
    """Return the output of a successful run."""
    data: dict[str, Any] = json.loads(ran.out)
    assert formats.faults("report", data) == []
    assert ran.err == ""
    return data


@pytest.mark.usefixtures("little")
def test_reports_of_both_commands_are_valid(mcp_gen: Run, tmp_path: Path) -> None:
    made = document(mcp_gen("new", "clock", "--revision", "2025-11-25", *JSON))
    assert (made["command"], made["status"], made["folder"]) == ("new", "fine", "clock")
    assert made["files"]

    protocol = tmp_path / "clock" / "src" / "clock" / "protocol"
    same = document(mcp_gen("sync", "clock", *JSON))
    assert (same["command"], same["status"], same["files"]) == ("sync", "fine", [])

    (protocol / "py.typed").unlink()
    (protocol / "bridge.py").write_text("mine")
    checked = document(mcp_gen("sync", "clock", "--check", *JSON))
    assert checked["status"] == "differs"
    assert {cause["kind"] for cause in checked["drift"]} == {"edited", "missing"}
    assert "mcp-gen sync --force" in checked["summary"]

    refused = document(mcp_gen("sync", "clock", *JSON))
    assert (refused["status"], refused["problems"][0]["code"]) == ("failed", "edited-file")

    done = document(mcp_gen("sync", "clock", "--force", *JSON))
    assert done["status"] == "fine"
    assert [file["path"] for file in done["files"]] == ["bridge.py", "py.typed"]


@pytest.mark.parametrize("arguments", [("new", "json"), ("sync", "nowhere")])
def test_reports_of_failures_are_valid(arguments: tuple[str, str], mcp_gen: Run) -> None:
    failed = document(mcp_gen(*arguments, *JSON))
    assert (failed["command"], failed["status"]) == (arguments[0], "failed")


def test_the_format_knows_the_same_words_as_the_code() -> None:
    definitions = formats.published_schema("report")["$defs"]
    assert {*definitions["cause"]["properties"]["kind"]["enum"]} == {*DriftKind}
    assert {*definitions["file"]["properties"]["action"]["enum"]} == {*Action}
    assert {*formats.published_schema("report")["properties"]["status"]["enum"]} == {*RunStatus}
