"""Standard output of commands in encodings other than UTF-8, such as a pipe on Windows."""

import html
import json
import sys
from io import BytesIO, TextIOWrapper
from pathlib import Path

import pytest
from mcp_protogen.cli import main
from mcp_protogen.cli.console import prepare_streams, say
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.servers.inspect.recording import format_lines
from support.inspection.broken_rules import tool, tools
from support.inspection.transcripts import transcript
from support.tables import case

TEXT = "Écho → 😀 ∞ "
ENCODINGS = ("ascii", "latin-1", "cp1252", "cp437", "cp932", "utf-8")


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    """A transcript with one fault, and characters of several code pages."""
    file = tmp_path / "made-up.jsonl"
    lines = "".join(format_lines([transcript(tools(tool(name=TEXT)))], {"target": TEXT}))
    file.write_text(lines, "utf-8")
    return file


def output(monkeypatch: pytest.MonkeyPatch, encoding: str) -> BytesIO:
    """Put a stream of an encoding in the place of standard output; return its bytes."""
    content = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(content, encoding=encoding))
    prepare_streams()
    return content


def test_json_is_json_in_every_encoding(monkeypatch: pytest.MonkeyPatch) -> None:
    value = {TEXT: [TEXT]}
    page = json.dumps(value, ensure_ascii=False)
    for encoding in (*ENCODINGS, "utf-16"):
        for format in ("json", "jsonl", "text"):
            with case(f"{encoding} {format}"):
                content = output(monkeypatch, encoding)
                say(page, format)
                found = content.getvalue()
                assert json.loads(found.decode(encoding)) == value
                if format != "text" and encoding != "utf-16":
                    # Most programs read UTF-8, whatever the code page.
                    assert json.loads(found) == value
    content = output(monkeypatch, "utf-8")
    say(page, "json")
    assert content.getvalue() == page.encode()


def test_reports_are_written_in_every_format_and_encoding(
    monkeypatch: pytest.MonkeyPatch, recording: Path
) -> None:
    for encoding in ENCODINGS:
        for format in PageFormat:
            with case(f"{encoding} {format}"):
                content = output(monkeypatch, encoding)
                monkeypatch.setattr(sys, "argv", ["mcp-gen", "inspect", str(recording)])
                sys.argv += ["--format", format]
                with pytest.raises(SystemExit) as ended:
                    main()
                assert ended.value.code == 1
                text = content.getvalue().decode(encoding)
                assert "tool-name" in text
                if format == PageFormat.JSON:
                    assert json.loads(content.getvalue())["target"] == TEXT
                if format == PageFormat.HTML:
                    assert TEXT.strip() in html.unescape(text)
