"""Baselines in which several findings share a code and an item: their number is stored."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.audit.severities import AuditFinding, rate
from mcp_protogen.pipeline.reports.baseline import (
    Baseline,
    BaselineEntry,
    parse_ignore_entry,
    read_baseline,
    sort,
    write_baseline,
)
from mcp_protogen.pipeline.reports.change import ReportedChange
from support import tables

KEY = ("field-type", "Root.uri")


def make_findings(*messages: str) -> list[ReportedChange]:
    """Return findings that differ only in their messages."""
    return [rate(AuditFinding(*KEY, message)) for message in messages]


def make_baseline(count: int) -> Baseline:
    return Baseline("2025-11-25", {KEY: BaselineEntry(count)})


def test_as_many_as_are_known_are_known() -> None:
    held = sort(make_findings("one", "other"), make_baseline(2))
    assert (len(held.known), held.new, held.fixed) == (2, (), ())


def test_extra_finding_shows_all_with_its_key() -> None:
    held = sort(make_findings("one", "other"), make_baseline(1))
    assert ([change.message for change in held.new], held.known) == (["one", "other"], ())


def test_missing_finding_counts_as_fixed() -> None:
    held = sort(make_findings("one"), make_baseline(3))
    assert (len(held.known), held.new, held.fixed) == (1, (), (KEY, KEY))


def in_places(first: str, *others: str) -> list[ReportedChange]:
    """Return a finding named after the first of its places."""
    several = (first, *others) if others else ()
    return [replace(rate(AuditFinding(KEY[0], first, "lost")), places=several)]


def test_places_left_after_partial_fix_are_known(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    write_baseline(file, "2025-11-25", in_places("A.x", "B.x", "C.x"))
    baseline = read_baseline(file, "2025-11-25")
    held = sort(in_places("B.x", "C.x"), baseline)
    assert (len(held.known), held.new, held.fixed) == (1, (), ((KEY[0], "A.x"),))
    held = sort(in_places("C.x"), baseline)
    assert (len(held.known), held.new, len(held.fixed)) == (1, (), 2)
    held = sort(in_places("A.x", "B.x", "C.x", "D.x"), baseline)
    assert (len(held.new), held.known) == (1, ())


def test_a_name_for_a_cause_is_what_it_is_known_by(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    everywhere = [replace(change, places=("A", "B")) for change in make_findings("lenient")]
    write_baseline(file, "2025-11-25", everywhere)
    assert read_baseline(file, "2025-11-25").entries == {KEY: BaselineEntry()}
    fewer = [replace(change, places=("B", "C")) for change in everywhere]
    assert sort(fewer, read_baseline(file, "2025-11-25")).new == ()


def test_a_baseline_that_cannot_be_used_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    usual: dict[str, Any] = {"format": 1, "revision": "2025-11-25", "findings": []}
    known = {"code": "x", "item": "y"}
    rows: list[tuple[Any, str, str, str]] = [
        (None, "No such file", "write one with --write-baseline", ""),
        ([], "not a baseline", "move it away", ""),
        ({**usual, "format": 2}, "not a baseline", "move it away", ""),
        ({**usual, "revision": "2025-06-18"}, "of 2025-06-18", "one file for each revision", ""),
        ({**usual, "findings": {}}, "not a list", "move it away", "/findings"),
        ({**usual, "findings": [{"code": "x"}]}, "a code and an item", "move", "/findings/0"),
        ({**usual, "findings": [{**known, "count": True}]}, "may only", "move", "/findings/0"),
        ({**usual, "findings": [known, known]}, "one with a count", "move", "/findings/1"),
    ]
    for content, message, hint, pointer in rows:
        if content is not None:
            file.write_text(json.dumps(content))
        with tables.case(content), pytest.raises(ProblemError) as caught:
            read_baseline(file, "2025-11-25")
        (problem,) = caught.value.problems
        assert (problem.code, problem.pointer) == ("bad-baseline", pointer)
        assert message in problem.message and hint in problem.hint
    with pytest.raises(ProblemError) as caught:
        write_baseline(tmp_path, "2025-11-25", ())
    assert caught.value.problems[0].hint == "name a file that can be read"


def test_any_text_stands_for_what_is_ignored_and_nothing_else_does() -> None:
    (change,) = in_places("A.x\ny.z")
    assert parse_ignore_entry("field-type:A.*z").covers(change)
    assert parse_ignore_entry("*").covers(change)
    for entry in ("field-type:A.x", "field-type:A?x*", "field", "*:field-type"):
        assert not parse_ignore_entry(entry).covers(change)


def test_the_number_is_written_where_it_is_more_than_one(tmp_path: Path) -> None:
    file = tmp_path / "known.json"
    other = rate(AuditFinding("field-type", "Root.name", ""))
    write_baseline(file, "2025-11-25", [*make_findings("one", "other"), other])
    assert json.loads(file.read_bytes())["findings"] == [
        {"code": "field-type", "item": "Root.name"},
        {"code": "field-type", "item": "Root.uri", "count": 2},
    ]
    assert read_baseline(file, "2025-11-25").entries[KEY] == BaselineEntry(2)
