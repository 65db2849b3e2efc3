"""Pins: the published bytes of a revision, and their updates."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp_protogen.base import file_set
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.update.adoption import Origin, add, verification, verify
from mcp_protogen.pipeline.inputs.pins import (
    load_pins,
    nearest_revision,
    pin_of,
    pins_file,
    read_snapshot,
    snapshot_file,
)
from mcp_protogen.pipeline.reports.report import RunStatus
from support import formats, missing, tables

FIRST = b'{"$defs": {"A": {"type": "integer", "description": "one"}}}'
REWORDED = b'{"$defs": {"A": {"type": "integer", "description": "two"}}}'
SECOND = b'{"$defs": {"A": {"type": "number"}, "B": {}}}'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    add("2030-01-01", FIRST, Origin(date="2030-01-02", note="The first."), "a.json", tmp_path)
    return tmp_path


def test_a_new_publication_moves_the_one_before_into_history(folder: Path) -> None:
    pin = add("2030-01-01", SECOND, Origin(spec_commit="abcdef1"), "b.json", folder)
    assert pin == load_pins(folder)["2030-01-01"]
    assert pin.published.changed == ("/$defs/A/type", "/$defs/B")
    assert [(p.sha256, p.date) for p in pin.history] == [(sha256(FIRST), "2030-01-02")]


def test_adding_the_same_bytes_again_only_completes_what_is_known(folder: Path) -> None:
    pin = add("2030-01-01", FIRST, Origin(spec_commit="abcdef1"), "a.json", folder)
    assert (pin.published.spec_commit, pin.published.date) == ("abcdef1", "2030-01-02")
    assert pin.history == ()


def test_pins_of_other_revisions_stay(folder: Path) -> None:
    add("draft", SECOND, Origin(), "b.json", folder)
    assert list(load_pins(folder)) == ["2030-01-01", "draft"]


@pytest.mark.parametrize("name", ["../x", "", "a b", "x/y", "1..2"])
def test_a_revision_that_is_no_safe_folder_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="unsafe-name"):
        add(name, FIRST, Origin(), "a.json", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_pin_that_could_not_be_written_leaves_no_half_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, **_: object) -> None:
        path.write_bytes(content[:5])
        raise OSError(28, "No space left on device")

    before = sorted(folder.rglob("*"))
    monkeypatch.setattr(file_set, "write_new", full)
    with pytest.raises(ProblemError, match="cannot-write"):
        add("2030-01-01", SECOND, Origin(), "b.json", folder)
    assert sorted(folder.rglob("*")) == before
    assert read_snapshot("2030-01-01", folder)


def test_a_lost_snapshot_is_made_again_from_the_published_file(folder: Path) -> None:
    before = read_snapshot("2030-01-01", folder)
    for damaged in (False, True):
        snapshot_file("2030-01-01", folder).unlink()
        if damaged:
            snapshot_file("2030-01-01", folder).write_text("{}")
        add("2030-01-01", FIRST, Origin(), "a.json", folder)
        assert read_snapshot("2030-01-01", folder) == before


def test_snapshot_that_is_altered_or_missing_is_neither_read_nor_compared(folder: Path) -> None:
    snapshot = snapshot_file("2030-01-01", folder)
    snapshot.write_text("{}")
    assert verify("2030-01-01", None, folder).problems[0].code == "digest-mismatch"
    for code in ("digest-mismatch", r"missing-snapshot[\s\S]*make it again"):
        with pytest.raises(ProblemError, match=code):
            read_snapshot("2030-01-01", folder)
        with pytest.raises(ProblemError, match=code):
            add("2030-01-01", SECOND, Origin(), "b.json", folder)
        snapshot.unlink(missing_ok=True)


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{}", '{"format": 2, "revisions": {}}', '{"format": 1, "revisions": {"a": {}}}'],
)
def test_unusable_pins_are_one_problem(content: str, tmp_path: Path) -> None:
    pins_file(tmp_path).write_text(content)
    with pytest.raises(ProblemError, match=r"bad-pins|not-json"):
        load_pins(tmp_path)


def test_an_unknown_revision_is_answered_with_the_nearest_name() -> None:
    with pytest.raises(ProblemError, match="did you mean 2025-11-25"):
        pin_of("2025-11-26", load_pins())


def test_an_unpinned_revision_takes_after_the_newest_before_it() -> None:
    for revision, nearest in (
        ("draft", "2026-07-28"),
        ("2025-12-01", "2025-11-25"),
        ("2025-11-25", "2025-11-25"),
        ("2020-01-01", "2024-11-05"),
    ):
        with tables.case(revision):
            assert nearest_revision(revision, load_pins()) == nearest


def test_publication_is_known_by_its_bytes_or_shown_by_its_differences(folder: Path) -> None:
    add("draft", b'{"$defs": {"C": {}}}', Origin(), "d.json", folder)
    assert verify("2030-01-01", ("a.json", FIRST), folder).problems == ()
    for content, code, texts in (
        (SECOND, "unknown-publication", ["/$defs/A/type, /$defs/B"]),
        (REWORDED, "unknown-publication", ["only in prose"]),
        (b'{"$defs": {"C": {}}}', "unknown-publication", ["this is a publication of draft"]),
    ):
        (problem,) = verify("2030-01-01", ("b.json", content), folder).problems
        assert problem.code == code and all(text in str(problem) for text in texts)
    add("2030-01-01", SECOND, Origin(date="2030-02-02"), "b.json", folder)
    (problem,) = verify("2030-01-01", ("a.json", FIRST), folder).problems
    assert problem.code == "earlier-publication"
    for text in ("2030-01-02", "The first.", "/$defs/A/type, /$defs/B"):
        assert text in problem.message
    assert "2030-02-02" in problem.hint


def test_snapshot_made_another_way_is_found(folder: Path) -> None:
    other = b'{"$defs": {"A": {}}}\n'
    text = pins_file(folder).read_text()
    pinned = load_pins(folder)["2030-01-01"].snapshot_sha256
    pins_file(folder).write_text(text.replace(pinned, sha256(other)))
    snapshot_file("2030-01-01", folder).write_bytes(other)
    (problem,) = verify("2030-01-01", ("a.json", FIRST), folder).problems
    assert problem.code == "snapshot-differs"


def test_a_published_file_is_held_against_one_revision_only(folder: Path) -> None:
    with pytest.raises(ProblemError, match="ambiguous-schema"):
        verification(None, ("a.json", FIRST), folder)


def test_all_committed_snapshots_are_the_pinned_ones() -> None:
    report = verification(None, None)
    assert report.status is RunStatus.FINE
    assert len(report.revisions) == 5


def test_each_pin_names_the_published_bytes(published_bytes: Callable[[str], bytes]) -> None:
    for revision in load_pins():
        with tables.case(revision):
            assert verify(revision, (revision, published_bytes(revision))).problems == ()


def test_all_known_publications_are_in_the_pins() -> None:
    history = missing.reference("spec/schema-history.json", "that pins know all publications")
    known = json.loads(history.read_text())
    for revision, pin in load_pins().items():
        publications = (*pin.history, pin.published)
        assert [p.sha256 for p in publications] == [k["sha256"] for k in known[revision]]
        assert [p.date for p in publications] == [k["date"] for k in known[revision]]
        for publication, entry in zip(publications, known[revision], strict=True):
            pointers = (change["pointer"] for change in entry["structural_changes"])
            expected = sorted(p.replace("/definitions/", "/$defs/") for p in pointers)
            assert list(publication.changed) == expected
            assert (publication.spec_commit or "").startswith(entry["commit"])


def test_pins_follow_their_published_format(folder: Path) -> None:
    add("2030-01-01", SECOND, Origin(spec_commit="abcdef1"), "b.json", folder)
    for file in (pins_file(), pins_file(folder)):
        assert formats.faults("pins", file.read_bytes()) == []
