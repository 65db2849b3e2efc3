"""What follows from a move: for patches, facts, translation rules and generated packages."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.update.dependents import InputKind, dependents, packages_below, packages_in
from mcp_protogen.instep.update.findings import Finding
from mcp_protogen.instep.update.undecided import OpenDecisions, SchemaFolder, find_open_decisions
from mcp_protogen.pipeline.inputs.patch_fit import Fit, apply_fitting
from mcp_protogen.pipeline.inputs.patches import load_patches
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.output.lock import LOCK_NAME
from support.revisions import REVISIONS
from support.update.specifications import NEWEST, OLDER, Spec, reword, with_an_owner, with_things

GOLDEN = Path(__file__).resolve().parents[2] / "generated" / "mcp_revisions"
NEXT = "2031-01-01"
PLACE = "schema/x/patches.json"
Json = dict[str, Any]


def open_about(spec: Spec, name: str) -> OpenDecisions:
    document = json.loads(spec.path(name).read_bytes())
    known = SchemaFolder(load_pins(spec.schema), spec.schema)
    return find_open_decisions(name, snapshot_of(document), known)


def schema(spec: Spec, name: str) -> Json:
    document: Json = json.loads(spec.path(name).read_bytes())
    return document


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_patch_still_fits_where_nothing_has_moved(spec: Spec, revision: str) -> None:
    entries = load_patches(spec.schema, revision)
    result = apply_fitting(schema(spec, revision), entries, PLACE)
    assert entries
    assert [fit.fit for fit in result.fits] == [Fit.FITS] * len(entries)
    assert result.entries == entries


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_patch_is_done_in_a_schema_that_says_so_already(spec: Spec, revision: str) -> None:
    entries = load_patches(spec.schema, revision)
    already = apply_fitting(schema(spec, revision), entries, PLACE).schema
    fits = apply_fitting(already, entries, PLACE).fits
    assert [fit.fit for fit in fits] == [Fit.DONE] * len(entries)
    assert fits[0].place == f"{PLACE}#/patches/0"


def test_an_entry_about_something_else_is_stale_and_the_others_are_tried(spec: Spec) -> None:
    entries: list[Json] = [
        {"pointer": "/$defs/Tool/type", "was": "string", "now": "array", "reason": "One."},
        {"pointer": "/$defs/Nothing/type", "was": "object", "now": "array", "reason": "Two."},
        {"pointer": "/$defs/Tool/extra", "now": True, "reason": "Three."},
        {"pointer": "/$defs/Tool/gone", "was": 1, "reason": "Four."},
        {"pointer": "/$defs/Tool/extra", "was": True, "reason": "Five."},
    ]
    before = schema(spec, OLDER)
    result = apply_fitting(before, entries, PLACE)
    assert [fit.fit for fit in result.fits] == [Fit.STALE, Fit.STALE, Fit.FITS, Fit.DONE, Fit.FITS]
    assert result.schema == before == schema(spec, OLDER)


def test_unchanged_revision_has_no_open_decisions(spec: Spec) -> None:
    assert open_about(spec, OLDER) == OpenDecisions()


def test_facts_that_a_new_revision_lacks_are_named(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    found = open_about(spec, NEXT)
    assert found.wrong == ()
    said = [problem.message for problem in found.open if problem.code == "derived-facts"]
    assert said[0] == (
        f"{NEXT} has no facts: required capabilities and error codes are those of {NEWEST}"
    )
    assert "things/list has no facts" in said


def test_rules_that_a_new_revision_lacks_are_named(spec: Spec) -> None:
    spec.edit(NEWEST, with_an_owner, to=NEXT)
    said = {problem.message for problem in open_about(spec, NEXT).open}
    assert f"from {NEWEST} to {NEXT}, Tool.owner: is required in {NEXT}" in said


def test_rules_to_the_revision_before_and_to_the_one_after_are_both_looked_at(spec: Spec) -> None:
    spec.edit(OLDER, with_an_owner)
    said = {problem.message for problem in open_about(spec, OLDER).open}
    assert f"from 2025-06-18 to {OLDER}, Tool.owner: is required in {OLDER}" in said
    assert f"from {NEWEST} to {OLDER}, Tool.owner: is required in {OLDER}" in said


def test_facts_that_a_moved_revision_contradicts_stop_generation(spec: Spec) -> None:
    def without_ping(document: Json) -> None:
        arms = document["$defs"]["ClientRequest"]["anyOf"]
        arms.remove({"$ref": "#/$defs/PingRequest"})

    spec.edit(OLDER, without_ping)
    found = open_about(spec, OLDER)
    assert found.open == ()
    assert {problem.code for problem in found.wrong} == {"facts-disagree"}


def test_a_folder_of_pins_alone_uses_the_facts_of_ours(spec: Spec) -> None:
    for file in spec.schema.rglob("*.json"):
        if file.name not in ("pins.json", "schema.json"):
            file.unlink()
    assert open_about(spec, OLDER) == OpenDecisions()


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package that is there by its lock alone."""
    folder = tmp_path / "project" / "src" / "pkg"
    folder.mkdir(parents=True)
    shutil.copy(GOLDEN / LOCK_NAME, folder)
    return folder


