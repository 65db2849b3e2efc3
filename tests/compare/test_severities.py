"""The table of severities: each of its rows is found, and every change comes from one."""

import re
from pathlib import Path

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.pipeline.reports import severities as module
from mcp_protogen.pipeline.reports.change import PROTOCOL, Severity
from mcp_protogen.pipeline.reports.severities import severities
from support import tables
from support.compare.cases import CASES
from support.compare.code_cases import result


def test_each_kind_of_change_is_found_as_its_row_says_and_nothing_else() -> None:
    for case in CASES:
        with tables.case(case.code):
            changes = compare_revisions(case.before, case.after).changes
            assert sorted(change.code for change in changes) == sorted(case.codes)
            change, *_ = (reported for reported in changes if reported.code == case.code)
            row = severities()[case.code]
            said = (change.category, change.message, change.why)
            assert said == (row.category, row.message, row.why)
            assert set(change.severity) == set(PROTOCOL)
            assert change.item


def test_choices_in_place_of_a_type_change_the_type() -> None:
    text, choices, fewer = (
        result(schema) for schema in ({"type": "string"}, {"enum": ["a", "b"]}, {"enum": ["a"]})
    )
    for before, after, code in (
        (choices, text, "field-type-widened"),
        (text, choices, "field-type-narrowed"),
        (choices, fewer, "enum-member-removed"),
        (fewer, choices, "enum-member-added"),
    ):
        with tables.case(code):
            assert [change.code for change in compare_revisions(before, after).changes] == [code]


def test_identical_revisions_have_no_changes() -> None:
    for case in CASES:
        with tables.case(case.code):
            assert compare_revisions(case.before, case.before).changes == ()
            assert compare_revisions(case.after, case.after).changes == ()


def test_every_row_of_the_table_has_a_case() -> None:
    assert sorted(case.code for case in CASES) == sorted(severities())


def test_no_line_of_the_table_is_lost_when_it_is_read() -> None:
    text = Path(module.__file__).with_name("severities.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| (?!code|---)(\S+) \|", text, re.MULTILINE)
    assert lines == [*severities()]


def test_every_reason_is_a_sentence_and_no_message_is() -> None:
    for row in severities().values():
        assert re.fullmatch(r"[A-Z].*\.", row.why), row.code
        assert re.fullmatch(r"[a-z].*[^.]", row.message), row.code


def test_breaking_change_for_one_side_warns_both_roles() -> None:
    for row in severities().values():
        worst = min(row.columns["sender"].rank, row.columns["receiver"].rank)
        if worst == Severity.BREAKING.rank:
            assert row.columns["sdk"].rank <= Severity.WARNING.rank, row.code
            assert row.columns["gateway"].rank <= Severity.WARNING.rank, row.code
