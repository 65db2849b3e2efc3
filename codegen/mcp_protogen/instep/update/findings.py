"""The effects of a published file that has moved, or of a new one."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from mcp_protogen.base.canonical import parse_json
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.instep.update.candidates import Candidate
from mcp_protogen.instep.update.undecided import OpenDecisions, SchemaFolder, find_open_decisions
from mcp_protogen.pipeline.config import GivenFile
from mcp_protogen.pipeline.inputs import metacheck
from mcp_protogen.pipeline.inputs.patch_fit import PatchFit, apply_fitting
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    REVISION,
    nearest_revision,
    read_snapshot,
)
from mcp_protogen.pipeline.inputs.snapshot import differences, structure_in
from mcp_protogen.pipeline.inputs.wires import with_wires
from mcp_protogen.pipeline.reports.change import Comparison

_SHORT = 12


@dataclass(frozen=True, slots=True)
class Finding:
    """A candidate, and the facts for the decision to accept it.

    `compared_with` is a pinned revision: the candidate's own, or the nearest one for a new
    revision. `pointers` are the places in the snapshot that differ from it; empty if only prose
    differs. `comparison` is None if the file could not be understood; `undecided.wrong` then has
    the reason. `patches` are those of the pinned revision: a new one may repeat a mistake that was
    corrected there.
    """

    candidate: Candidate
    compared_with: str
    pointers: tuple[str, ...]
    comparison: Comparison | None
    patches: tuple[PatchFit, ...]
    undecided: OpenDecisions

    @property
    def only_prose(self) -> bool:
        """Return whether only descriptions and the like differ."""
        return not self.pointers


def examine(candidate: Candidate, schemas: SchemaFolder) -> Finding:
    """Return everything about one candidate; raise `ProblemError` for bytes without a schema."""
    place = place_of(candidate)
    structure = structure_in(candidate.published.content, place)
    metacheck.check(structure, place)
    revision = _pinned_revision(candidate, schemas)
    snapshot = read_snapshot(revision, schemas.folder, kind=schemas.kind)
    pointers = tuple(differences(parse_json(snapshot, revision), structure))
    open_questions = find_open_decisions(candidate.revision, structure, schemas)
    comparison, wrong = _compare(candidate, revision, snapshot if pointers else b"")
    entries, patches_place = schemas.patches(revision)
    if schemas.kind is REVISION:
        with suppress(ProblemError):  # `open_questions` has the reason
            structure = with_wires(structure, candidate.revision, schemas.facts_folder, place)
    return Finding(
        candidate,
        revision,
        pointers,
        comparison,
        apply_fitting(structure, entries, patches_place, schemas.beside(revision)).fits,
        replace(open_questions, wrong=_without_duplicates(open_questions.wrong, wrong)),
    )


def place_of(candidate: Candidate) -> str:
    """Return the name of a candidate's file in problems."""
    return f"{candidate.source.name.rstrip('/')}/{candidate.path}"


def _pinned_revision(candidate: Candidate, schemas: SchemaFolder) -> str:
    if candidate.pin is not None:
        return candidate.revision
    nearest = nearest_revision(candidate.revision, schemas.pins)
    if nearest is None:
        message = "there is no pinned revision to compare it with"
        raise ProblemError(Problem("bad-pins", message, str(schemas.folder)))
    return nearest


def _compare(
    candidate: Candidate, revision: str, snapshot: bytes
) -> tuple[Comparison | None, tuple[Problem, ...]]:
    """Return the comparison of both schemas as published, without our patches.

    If `snapshot` is empty, only prose differs, and there is nothing to compare.
    """
    before = f"{revision} as pinned"
    after = f"{candidate.revision} as found, {candidate.sha256[:_SHORT]}"
    if not snapshot:
        return Comparison(before, after, ()), ()
    from mcp_protogen.instep.compare.compare_revisions import compare_revisions
    from mcp_protogen.instep.compare.extensions import compared_extension
    from mcp_protogen.instep.compare.revisions import compared_file

    compared = compared_extension if candidate.kind is EXTENSION else compared_file
    pinned = GivenFile(f"schema/{revision}/schema.json", snapshot)
    published = GivenFile(place_of(candidate), candidate.published.content)
    try:
        comparison = compare_revisions(
            compared(revision, pinned, title=before, as_published=True),
            compared(candidate.revision, published, title=after, as_published=True),
        )
    except ProblemError as error:
        return None, error.problems
    # The notes of both sides are also in `undecided` and `patches`.
    return replace(comparison, notes=()), ()


def _without_duplicates(*groups: tuple[Problem, ...]) -> tuple[Problem, ...]:
    """Return each problem once, because both attempts report the same ones."""
    seen: Mapping[tuple[str, str, str], Problem] = {
        (problem.code, problem.message, problem.pointer): problem
        for group in reversed(groups)
        for problem in group
    }
    return tuple(seen.values())
