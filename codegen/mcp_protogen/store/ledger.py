"""Which patches of ours still fit a schema that has moved, and which are done upstream."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from mcp_protogen.problems import Level, Problem, ProblemError
from mcp_protogen.store import patches

Json = dict[str, Any]


class Fit(StrEnum):
    """How an entry of the ledger stands to a schema."""

    FITS = "fits"
    """The mistake is still there, and the entry mends it."""
    DONE = "done"
    """The schema says by now what the entry would make it say: drop the entry."""
    STALE = "stale"
    """Something else is there: write the entry anew, or drop it."""


@dataclass(frozen=True, slots=True)
class PatchFit:
    """One entry: its place in the ledger's file, what it is about, and how it fits."""

    place: str
    pointer: str
    fit: Fit
    reason: str


@dataclass(frozen=True, slots=True)
class Mended:
    """A schema with every entry applied that fits, and how each of them does.

    `notes` are warnings that say what is there instead, for those that do not.
    """

    schema: Json
    entries: tuple[Json, ...]
    fits: tuple[PatchFit, ...]
    notes: tuple[Problem, ...] = ()


def mended(schema: Json, ledger: Sequence[Json], place: str) -> Mended:
    """Try the entries in order, each on what the ones before it made."""
    applied: list[Json] = []
    fits: list[PatchFit] = []
    notes: list[Problem] = []
    for number, entry in enumerate(ledger):
        where = f"{place}#/patches/{number}"
        fit = Fit.FITS
        try:
            schema = patches.apply(schema, [entry], place)
            applied.append(entry)
        except ProblemError as error:
            fit = Fit.DONE if patches.is_done(schema, entry) else Fit.STALE
            notes += (_note(one, where, entry["pointer"]) for one in error.problems)
        fits.append(PatchFit(where, entry["pointer"], fit, entry.get("reason", "")))
    return Mended(schema, tuple(applied), tuple(fits), tuple(notes))


def _note(problem: Problem, place: str, pointer: str) -> Problem:
    return replace(problem, place=place, pointer=pointer, level=Level.WARNING)
