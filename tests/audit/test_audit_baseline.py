"""Baselines where several findings have a code and an item in common: their number is known."""

import json
from pathlib import Path

from mcp_protogen.audit.severities import Finding, judged
from mcp_protogen.compare.baseline import Baseline, Entry, read_baseline, sort, write_baseline
from mcp_protogen.compare.change import Change

KEY = ("field-type", "Root.uri")


def found(*messages: str) -> list[Change]:
    """Findings that differ in their messages alone."""
    return [judged(Finding(*KEY, message)) for message in messages]


def known(count: int) -> Baseline:
    return Baseline("2025-11-25", {KEY: Entry(count)})


def test_as_many_as_are_known_are_known() -> None:
    held = sort(found("one", "other"), known(2))
    assert (len(held.known), held.new, held.fixed) == (2, (), ())


def test_one_more_than_is_known_shows_all_of_them() -> None:
    held = sort(found("one", "other"), known(1))
    assert ([change.message for change in held.new], held.known) == (["one", "other"], ())


def test_one_less_than_is_known_is_fixed() -> None:
    held = sort(found("one"), known(3))
    assert (len(held.known), held.new, held.fixed) == (1, (), (KEY, KEY))


def test_the_number_is_written_where_it_is_more_than_one(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    other = judged(Finding("field-type", "Root.name", ""))
    write_baseline(file, "2025-11-25", [*found("one", "other"), other])
    assert json.loads(file.read_bytes())["findings"] == [
        {"code": "field-type", "item": "Root.name"},
        {"code": "field-type", "item": "Root.uri", "count": 2},
    ]
    assert read_baseline(file, "2025-11-25").entries[KEY] == Entry(2)
