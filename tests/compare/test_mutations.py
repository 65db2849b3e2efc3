"""Comparisons report every small change of a published schema, and no other words for the same."""

import re
from collections.abc import Sequence

import pytest
from support import tables
from support.compare.mutations import Mutation, mutable, mutations, neutral
from support.revisions import REVISIONS

# Mutations without a report, by what their name says, with the reason.
UNREPORTED = {
    r"at /\$defs/(JSONRPCMessage|ClientResult|ServerResult)(/anyOf/\d+)?$": (
        "These lists name types that are reported by themselves: messages for their methods, and "
        "results for the methods that have them. Their own names are in no message."
    ),
    r"^default( null)? added at /\$defs/\w+(Notification|Request)/anyOf/\d+$": (
        "Lists of messages: each arm has its members already."
    ),
    r"^required (removed|shrunk) at /\$defs/\w+/properties/error/allOf/\d+$": (
        "The other part of the intersection, `Error`, requires the same members."
    ),
}
PATTERNS = {pattern: re.compile(pattern) for pattern in UNREPORTED}


def pattern_of(mutation: Mutation) -> str | None:
    return next((name for name, one in PATTERNS.items() if one.search(str(mutation))), None)


@pytest.mark.parametrize("revision", REVISIONS)
def test_comparison_reports_every_mutation(revision: str) -> None:
    side = mutable(revision)
    every = mutations(side.schema)
    for mutation in tables.some(every, 25, f"mutations of {revision}"):
        with tables.case(mutation):
            assert bool(side.changes(mutation)) is (pattern_of(mutation) is None)


def test_list_of_unreported_mutations_has_no_idle_entry() -> None:
    for pattern in PATTERNS:
        with tables.case(pattern):
            revision, found = first_of(pattern, REVISIONS[::-1])
            assert mutable(revision).changes(found) == ()


def first_of(pattern: str, revisions: Sequence[str]) -> tuple[str, Mutation]:
    return next(
        (revision, mutation)
        for revision in revisions
        for mutation in mutations(mutable(revision).schema)
        if pattern_of(mutation) == pattern
    )


@pytest.mark.parametrize("revision", REVISIONS)
def test_comparison_finds_no_change_in_other_words(revision: str) -> None:
    side = mutable(revision)
    for mutation in tables.some(neutral(side.schema), 12, f"other words of {revision}"):
        with tables.case(mutation):
            assert side.changes(mutation) == ()
