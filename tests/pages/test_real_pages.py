"""The pages of real differences between two revisions."""

import json
import re
from functools import cache
from itertools import product, starmap
from pathlib import Path

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.matrix import matrix_of
from mcp_protogen.instep.compare.revisions import ComparedRevision, compared_pin
from mcp_protogen.pipeline.reports.change import Comparison, Matrix, Reader, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat, render
from mcp_protogen.pipeline.reports.pages.as_text import WIDTH
from mcp_protogen.pipeline.reports.pages.headline import headline
from support import formats, tables
from support.pages.comparisons import page as written
from support.revisions import NEIGHBOURS, REVISIONS

MEGABYTE = 1 << 20

side = cache(compared_pin)


@cache
def compare(before: str, after: str) -> Comparison:
    return compare_revisions(side(before), side(after))


def matrix() -> Matrix:
    sides: list[ComparedRevision] = [side(revision) for revision in REVISIONS]
    return matrix_of(sides)


def test_the_json_of_real_changes_has_the_published_format() -> None:
    for before, after in NEIGHBOURS:
        with tables.case((before, after)):
            comparison = compare(before, after)
            document = json.loads(render(PageFormat.JSON, comparison))
            assert formats.faults("comparison", document) == []
            assert len(document["changes"]) == len(comparison.changes) > 30


def test_every_real_change_is_in_the_text_and_fits() -> None:
    for reader, (before, after) in product((None, *Reader), NEIGHBOURS):
        with tables.case((reader, (before, after))):
            comparison = compare(before, after)
            shown = render(PageFormat.TEXT, comparison, reader=reader)
            # Unbreakable text stays whole: a long name, or a label.
            assert [
                line for line in shown.splitlines() if len(line) > WIDTH and line.count(" ") > 60
            ] == []
            words = shown.replace(",", " ").split()
            for change in comparison.changes:
                if reader is None or change.severity_for(reader) is not Severity.NONE:
                    assert set(change.item.replace(",", " ").split()) <= set(words)


def test_each_page_has_the_whole_in_a_sentence_on_top() -> None:
    for format in list(PageFormat):
        with tables.case(format):
            for before, after in NEIGHBOURS:
                plain = re.sub(r"[\\*`]", "", render(format, compare(before, after)))
                words = " ".join(plain.split()).replace("%2C", ",").replace("%3A", ":")
                told = headline(compare(before, after), None)
                assert told.startswith(f"{after} against {before}: ") and len(told) < 700
                assert told in words, (before, format)


def test_every_real_change_is_of_a_feature() -> None:
    for before, after in NEIGHBOURS:
        assert all(change.feature for change in compare(before, after).changes)


def test_features_come_and_go() -> None:
    found = {
        comparison.after: (comparison.came, comparison.went)
        for comparison in starmap(compare, NEIGHBOURS)
    }
    assert (
        found.items()
        >= {
            "2025-03-26": ((), ()),
            "2025-06-18": (("elicitation",), ()),
            "2025-11-25": (("tasks",), ()),
            "2026-07-28": (("extensions", "server/discover", "subscriptions"), ("tasks",)),
        }.items()
    )


def test_item_shared_by_features_stays_with_first() -> None:
    changes = compare("2025-06-18", "2025-11-25").changes
    assert {change.feature for change in changes if change.item == "Tool.inputSchema"} == {"tools"}


def test_a_change_belongs_where_it_travels() -> None:
    changes = compare("2025-11-25", "2026-07-28").changes
    features = {change.item: change.feature for change in changes}
    for item, feature in {
        "notifications/tasks/status": "tasks",
        "client:tasks.list": "tasks",
        "CallToolRequest.params.inputResponses": "inputResponses",
        "CompleteResult.resultType": "resultType",
        "SamplingMessageContentBlock": "sampling",
        "CompleteResult.completion.values": "completion",
        "notifications/elicitation/complete": "elicitation",
        "initialize": "base protocol",
        "lifecycle": "base protocol",
        "server/discover": "server/discover",
        "io.modelcontextprotocol/serverInfo": "_meta",
        "-32020 HEADER_MISMATCH": "error codes",
    }.items():
        assert features[item] == feature, item


def test_the_page_of_two_far_revisions_is_not_heavy(tmp_path: Path) -> None:
    comparison = compare("2025-11-25", "2026-07-28")
    file = Path(written(tmp_path, comparison, matrix()).removeprefix("file://"))
    assert file.stat().st_size < MEGABYTE
    markup = file.read_text(encoding="utf-8")
    assert markup.count('id="change-') == len(comparison.changes)
    assert all(f">{revision}</th>" in markup for revision in REVISIONS)
