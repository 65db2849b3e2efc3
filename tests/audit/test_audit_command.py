"""`mcp-gen audit` on the command line: formats, baselines, exit codes."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import formats
from support.audit.auditing import ROOT, write_sdk
from support.running import Run

pytestmark = pytest.mark.usefixtures("vectors_made_once")


@pytest.fixture
def run(mcp_gen: Run, tmp_path: Path) -> Run:
    """Audit a small module without vectors."""
    folder = write_sdk(tmp_path / "sdk", ROOT.replace("str", "int")).path[0]
    return lambda *more: mcp_gen("audit", folder, "--revision", "2025-11-25", "--no-vectors", *more)


def test_findings_end_with_exit_code_1_and_a_summary(run: Run) -> None:
    ran = run()
    assert ran.code == 1
    assert "Root.uri" in ran.out
    assert ran.out.endswith("1 of 145 types matched: 1 by name\n")
    assert ran.err == ""


def test_json_is_as_described(run: Run) -> None:
    document: Any = json.loads(run("--format", "json").out)
    assert formats.faults("audit-report", document) == []
    assert formats.faults("comparison", document["comparison"]) == []
    row = next(row for row in document["matched"] if row["type"] == "Root")
    assert (row["target"], row["how"]) == ("sdk.Root", "name")


@pytest.mark.parametrize("format", ["text", "markdown", "github", "html"])
def test_every_format_has_the_finding(format: str, run: Run) -> None:
    ran = run("--format", format)
    assert ran.code == 1
    assert "Root.uri" in ran.out


def test_a_reader_sees_the_worst_that_concerns_it(run: Run) -> None:
    ran = run("--for", "gateway", "--only", "breaking", "--format", "json")
    changes = json.loads(ran.out)["comparison"]["changes"]
    assert {change["severity"]["gateway"] for change in changes} == {"breaking"}


def test_known_findings_do_not_fail_and_new_ones_do(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    assert run("--baseline", str(file), "--write-baseline").code == 0
    document = json.loads(file.read_bytes())
    assert formats.faults("baseline", document) == []
    assert run("--baseline", str(file)).code == 0
    document["findings"].remove({"code": "field-type", "item": "Root.uri"})
    file.write_text(json.dumps(document))
    ran = run("--baseline", str(file), "--format", "json")
    assert ran.code == 1
    assert [c["item"] for c in json.loads(ran.out)["comparison"]["changes"]] == ["Root.uri"]


def test_ignored_findings_do_not_fail(run: Run) -> None:
    ran = run("--ignore", "field-*:Root.*", "--ignore", "*-missing*", "--ignore", "unknown-*")
    assert ran.code == 0
    assert ran.out.endswith(" findings ignored\n")
    ran = run("--ignore", "field-tpe")
    assert (ran.code, ran.out) == (2, "")
    assert "did you mean field-type" in ran.err


def test_fixed_findings_are_reported_without_failing(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    run("--baseline", str(file), "--write-baseline")
    document = json.loads(file.read_bytes())
    document["findings"].append({"code": "type-missing", "item": "Gone"})
    file.write_text(json.dumps(document))
    ran = run("--baseline", str(file))
    assert ran.code == 0
    assert "fixed: type-missing: Gone\n" in ran.out


def test_notes_of_a_baseline_stay_when_it_is_written_anew(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    run("--baseline", str(file), "--write-baseline")
    document = json.loads(file.read_bytes())
    document["findings"][0]["note"] = "we know"
    document["findings"].append({"code": "type-missing", "item": "Gone", "note": "gone"})
    file.write_text(json.dumps(document))
    run("--baseline", str(file), "--write-baseline")
    entries = json.loads(file.read_bytes())["findings"]
    assert entries[0]["note"] == "we know"
    assert all(entry["item"] != "Gone" for entry in entries)
    assert entries == sorted(entries, key=lambda entry: (entry["code"], entry["item"]))


def test_a_baseline_that_cannot_be_used_is_one_problem(run: Run, tmp_path: Path) -> None:
    ran = run("--baseline", str(tmp_path / "known.json"))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error[bad-baseline]: ") and "No such file" in ran.err


def test_writing_a_baseline_needs_a_name(run: Run) -> None:
    ran = run("--write-baseline")
    assert ran.code == 2
    assert "conflicting-options" in ran.err


def test_a_report_can_be_written_to_a_file(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "audit.html"
    ran = run("--format", "html", "-o", str(file))
    assert (ran.code, ran.out) == (1, "")
    assert "Root.uri" in file.read_text(encoding="utf-8")


def test_problems_take_the_format_that_programs_read(run: Run, tmp_path: Path) -> None:
    ran = run("--baseline", str(tmp_path / "none.json"), "--format", "json")
    assert (ran.code, ran.err) == (2, "")
    document = json.loads(ran.out)
    assert formats.faults("report", document) == []
    assert document["problems"][0]["code"] == "bad-baseline"


def test_an_sdk_without_findings_ends_with_exit_code_0(mcp_gen: Run) -> None:
    package = Path(__file__).resolve().parents[2] / "generated" / "mcp_revisions"
    ran = mcp_gen("audit", str(package / "v2025_11_25"), "--no-vectors")
    assert ran.code == 0
    assert ran.out.endswith("145 of 145 types matched: 145 by name\n")
