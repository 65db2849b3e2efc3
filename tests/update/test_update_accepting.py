"""Accepting a change: by its digest, completely or not at all."""

import signal
import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base import file_set, folder_lock
from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.instep.update import adoption
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.instep.update.candidates import CandidateState
from mcp_protogen.instep.update.updating import accept, choose_candidate
from mcp_protogen.pipeline.inputs import pins as pins_module
from mcp_protogen.pipeline.inputs.pins import (
    REVISION,
    Pin,
    Pinnable,
    Pins,
    load_pins,
    read_snapshot,
    snapshot_file,
)
from support.running import Run
from support.update.specifications import (
    NEWEST,
    OLDER,
    Spec,
    commit_folder,
    reword,
    with_an_owner,
    with_things,
)

NEXT = "2031-01-01"


def contents(spec: Spec) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in spec.schema.rglob("*") if path.is_file()}


def refused_to_accept(spec: Spec, digest: str, *names: str) -> tuple[str, str]:
    with pytest.raises(ProblemError) as caught:
        choose_candidate(spec.look(*names).candidates, digest)
    (problem,) = caught.value.problems
    return problem.code, f"{problem.message}; {problem.hint}"


def test_the_beginning_of_a_digest_is_enough(spec: Spec) -> None:
    spec.edit(OLDER, reword)
    digest = spec.digest(OLDER)
    everything = spec.look().candidates
    for given in (digest, digest[:12], digest[:12].upper()):
        assert choose_candidate(everything, given).revision == OLDER


@pytest.mark.parametrize("given", ["", "abc", "0123456789a", "g" * 64, "0" * 65, " " + "0" * 12])
def test_invalid_digest_is_refused(spec: Spec, given: str) -> None:
    assert refused_to_accept(spec, given)[0] == "bad-digest"


def test_a_digest_of_nothing_there_is_answered_with_what_there_is(spec: Spec) -> None:
    code, text = refused_to_accept(spec, "0" * 12)
    assert (code, text.endswith("; nothing has moved there")) == ("unknown-candidate", True)
    spec.edit(OLDER, reword)
    assert f"possible: {OLDER} {spec.digest(OLDER)[:12]}" in refused_to_accept(spec, "0" * 64)[1]


def test_to_accept_what_is_pinned_already_changes_nothing(spec: Spec) -> None:
    before = contents(spec)
    accept(choose_candidate(spec.look().candidates, spec.digest(OLDER)), "", spec.schema)
    assert contents(spec) == before


def test_new_revision_is_preferred_over_pinned_one(spec: Spec) -> None:
    spec.write(NEXT, spec.path(NEWEST).read_bytes())
    assert choose_candidate(spec.look().candidates, spec.digest(NEXT)).revision == NEXT


