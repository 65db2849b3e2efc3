"""`mcp-gen inspect` on the command line: a recording judged again, forms, baselines, wrong use."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.servers.inspect.recording import format_lines, read
from mcp_protogen.servers.inspect.rules import rules
from support import formats
from support.folders import ROOT
from support.inspection.broken_rules import BROKEN_AND_KEPT, tool, tools
from support.inspection.transcripts import codes, exchange, transcript
from support.running import Run
from support.tables import case

PAGE = ROOT / "docs" / "inspect.md"
PROBLEMS = ROOT / "codegen" / "mcp_protogen" / "cli" / "explanations.md"


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A recording of two connections with one fault."""
    listed = tools(tool(name="add two"))
    transcripts = [
        transcript(listed, revision=revision) for revision in ("2025-06-18", "2025-11-25")
    ]
    file = tmp_path / "made-up.jsonl"
    file.write_text("".join(format_lines(transcripts, {"target": "made-up"})), "utf-8")
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


def test_every_format_has_the_finding_and_those_for_people_the_head(
    mcp_gen: Run, recording: Path
) -> None:
    heads = {
        "markdown": (
            "- server: made up 1\n",
            "- declares: prompts, resources, tools\n",
            "\n| 2025-11-25 | yes |\n",
        ),
        "html": ("<dd>prompts, resources, tools</dd>", "2025-11-25</th><td>yes</td>"),
        "github": (),
    }
    for format, parts in heads.items():
        with case(format):
            ran = mcp_gen("inspect", str(recording), "--format", format)
            assert ran.code == 1
            assert "tool-name" in ran.out
            assert all(part in ran.out for part in parts)


def test_json_is_as_described(mcp_gen: Run, recording: Path) -> None:
    document: Any = json.loads(mcp_gen("inspect", str(recording), "--format", "json").out)
    assert formats.faults("inspection-report", document) == []
    assert formats.faults("comparison", document["comparison"]) == []
    (found,) = document["findings"]
    assert (found["code"], found["pointer"]) == ("tool-name", "/result/tools/0/name")
    assert found["sessions"] == ["2025-11-25 over stdio"]


@pytest.mark.skipif(os.name == "nt", reason="has no modes")
def test_only_its_user_can_read_a_new_recording(
    mcp_gen: Run, recording: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcripts = read(recording)[1]

    def inspect(*_: object) -> object:
        return transcripts

    monkeypatch.setattr("mcp_protogen.servers.inspect.inspection_page.inspect", inspect)
    file = tmp_path / "record.jsonl"
    for before in (None, 0o644):
        with case(str(before)):
            if before is not None:
                file.chmod(before)
            assert mcp_gen("inspect", "https://example.com/mcp", "--record", str(file)).code == 1
            assert file.stat().st_mode & 0o777 == 0o600
    assert len(read(file)[1]) == len(transcripts)


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


def test_each_rule_is_explained(mcp_gen: Run) -> None:
    listed = mcp_gen("explain").out
    for code in rules():
        with case(code):
            assert re.search(rf"(?m)^{code} +(\S+, )?inspect", listed)
    explained = mcp_gen("explain", "origin-accepted").out
    assert "basic/transports/streamable-http#security--endpoint" in explained


def test_rows_of_the_page_are_rules() -> None:
    rows = re.findall(r"(?m)^\| `([\w-]+)` \| (.+) \| (.+) \|$", PAGE.read_text("utf-8"))
    assert rows
    for code, level, text in rows:
        with case(code):
            assert (rules()[code].level, rules()[code].text) == (level, text)


def test_no_code_of_a_rule_is_that_of_a_problem() -> None:
    headings = re.findall(r"(?m)^## ([\w-]+):", PROBLEMS.read_text("utf-8"))
    assert headings and not rules().keys() & set(headings)


def test_a_file_that_is_no_recording_is_refused_with_the_line_at_fault(tmp_path: Path) -> None:
    head = '{"traffic": 1, "inspection": {}}\n'
    opened = head + '{"session": {"revision": "2025-11-25", "transport": "stdio"}}\n'
    rows = {
        "": ":1: it is not JSON",
        "[" * 100_000: ":1: it is not JSON",
        '{"traffic": 1}': ":1: it is not a recording of mcp-gen inspect",
        head: ': it has no line "session"',
        opened: ': it has no line "session", or one without an exchange',
        head + '{"session": {"revision": 5}}': ":2: a member is missing or invalid",
        opened + '{"exchange": {"headers": {"a": 1}}}': ":3: a member is missing or invalid",
        opened + '{"exchange": {"messages": []}}': ":3: a member is missing or invalid",
        opened + '{"exchange": {}}': ":3: a member is missing",
        head
        + '{"exchange": {"probe": "open"}}': ':2: no line "session" or "exchange" comes before it',
    }
    file = tmp_path / "bad.jsonl"
    for text, message in rows.items():
        with case(text[:80]):
            file.write_text(text, "utf-8")
            with pytest.raises(ProblemError, match=re.escape(f"{file}{message}")):
                read(file)


def test_texts_of_a_server_do_not_break_a_recording(tmp_path: Path) -> None:
    hostile = (
        b'{"a": "\\ud800 \xe2\x80\xa8 \xc2\x85"}',
        b"[" * 100_000,
        b"\xff",
        b'\xef\xbb\xbf{"a": 1} {"b": NaN}',
        "{}".encode("utf-16"),
    )
    sent = transcript(exchange("ping", None, *hostile))
    file = tmp_path / "hostile.jsonl"
    text = "".join(format_lines([sent], {"target": "hostile"}))
    file.write_text(text, "utf-8")
    _, (found,) = read(file)
    assert tuple(message.data for message in found.exchanges[-1].messages) == hostile


def test_recording_of_an_earlier_version_is_judged_again(tmp_path: Path) -> None:
    listed = transcript(tools(tool(description="x")), transport="stdio")
    file = tmp_path / "earlier.jsonl"
    text = "".join(format_lines([listed], {"target": "earlier"}))
    file.write_text(text.replace('"x"', 'NaN, "a": "\\ud83d"'), "utf-8")
    _, transcripts = read(file)
    assert codes(*transcripts) == {"not-strict-json"}


def test_recording_of_any_transcript_is_read_as_written(mcp_gen: Run, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    transcripts = [broken for broken, _ in BROKEN_AND_KEPT.values()]
    file.write_text("".join(format_lines(transcripts, {"target": "all"})), "utf-8")
    document: Any = json.loads(mcp_gen("inspect", str(file), "--format", "json").out)
    found = {finding["code"] for finding in document["findings"]}
    assert found == codes(*transcripts)