def change_lock(package: Path, **members: str) -> None:
    """Write other inputs of the older revision into a lock."""
    lock = json.loads((package / LOCK_NAME).read_text())
    lock["revisions"][OLDER] |= members
    (package / LOCK_NAME).write_text(json.dumps(lock))


def finding(spec: Spec, name: str, pointers: tuple[str, ...] = ("/$defs",)) -> Finding:
    return Finding(spec.candidate(name), name, pointers, None, (), OpenDecisions())


def test_input_kind_of_package_is_named(spec: Spec, package: Path) -> None:
    spec.edit(OLDER, reword)
    pins = load_pins(spec.schema)
    pin = pins[OLDER]
    cases: list[tuple[dict[str, str], InputKind, bool]] = [
        ({"published": pin.published.sha256}, InputKind.PIN, True),
        ({"published": pin.history[0].sha256}, InputKind.EARLIER, True),
        ({"published": spec.digest(OLDER)}, InputKind.FOUND, False),
        ({"published": "0" * 64, "source": "mine.json"}, InputKind.OWN_FILE, False),
        ({"published": spec.digest(OLDER), "source": "mine.json"}, InputKind.FOUND, False),
    ]
    for members, input_kind, changes in cases:
        change_lock(package, **members)
        (one,) = dependents(finding(spec, OLDER), packages_in([package]), pins)
        assert (one.folder, one.input_kind, one.would_change) == (str(package), input_kind, changes)
    # Another mcp-gen may pin revisions that are not pinned here.
    change_lock(package, published=pin.published.sha256, source="pinned")
    (one,) = dependents(finding(spec, OLDER), packages_in([package]), {})
    assert (one.input_kind, one.would_change) == (InputKind.EARLIER, True)


def test_a_package_without_the_revision_is_not_concerned(spec: Spec, package: Path) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    pins = load_pins(spec.schema)
    assert dependents(finding(spec, NEXT), packages_in([package]), pins) == ()


def test_packages_are_found_below_a_folder_but_not_in_those_of_others(
    package: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    for place in (".venv/pkg", "node_modules/pkg", "build/pkg", "env/lib/site-packages/pkg"):
        shutil.copytree(package, project / place)
    shutil.copytree(package, project / "env2" / "pkg")
    (project / "env2" / "pyvenv.cfg").touch()
    assert [folder for folder, _ in packages_below(project).locks] == [str(package)]
    assert [folder for folder, _ in packages_below(package).locks] == [str(package)]


def test_a_lock_that_cannot_be_read_is_a_warning_unless_it_was_named(package: Path) -> None:
    (package / LOCK_NAME).write_text("HEAD")
    found = packages_below(package.parent)
    assert found.locks == ()
    assert [str(notice).partition(":")[0] for notice in found.notices] == ["warning[bad-lock]"]
    with pytest.raises(ProblemError, match="bad-lock"):
        packages_in([package])


def test_a_folder_that_is_named_and_is_no_package_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="no-lock"):
        packages_in([tmp_path, tmp_path / "nowhere"])
