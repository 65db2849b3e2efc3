"""The data of the explorer, compared with its sources."""

from itertools import combinations
from typing import Any, Final

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import compared_pin
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions
from support import tables
from support.revisions import REVISIONS
from support.website.explorer import data
from website.explorer.changes import marks
from website.explorer.findings import is_valid, patches_of
from website.explorer.sources import page_of
from website.explorer.subjects import Extension, Revision, all_extensions, revisions

Json = dict[str, Any]


def items(kind: str) -> dict[str, Json]:
    """What the index lists of a kind, by name."""
    return {item["name"]: item for item in data("index")["items"][kind]}


def test_every_method_is_marked_in_the_revisions_that_have_it() -> None:
    for position, revision in enumerate(revisions()):
        methods = {method.method for method in revision.ir.methods}
        marked = {
            name for name, item in items("methods").items() if item["marks"][position] in "nsc"
        }
        assert marked == methods


def test_marks_say_what_happened_from_one_revision_to_the_next() -> None:
    columns = [{"a": 1, "b": 1}, {"a": 2, "c": 1}, {"a": 2, "b": 1}]
    assert marks(columns) == {"a": "scs", "b": "sgn", "c": "-ng"}
    assert items("methods")["initialize"]["marks"].endswith("g")
    assert items("methods")["elicitation/create"]["marks"] == "--ncc"
    assert items("errors")["-32042"]["marks"] == "---nc"


def test_extensions_are_there_with_what_they_add_and_drafts_are_not() -> None:
    assert items("methods")["tasks/get"]["extensions"] == ["2026-07-28+tasks"]
    assert items("types")["McpUiResourceCsp"]["marks"] == "-" * len(REVISIONS)
    assert {extension["name"] for extension in data("index")["extensions"]} == {
        extension.name for extension in pinned_extensions()
    }
    assert [revision["id"] for revision in data("index")["revisions"]] == [*REVISIONS]


def test_changes_are_those_of_the_comparison_with_a_severity_for_each_reader() -> None:
    for before, after in tables.some([*combinations(REVISIONS, 2)], 3, "compared in the explorer"):
        with tables.case(f"{before} {after}"):
            found = compare_revisions(compared_pin(before), compared_pin(after)).changes
            shown = data(f"{before}..{after}")["changes"]
            assert [(change["code"], change["item"]) for change in shown] == [
                (change.code, change.item) for change in found
            ]
            assert [change["severity"] for change in shown] == [
                "".join(change.severity[reader].value[0] for reader in change.severity)
                for change in found
            ]


def test_every_fact_of_a_revision_has_the_address_of_its_page() -> None:
    for revision in REVISIONS:
        said = [entry for entry in _with_source(data(revision)) if entry["source"]]
        assert len(said) > 60
        assert [entry["source"] for entry in said if "url" not in entry] == []


def _with_source(value: Any) -> list[Json]:
    if isinstance(value, list):
        return [found for item in value for found in _with_source(item)]  # pyright: ignore
    if not isinstance(value, dict):
        return []
    inner = [found for item in value.values() for found in _with_source(item)]  # pyright: ignore
    return [*inner, value] if isinstance(value.get("source"), str) else inner  # pyright: ignore


def test_addresses_are_those_of_the_site_and_of_the_pinned_commit() -> None:
    site = "https://modelcontextprotocol.io"
    assert (
        page_of("basic/index#_meta", "2026-07-28") == f"{site}/specification/2026-07-28/basic#meta"
    )
    pin = next(revision.pin for revision in revisions() if revision.id == "2025-11-25")
    commit = pin.published.spec_commit
    assert page_of("schema.ts", "2025-11-25") == (
        f"{pin.repository}/blob/{commit}/schema/2025-11-25/schema.ts"
    )
    assert page_of("seps/2133-extensions#evolution", "2026-07-28", "apps") == (
        f"{site}/seps/2133-extensions#evolution"
    )
    assert page_of("skills#reading-directories", "2026-07-28", "skills") == ""


UNPROBED: Final = {
    "anyOf": "the union names one more result, and each of them is any object",
    "additionalProperties": "it says that keywords are kept, which JSON Schema does anyway",
    "ClientNotification": "it gives something its name",
    "csp": "it gives something its name, or allows what no vector has",
    "permissions": "the same",
    "$schema": "its pattern allows one value, as the constant does",
    "pattern": "no type checks it, so vectors match it",
}
"""The last steps of patches that no value shows, and why."""


def test_each_patch_is_a_finding_with_a_probe() -> None:
    shown: dict[str, Revision | Extension] = {revision.id: revision for revision in revisions()}
    shown |= {extension.name: extension for extension in all_extensions()}
    for name, subject in shown.items():
        findings: list[Json] = data("findings").get(name, [])
        for entry, finding in zip(patches_of(subject), findings, strict=True):
            with tables.case(f"{name} {finding['pointer']}"):
                for part in ("pointer", "was", "now"):
                    assert finding.get(part) == entry.get(part)
                unprobed = finding["pointer"].rpartition("/")[2] in UNPROBED
                assert ("probe" in finding) or unprobed


def test_a_probe_shows_what_its_patch_changes() -> None:
    (one,) = (revision for revision in revisions() if revision.id == "2025-11-25")
    for entry, finding in zip(patches_of(one), data("findings")[one.id], strict=True):
        with tables.case(finding["pointer"]):
            if probe := finding.get("probe"):
                published = is_valid(one.without(entry), probe["type"])(probe["value"])
                assert published == probe["published"]
