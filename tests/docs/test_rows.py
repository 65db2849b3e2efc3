"""Every row of the decision tables that does not speak of HTTP is named by a test."""

import json
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]

# Tables and rows that are about HTTP alone.
HTTP_TABLES = {"VH", "PH", "LF", "RJ"}
HTTP_ROWS = {
    *("HS10", "HC09", "HC10", "HC11", "HC12"),
    *("SS01", "SS02", "SS03", "SS04", "SS08", "SS10", "SS12", "SS14", "SS17", "SS21"),
    *("SC07", "SC08", "SC09", "SC13"),
    *("DS03", "DS06", "DS07", "DS08", "DS09", "DS11"),
}
ROW = re.compile(r"(?<![A-Z])(?:HS|HC|SS|SO|SC|PS|DS|MX|CN)\d\d(?!\d)")


def test_each_row_is_named(shared: Path) -> None:
    reference = json.loads((shared / "spec" / "negotiation.json").read_bytes())
    rows = {row["id"] for section in reference["sections"] for row in section["rows"]}
    wanted = {row for row in rows if row[:2] not in HTTP_TABLES} - HTTP_ROWS
    assert rows >= HTTP_ROWS
    named = {
        row
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__)
        for row in ROW.findall(path.read_text(encoding="utf-8"))
    }
    assert wanted - named == set()
    assert named - rows == set()
