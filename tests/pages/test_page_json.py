"""A comparison as JSON for programs."""

import json
from itertools import product
from typing import Any

from mcp_protogen.pipeline.reports.change import Category, Comparison, Reader, Severity
from mcp_protogen.pipeline.reports.pages.as_json import render
from support import formats, tables
from support.pages.comparisons import HARM, NEW, NOTE, NOTHING, SMALL, hostile, large


def document(comparison: Comparison, reader: Reader | None = None) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(render(comparison, reader=reader))
    return data


def test_the_output_has_the_published_format() -> None:
    rows: list[Comparison] = [SMALL, NOTHING, large()[0], hostile()[0]]
    rows1: list[Reader | None] = [None, Reader.GATEWAY]
    for comparison, reader in product(rows, rows1):
        with tables.case((comparison, reader)):
            assert formats.faults("comparison", document(comparison, reader)) == []


def test_the_format_requires_every_member_and_knows_no_other() -> None:
    for member in sorted(document(SMALL)):
        with tables.case(member):
            data = document(SMALL)
            assert formats.faults("comparison", {**data, "misspelt": 1})
            del data[member]
            assert formats.faults("comparison", data)


def test_the_format_requires_every_member_of_a_change() -> None:
    for member in sorted(document(SMALL)["changes"][0]):
        with tables.case(member):
            data = document(SMALL)
            del data["changes"][0][member]
            assert formats.faults("comparison", data)


def test_the_format_knows_the_same_words_as_the_code() -> None:
    definitions = formats.published_schema("comparison")["$defs"]
    assert definitions["severity"]["enum"] == list(Severity)
    assert definitions["change"]["properties"]["category"]["enum"] == list(Category)
    assert formats.published_schema("comparison")["properties"]["reader"]["enum"] == [None, *Reader]


def test_problems_look_as_they_do_in_a_report() -> None:
    report = formats.published_schema("report")
    assert formats.published_schema("comparison")["$defs"]["problem"] == report["$defs"]["problem"]
    assert document(SMALL)["notes"][0]["place"] == NOTE.place


def test_everything_is_in_it_whoever_reads() -> None:
    data = document(SMALL, Reader.GATEWAY)
    found = {change["item"]: change for change in data["changes"]}
    assert found[NEW.item] == {
        "code": "type-added",
        "category": "type",
        "item": "AudioContent",
        "message": "added",
        "severity": {"client": "info", "server": "info", "sdk": "info", "gateway": "none"},
        "worst": "info",
        "pointer": "/$defs/AudioContent",
        "before": "",
        "after": "object, 4 members",
        "why": "",
        "feature": "",
    }
    assert len(found) == len(SMALL.changes)


def test_the_order_is_by_what_is_worst_for_the_reader() -> None:
    def order(reader: Reader | None) -> list[str]:
        return [change["code"] for change in document(SMALL, reader)["changes"]]

    assert order(None) == ["method-removed", "field-required", "field-type", "type-added"]
    assert order(Reader.SERVER) == ["method-removed", "type-added", "field-required", "field-type"]


def test_changes_are_counted_for_each_reader() -> None:
    counts = document(SMALL)["counts"]
    assert counts["client"] == {"breaking": 2, "warning": 1, "info": 1, "none": 0}
    assert counts["gateway"] == {"breaking": 1, "warning": 2, "info": 0, "none": 1}


def test_texts_are_kept_as_they_are() -> None:
    data = document(hostile()[0])
    assert data["changes"][0]["after"] == HARM
    assert render(hostile()[0], reader=None).isascii()
