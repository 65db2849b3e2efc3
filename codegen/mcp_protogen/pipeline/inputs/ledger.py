"""The fit of our patches to a schema that they were not written for.

Such a schema has changed since, or has no patches of its own and takes those of its basis.
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
    """The state of an entry of the ledger for a schema."""

    FITS = "fits"
    """The mistake is still there, and the entry corrects it."""
    DONE = "done"
    """The schema already has what the entry would write: drop the entry."""
    STALE = "stale"
    """Something else is there: write the entry again, or drop it."""


@dataclass(frozen=True, slots=True)
class PatchFit:
    """One entry: its place in the ledger's file, its subject, and its state."""

    place: str
    pointer: str
    fit: Fit
    reason: str


@dataclass(frozen=True, slots=True)
class PatchedSchema:
    """A schema with all entries applied that fit, and the state of each entry.

    `notes` are warnings about the others; they say what is there instead.
    """

    schema: Json
    entries: tuple[Json, ...]
    fits: tuple[PatchFit, ...]
    notes: tuple[Problem, ...] = ()


def apply_fitting(
    schema: Json, ledger: Sequence[Json], place: str, beside: Json | None = None
) -> PatchedSchema:
    """Try the entries in order, each on the result of those before it.

    Entries may also refer to the definitions `beside` it, as those of extensions to the core's.
    """
    applied: list[Json] = []
    fits: list[PatchFit] = []
    notes: list[Problem] = []
    for number, entry in enumerate(ledger):
        where = f"{place}#/patches/{number}"
        fit = Fit.FITS
        try:
            patched = patches.apply(schema, [entry], place)
            known = {**(beside or {}), **patched.get("$defs", {})}
            _refuse_dangling(entry, {**patched, "$defs": known}, where)
            schema = patched
            applied.append(entry)
        except ProblemError as error:
            fit = Fit.DONE if patches.is_done(schema, entry) else Fit.STALE
            notes += (_note(problem, where, entry["pointer"]) for problem in error.problems)
        fits.append(PatchFit(where, entry["pointer"], fit, entry.get("reason", "")))
    return PatchedSchema(schema, tuple(applied), tuple(fits), tuple(notes))


@raising
def _refuse_dangling(entry: Json, patched: Json, place: str) -> Iterator[Problem]:
    """Raise `ProblemError` for each reference of an entry that the patched schema has not."""
    for _, value in jsonpointer.walk(entry.get("now"), ""):
        ref = value.get("$ref") if is_object(value) else None
        try:
            jsonpointer.get(patched, ref.removeprefix("#") if isinstance(ref, str) else "")
        except jsonpointer.NothingThere:
            yield Problem("stale-patch", f"{ref} leads nowhere in this schema", place)


def apply_inherited(schema: Json, folder: Path, revision: str, basis: str) -> PatchedSchema:
    """Return `schema`, called `revision`, with the patches of its basis that fit it.

    `notes` warn of each patch that is applied, and of each that no longer fits, at the place where
    the revision's own patches would be. A patch that the schema already has needs no note.
    """
    tried = apply_fitting(
        schema, patches.load_patches(folder, basis), f"schema/{basis}/patches.json"
    )
    place = f"schema/{revision}/patches.json"
    notes = tuple(
        _inherited_note(fit, place, basis) for fit in tried.fits if fit.fit is not Fit.DONE
    )
    return replace(tried, notes=notes)


def _inherited_note(one: PatchFit, place: str, basis: str) -> Problem:
    if one.fit is Fit.FITS:
        message = f"{one.pointer} is corrected as in {basis}"
        hint = f"copy the entry from schema/{basis}/patches.json if it is right here too"
        return Problem("inherited-patch", message, place, hint=hint, level=Level.WARNING)
    message = f"{one.pointer} is left as it is: the patch of {basis} does not fit"
    hint = "if the schema is still wrong there, write an entry for it"
    return Problem("stale-patch", message, place, hint=hint, level=Level.WARNING)


def _note(problem: Problem, place: str, pointer: str) -> Problem:
    return problem._replace(place=place, pointer=pointer, level=Level.WARNING)