def test_two_revisions_of_the_same_bytes_have_to_be_told_apart(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    spec.write("draft", spec.path(NEXT).read_bytes())
    code, text = refused_to_accept(spec, spec.digest(NEXT))
    assert code == "unknown-candidate"
    assert f"{NEXT}, draft" in text
    assert choose_candidate(spec.look(NEXT).candidates, spec.digest(NEXT)).revision == NEXT


def test_accepting_moves_a_pin_and_remembers_where_it_was(spec: Spec) -> None:
    before = load_pins(spec.schema)[OLDER]
    spec.edit(OLDER, with_an_owner)
    commit = commit_folder(spec.folder)
    accept(spec.candidate(OLDER), "Tools are owned.", spec.schema)
    pin = load_pins(spec.schema)[OLDER]
    assert (pin.published.sha256, pin.published.spec_commit) == (spec.digest(OLDER), commit)
    assert (pin.published.date, pin.published.note) == ("2031-05-06", "Tools are owned.")
    assert pin.published.changed == ("/$defs/Tool/properties/owner", "/$defs/Tool/required")
    assert pin.history == (*before.history, before.published)
    assert b'"owner"' in snapshot_file(OLDER, spec.schema).read_bytes()


def test_going_back_to_an_earlier_publication_keeps_what_is_known_of_it(spec: Spec) -> None:
    earlier = load_pins(spec.schema)[OLDER]
    published = spec.path(OLDER).read_bytes()
    later = spec.edit(OLDER, with_an_owner)
    add(OLDER, later, Origin(date="2031-05-06"), OLDER, spec.schema)
    spec.write(OLDER, published)
    accept(spec.candidate(OLDER), "", spec.schema)
    pin = load_pins(spec.schema)[OLDER]
    assert (pin.published.sha256, pin.published.date) == (earlier.published.sha256, "2030-01-02")
    assert [version.date for version in pin.history][-1] == "2031-05-06"


def test_accepting_a_new_revision_pins_it(spec: Spec) -> None:
    spec.edit(NEWEST, with_things, to=NEXT)
    accept(spec.candidate(NEXT), "", spec.schema)
    pin = load_pins(spec.schema)[NEXT]
    assert (pin.spec_path, pin.history) == (f"schema/{NEXT}/schema.json", ())
    assert snapshot_file(NEXT, spec.schema).is_file()
    assert spec.candidate(NEXT).state is CandidateState.SAME


def test_a_full_disk_leaves_pins_and_snapshots_as_they_were(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, content: bytes, **_: object) -> None:
        raise OSError(28, "No space left on device", str(path))

    before = contents(spec)
    spec.edit(OLDER, with_an_owner)
    candidate = spec.candidate(OLDER)
    monkeypatch.setattr(file_set, "write_new", full)
    with pytest.raises(ProblemError, match="cannot-write"):
        accept(candidate, "", spec.schema)
    assert contents(spec) == before


KILLED_ONCE_THE_SNAPSHOT_IS_REPLACED = """
import os, signal
from mcp_protogen.cli import main
replace = os.replace
def last(source, target):
    replace(source, target)
    if str(target).endswith("/schema.json"):
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = last
main()
"""


@pytest.mark.parametrize("revision", [OLDER, NEXT])
def test_an_accept_that_was_killed_counts_and_is_finished_when_it_is_repeated(
    spec: Spec, mcp_gen: Run, revision: str
) -> None:
    spec.edit(NEWEST if revision == NEXT else OLDER, with_an_owner, to=revision)
    here = ("update", revision, "--source", "spec", "--schema-folder", "schema-folder")
    command = (*here, "--accept", spec.digest(revision)[:12])
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_ONCE_THE_SNAPSHOT_IS_REPLACED, *command], check=False
    )
    assert killed.returncode == -signal.SIGKILL
    assert load_pins(spec.schema)[revision].published.sha256 == spec.digest(revision)
    assert mcp_gen("schema", "verify", *here[-2:]).code == 0
    assert mcp_gen(*here).code == 0
    assert mcp_gen(*command).code == 0
    assert b'"owner"' in snapshot_file(revision, spec.schema).read_bytes()
    names = {path.name for path in spec.schema.rglob("*")}
    assert not {name for name in names if name.startswith(".")}


def test_a_reader_that_a_move_overtakes_sees_the_new_snapshot(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec.edit(OLDER, with_an_owner)
    candidate = spec.candidate(OLDER)
    moved: list[Pin] = []

    def overtaken(folder: Path | None = None, kind: Pinnable = REVISION) -> Pins:
        pins = load_pins(folder, kind)
        if not moved:
            monkeypatch.setattr(pins_module, "load_pins", load_pins)
            moved.append(accept(candidate, "", folder))
        return pins

    monkeypatch.setattr(pins_module, "load_pins", overtaken)
    assert sha256(read_snapshot(OLDER, spec.schema)) == moved[0].snapshot_sha256


def test_two_runs_that_accept_at_once_do_not_lose_a_pin(
    spec: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    for revision in (OLDER, NEWEST):
        spec.edit(revision, with_an_owner)
    candidates = {revision: spec.candidate(revision) for revision in (OLDER, NEWEST)}
    save, held = pins_module.save, folder_lock.exclusive_lock
    waits_or_is_done = threading.Event()

    def work() -> None:
        try:
            accept(candidates[NEWEST], "", spec.schema)
        finally:
            waits_or_is_done.set()

    other = threading.Thread(target=work)

    @contextmanager
    def note_lock(folder: Path) -> Generator[None, None, None]:
        if threading.current_thread() is other:
            waits_or_is_done.set()
        with held(folder):
            yield

    def interrupt_save(*arguments: Any) -> None:
        if threading.current_thread() is not other:
            other.start()
            waits_or_is_done.wait()
        save(*arguments)

    monkeypatch.setattr(adoption, "save", interrupt_save)
    monkeypatch.setattr(folder_lock, "exclusive_lock", note_lock)
    accept(candidates[OLDER], "", spec.schema)
    other.join()
    after = load_pins(spec.schema)
    assert {name: after[name].published.sha256 for name in candidates} == {
        name: spec.digest(name) for name in candidates
    }
    assert not [*spec.schema.glob(".*")]
