"""The differences of adjacent revisions, compared row for row with a reference list.

Files beside it have those that the list cannot express. As a program, with PYTHONPATH=tests, it
records them anew; read the difference before committing it.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import ComparedRevision, compared_pin
from mcp_protogen.pipeline.reports.change import Category, ReportedChange
from support import missing, tables
from support.folders import TESTS
from support.revisions import NEIGHBOURS

Json = dict[str, Any]
Row = tuple[str, ...]

# The list has these traits of methods, under its own names.
TRAITS = {"task augmentable": "supports_task_augmentation", "cacheable": "cacheable"}
KINDS = {"request": "jsonrpc-request", "embedded": "mrtr-input-request"}
# Differences that the list cannot express. Each has its own tests.
UNLISTED = frozenset(
    {
        # It compares only types and requiredness of members.
        "bound-tightened",
        "field-schema-changed",
        # Bases and envelopes are not listed.
        "base-member-added",
        "base-member-changed",
        "base-member-removed",
        "field-deprecated",
        "field-undeprecated",
        "known-value-added",
        "known-value-removed",
        "type-closed",
        "type-deprecated",
        "type-opened",
        # A name that another type has taken is listed under the other name of the first.
        "type-redefined",
        # The list describes rules in prose, as behaviour.
        "era-changed",
        "rule-changed",
        "rule-relaxed",
        "rule-tightened",
        "error-data-changed",
        "error-sender-changed",
        "header-level-changed",
        "header-now-required",
        "meta-key-changed",
        "meta-key-now-required",
        "method-phase-changed",
        "transport-added",
        "transport-removed",
        "error-replaced",
    }
)


@pytest.fixture(scope="module")
def reference() -> Mapping[str, Sequence[Json]]:
    file = missing.reference("spec/revision-deltas.json", "differences of revisions against a list")
    pairs: list[Json] = json.loads(file.read_bytes())["pairs"]
    return {pair["newer"]: pair["deltas"] for pair in pairs}


@cache
def side(revision: str) -> ComparedRevision:
    return compared_pin(revision)


@cache
def changes(older: str, newer: str) -> tuple[ReportedChange, ...]:
    return compare_revisions(side(older), side(newer)).changes


# The rows of the list for comparison.


def row_of(delta: Json) -> Row:
    """Return a row of the list: category, item, change, and both sides."""
    category, item, change = delta["cat"], delta["item"], delta["change"]
    if category == "union":
        return ("union", item, "type", delta["before"], delta["after"])
    if category == "field" and change in ("added", "removed"):
        need = "required" if delta["required"] else "optional"
        return ("field", item, change, f"{need} {delta['type']}")
    if category == "field" and change == "type":
        return ("field", item, change, delta["before"], delta["after"])
    if category == "method":
        return ("method", item, *_listed_method(delta))
    if category == "error":
        return ("error", item.split()[0], change)
    return (category, item, change)


def _listed_method(delta: Json) -> Row:
    change: str = delta["change"]
    if change in ("added", "removed"):
        return (change, delta["sender"])
    if change == "requires":
        return (change, *(" ".join(sorted(delta[key])) for key in ("before", "after")))
    if change == "result_types":
        return (change, *(" ".join(sorted(delta[key])) for key in ("before", "after")))
    return (change, str(delta["before"]), str(delta["after"]))


# Our changes in the same format.


def project_changes(older: str, newer: str) -> Iterator[Row]:
    """Yield our changes, as far as the list covers them."""
    for change in changes(older, newer):
        if change.code in UNLISTED or _of_params_meta(change):
            continue
        # Of gates the list has only the capabilities, which are compared below.
        if change.code.startswith("gate-"):
            continue
        yield from _row(change)
    yield from _requires(older, newer)


def _of_params_meta(change: ReportedChange) -> bool:
    # `_meta` of requests and notifications is listed by its keys alone.
    return change.category is Category.FIELD and ".params._meta" in change.item


def _row(change: ReportedChange) -> Iterator[Row]:
    match change.category:
        case Category.FIELD:
            yield ("field", change.item, *_field(change))
        case Category.METHOD:
            yield from (("method", change.item, *row) for row in _method(change))
        case Category.TYPE:
            renamed = change.code == "type-renamed"
            how = f"renamed from {change.before}" if renamed else change.code.split("-")[1]
            yield ("type", change.item, how)
        case Category.UNION:
            yield ("union", change.item, "type", change.before, change.after)
        case Category.ERROR:
            forbidden = change.code == "error-forbidden"
            how = "forbidden to emit" if forbidden else change.code.split("-")[1]
            yield ("error", change.item.split()[0], how)
        case Category.META_KEY | Category.CAPABILITY | Category.HEADER:
            gone = change.code.rpartition("-")[2] == "removed"
            yield (str(change.category), change.item, "removed" if gone else "added")
        case _:
            pytest.fail(f"{change.code} has no place in the list, and no reason to be left out")


def _field(change: ReportedChange) -> Row:
    code = change.code
    if code.startswith("field-type-"):
        return ("type", change.before, change.after)
    if code in ("field-now-required", "field-now-optional"):
        return (code.rpartition("-")[2],)
    if code.startswith("field-added") or code == "field-moved-out-of-type":
        return ("added", change.after)
    if code.startswith("field-removed") or code == "field-moved-into-type":
        return ("removed", change.before)
    pytest.fail(f"{code} of {change.item} has no place in the list, and no reason to be left out")


def _method(change: ReportedChange) -> Iterator[Row]:
    match change.code:
        case "method-added" | "method-added-mandatory":
            yield ("added", _sender(change.after))
        case "method-removed":
            yield ("removed", _sender(change.before))
        case "method-sender-removed":
            yield ("sender", _sender(change.before), _sender(change.after))
        case "method-kind-changed":
            yield ("envelope", KINDS[change.before], KINDS[change.after])
        case "method-result-added" | "method-result-removed" | "method-result-changed":
            yield ("result_types", *(_names(text) for text in (change.before, change.after)))
        case "method-params-now-required":
            yield ("params_required", "False", "True")
        case "method-trait-added" if change.after in TRAITS:
            yield (TRAITS[change.after], "False", "True")
        case "method-trait-removed" if change.before in TRAITS:
            yield (TRAITS[change.before], "True", "False")
        case "method-trait-added" | "method-trait-removed":
            # Prose describes other traits.
            return
        case "method-deprecated":
            yield ("deprecated_in", "None", change.after.removeprefix("since "))
        case _:
            pytest.fail(f"{change.code} has no place in the list, and no reason to be left out")


def _sender(text: str) -> str:
    (found,) = re.findall(r"sent by ([a-z ]+?)(?: ->|$)", text)
    return "both" if found == "client and server" else str(found)


def _names(text: str) -> str:
    return " ".join(sorted(text.split(" | ")))


def _requires(older: str, newer: str) -> Iterator[Row]:
    """Yield the gates of a method as in the list: capabilities, except those of tasks."""
    was, now = (
        {
            method.method: " ".join(
                sorted(
                    {
                        ".".join(require.path)
                        for require in method.requires
                        if require.path[0] != "tasks" and require.role != require.sender
                    }
                )
            )
            for method in side(revision).ir.methods
        }
        for revision in (older, newer)
    )
    for name in was.keys() & now.keys():
        if was[name] != now[name]:
            yield ("method", name, "requires", was[name], now[name])


@pytest.mark.parametrize(("older", "newer"), NEIGHBOURS)
def test_the_differences_are_those_of_the_list(
    reference: Mapping[str, Sequence[Json]], older: str, newer: str
) -> None:
    if newer not in reference:
        missing.skip_untested(f"differences to {newer} in ../shared", "that they are those we have")
    wanted = sorted(row_of(delta) for delta in reference[newer] if delta["cat"] != "behaviour")
    found = sorted(project_changes(older, newer))
    assert {"missing": sorted({*wanted} - {*found}), "extra": sorted({*found} - {*wanted})} == {
        "missing": [],
        "extra": [],
    }
    assert found == wanted


def test_each_kind_that_the_list_has_no_words_for_is_found_somewhere() -> None:
    met = {change.code for pair in NEIGHBOURS for change in changes(*pair)}
    # Those that no pair of revisions shows could not be listed either.
    assert UNLISTED - met <= {
        "base-member-removed",
        "error-data-changed",
        "field-undeprecated",
        "known-value-removed",
        "meta-key-changed",
        "meta-key-now-required",
        "method-phase-changed",
        "type-opened",
    }


def unlisted_lines(before: str, after: str) -> str:
    """Return a line for each change that the list lacks, in the order in which they are found."""
    return "".join(map(_line, filter(_is_unlisted, changes(before, after))))


def _is_unlisted(change: ReportedChange) -> bool:
    # For gates the list has only names, and the keys of `_meta` in place of the member.
    by_itself = change.code.startswith("gate-") or ".params._meta" in change.item
    return change.code in UNLISTED or by_itself


def _line(change: ReportedChange) -> str:
    levels = " ".join(f"{reader}={level}" for reader, level in change.severity.items())
    texts = f"{change.before} -> {change.after}"
    return f"{change.code} | {change.item} | {texts} | {change.pointer} | {levels}\n"


def file_of(before: str, after: str) -> Path:
    return TESTS / "compare" / "unlisted" / f"{before}-{after}.txt"


def test_unlisted_differences_match_written_file() -> None:
    for pair in NEIGHBOURS:
        with tables.case(pair):
            assert unlisted_lines(*pair) == file_of(*pair).read_text(encoding="utf-8")


if __name__ == "__main__":
    for pair in NEIGHBOURS:
        file_of(*pair).write_text(unlisted_lines(*pair), encoding="utf-8")
