"""The fit of our patches to another schema than they were written for.

The schema has changed since, or has no patches and takes those of its origin.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem, ProblemError, raising
from mcp_protogen.pipeline.inputs import patches

Json = dict[str, Any]


class Fit(StrEnum):
    """The state of a patch for a schema."""

    FITS = "fits"
    """The mistake is still there, and the entry corrects it."""
    DONE = "done"
    """The schema has the corrected value already: drop the entry."""
    STALE = "stale"
    """The schema has another value there: write the entry again, or drop it."""


@dataclass(frozen=True, slots=True)
class PatchFit:
    """One entry: its place in the file of patches, its subject, and its state."""

    place: str
    pointer: str
    fit: Fit
    reason: str


@dataclass(frozen=True, slots=True)
class PatchedSchema:
    """A schema with all fitting entries applied, and the state of each entry.

    `notes` are warnings about the others, with the values found.
    """

    schema: Json
    entries: tuple[Json, ...]
    fits: tuple[PatchFit, ...]
    notes: tuple[Problem, ...] = ()


def apply_fitting(
    schema: Json, entries: Sequence[Json], place: str, beside: Json | None = None
) -> PatchedSchema:
    """Try the entries in order, each on the result of those before it.

    Entries may also refer to the definitions `beside` it: those of extensions to the core's.
    """
    applied: list[Json] = []
    fits: list[PatchFit] = []
    notes: list[Problem] = []
    for number, entry in enumerate(entries):
        pointer = f"{place}#/patches/{number}"
        fit = Fit.FITS
        try:
            patched = patches.apply(schema, [entry], place)
            definitions = {**(beside or {}), **patched.get("$defs", {})}
            _refuse_dangling(entry, {**patched, "$defs": definitions}, pointer)
            schema = patched
            applied.append(entry)
        except ProblemError as error:
            fit = Fit.DONE if patches.is_done(schema, entry) else Fit.STALE
            notes += (_note(problem, pointer, entry["pointer"]) for problem in error.problems)
        fits.append(PatchFit(pointer, entry["pointer"], fit, entry.get("reason", "")))
    return PatchedSchema(schema, tuple(applied), tuple(fits), tuple(notes))


@raising
def _refuse_dangling(entry: Json, patched: Json, place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for each reference of an entry that leads nowhere."""
    for _, value in jsonpointer.walk(entry.get("now"), ""):
        ref = value.get("$ref") if is_object(value) else None
        try:
            jsonpointer.get(patched, ref.removeprefix("#") if isinstance(ref, str) else "")
        except jsonpointer.NothingThere:
            yield Problem("stale-patch", f"{ref} leads nowhere in this schema", place)


def apply_inherited(schema: Json, folder: Path, revision: str, origin: str) -> PatchedSchema:
    """Return `schema`, called `revision`, with the patches of its origin that fit it.

    `notes` warn of each patch of another revision that is applied, and of each that does not fit,
    at the place for the revision's own patches. A correction that the schema has already needs no
    note.
    """
    outcome = apply_fitting(
        schema, patches.load_patches(folder, origin), f"schema/{origin}/patches.json"
    )
    place = f"schema/{revision}/patches.json"
    unremarkable = {Fit.DONE, *((Fit.FITS,) if origin == revision else ())}
    notes = tuple(
        _inherited_note(fit, place, origin) for fit in outcome.fits if fit.fit not in unremarkable
    )
    return replace(outcome, notes=notes)


def _inherited_note(inherited: PatchFit, place: str, origin: str) -> Problem:
    if inherited.fit is Fit.FITS:
        message = f"{inherited.pointer} is corrected as in {origin}"
        hint = (
            f"copy the entry from schema/{origin}/patches.json if it is right for this schema too"
        )
        return Problem("inherited-patch", message, place, hint=hint, level=Level.WARNING)
    message = f"{inherited.pointer} is unchanged: the patch of {origin} does not fit"
    hint = "if the schema is still wrong there, write an entry for it"
    return Problem("stale-patch", message, place, hint=hint, level=Level.WARNING)


def _note(problem: Problem, place: str, pointer: str) -> Problem:
    return problem._replace(place=place, pointer=pointer, level=Level.WARNING)
