"""Every row of the decision tables is named by a test."""

import json
import re
from pathlib import Path

from support import missing

TESTS = Path(__file__).resolve().parents[1]

ROW = re.compile(r"(?<![A-Z])(?:HS|HC|VH|SS|SO|SC|PS|PH|LF|DS|MX|RJ|CN)\d\d(?!\d)")


def test_each_row_is_named() -> None:
    file = missing.reference("spec/negotiation.json", "that tests name each row of the tables")
    reference = json.loads(file.read_bytes())
    rows = {row["id"] for section in reference["sections"] for row in section["rows"]}
    named = {
        row
        for path in TESTS.rglob("test_*.py")
        if path != Path(__file__)
        for row in ROW.findall(path.read_text(encoding="utf-8"))
    }
    assert rows - named == set()
    assert named - rows == set()
