"""`mcp-gen inspect` on the command line: a recording judged again, forms, baselines, wrong use."""

import json
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.inspection.rules import rules
from mcp_protogen.inspection.transcript import written
from support import forms
from support.folders import ROOT
from support.inspection.broken_rules import BROKEN_AND_KEPT, tool, tools
from support.inspection.sessions import codes, session
from support.running import Run
from support.tables import case

PAGE = ROOT / "docs" / "inspect.md"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of two sessions with one fault."""
    listed = tools(tool(name="add two"))
    sessions = [session(listed, revision=one) for one in ("2025-06-18", "2025-11-25")]
    file = tmp_path / "made-up.jsonl"
    file.write_text("".join(written(sessions, {"target": "made-up"})), "utf-8")
    return file


def test_text_has_head_table_findings_and_a_verdict(mcp_gen: Run, recording: Path) -> None:
    ran = mcp_gen("inspect", str(recording))
    assert ran.code == 1
    assert ran.err == ""
    lines = ran.out.splitlines()
    assert lines[0] == "made up 1"
    assert "  2025-11-25  yes" in lines
    assert any(line.startswith("  [tool-name] https://modelcontextprotocol.io/") for line in lines)
    assert any(line.endswith("at  /result/tools/0/name") for line in lines)
    assert lines[-1] == "It speaks 2025-06-18, 2025-11-25: 1 finding, 1 SHOULD."


def test_every_form_has_the_finding(mcp_gen: Run, recording: Path) -> None:
    for form in ("markdown", "github", "html"):
        with case(form):
            ran = mcp_gen("inspect", str(recording), "--format", form)
            assert ran.code == 1
            assert "tool-name" in ran.out


def test_json_is_as_described(mcp_gen: Run, recording: Path) -> None:
    document: Any = json.loads(mcp_gen("inspect", str(recording), "--format", "json").out)
    assert forms.faults("inspection-report", document) == []
    assert forms.faults("comparison", document["comparison"]) == []
    (found,) = document["findings"]
    assert (found["code"], found["pointer"]) == ("tool-name", "/result/tools/0/name")
    assert found["sessions"] == ["2025-11-25 over stdio"]


def test_known_findings_do_not_fail(mcp_gen: Run, recording: Path, tmp_path: Path) -> None:
    known = tmp_path / "known.json"
    assert (
        mcp_gen("inspect", str(recording), "--baseline", str(known), "--write-baseline").code == 0
    )
    ran = mcp_gen("inspect", str(recording), "--baseline", str(known))
    assert ran.code == 0
    assert "1 finding known from the baseline" in ran.out
    assert mcp_gen("inspect", str(recording), "--ignore", "tool-name").code == 0


def test_wrong_use_is_a_problem(mcp_gen: Run, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"traffic": 1, "inspection": {}}\n{"at": 1}\n', "utf-8")
    rows = {
        "bad-recording": (str(broken),),
        "unknown-revision": ("server", "--revision", "2020-01-01"),
        "wrong-usage": ("server", "--call", "add=[1]"),
        "no-connection": (str(tmp_path / "no-such-program"),),
        "unknown-code": ("server", "--ignore", "tool-nam"),
    }
    for code, words in rows.items():
        with case(code):
            ran = mcp_gen("inspect", *words)
            assert ran.code == 2
            assert ran.err.startswith(f"error[{code}]")


def test_each_rule_is_explained_and_in_the_page(mcp_gen: Run) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for rule in rules().values():
        with case(rule.code):
            assert f"| `{rule.code}` | {rule.level} | {rule.text} |" in page
    explained = mcp_gen("explain", "origin-accepted").out
    assert "basic/transports/streamable-http#security--endpoint" in explained


def test_a_recording_of_any_session_is_read_as_it_was_written(mcp_gen: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    sessions = [broken for broken, _ in BROKEN_AND_KEPT.values()]
    file.write_text("".join(written(sessions, {"target": "all"})), "utf-8")
    document: Any = json.loads(mcp_gen("inspect", str(file), "--format", "json").out)
    found = {one["code"] for one in document["findings"]}
    assert found == codes(*sessions)
