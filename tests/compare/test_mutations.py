"""Comparisons report every small change of a published schema, and no rewording."""

import re
from collections.abc import Iterable, Sequence

import pytest
from support import tables
from support.compare.mutations import (
    Mutation,
    fact_mutations,
    mutable,
    mutations,
    neutral,
)
from support.revisions import NEWEST, REVISIONS

# Mutations without a report, by what their name says, with the reason.
UNREPORTED = {
    r"at /\$defs/(JSONRPCMessage|ClientResult|ServerResult)(/anyOf/\d+)?$": (
        "These lists name types that are reported by themselves: messages for their methods, and "
        "results for the methods that have them. Their own names are in no message."
    ),
    r"^(default( \w+)?|\w+Only|x-unknown) added at /\$defs/\w+(Notification|Request)/anyOf/\d+$": (
        "Lists of messages: each arm has its members already."
    ),
    r"^required (removed|shrunk) at /\$defs/\w+/properties/error/allOf/\d+$": (
        "The other part of the intersection, `Error`, requires the same members."
    ),
}
# Facts that no comparison reads, with the reason.
UNREAD = {
    "/source$": "The page that says so is not a part of the protocol.",
    "^changed at /inherits$": "Where the facts come from says nothing of what they are.",
    "/types/open/[^/]+/described$": "How the schema says it; that a type is open counts.",
    "/projects/": "Our choice for new projects.",
    "/transports/[^/]+/(client|server|names)": "Our functions, and names in files of hosts.",
    "/methods/[^/]+/order/|/order$": "The order of arguments in generated code.",
    "/methods/[^/]+/reports/": "Members and a key of `_meta`, which are compared themselves.",
    "/methods/[^/]+/variants/": "The names of stubs in generated code for alternative params.",
    "/(since|removed|deprecated)$": "The day: that a method comes, goes or is deprecated counts.",
    "/methods/[^/]+/errors/": "Not compared, as docs/diff.md says: the code that a method answers.",
    "/http_status$": "Not compared, as docs/diff.md says: HTTP statuses.",
    "/errors/[^/]+/name$": "A name in generated code; the code is what is sent.",
    "/(content_blocks|enums|unions)/": "The order in generated code; the schema has the members.",
    "/producer/": "What generated code fills in for senders; the schema says what is required.",
    "/capabilities/[^/]+/[^/]+/kind$": "Whether a capability is a flag follows from the schema.",
    "/lifecycle/era$": "How sessions begin follows from the methods of the schema.",
    "(subscriptionId|model-immediate-response)/on$": "Their types are named, in `of`.",
    "/methods/[^/]+/(kind|message|params|params_required|results|senders)$": (
        "The schema shows these; facts that contradict it are left out, with a note."
    ),
}
PATTERNS = {pattern: re.compile(pattern) for pattern in {**UNREPORTED, **UNREAD}}


def pattern_of(mutation: Mutation, reasons: Iterable[str] = UNREPORTED) -> str | None:
    return next((name for name in reasons if PATTERNS[name].search(str(mutation))), None)


@pytest.mark.parametrize("revision", REVISIONS)
def test_comparison_reports_every_mutation(revision: str) -> None:
    side = mutable(revision)
    every = mutations(side.schema)
    for mutation in tables.some(every, 12, f"mutations of {revision}"):
        with tables.case(mutation):
            assert bool(side.changes(mutation)) is (pattern_of(mutation) is None)


def test_list_of_unreported_mutations_has_no_idle_entry() -> None:
    for pattern in UNREPORTED:
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
    for mutation in tables.some(neutral(side.schema), 7, f"other words of {revision}"):
        with tables.case(mutation):
            assert side.changes(mutation) == ()


@pytest.mark.parametrize("revision", REVISIONS)
def test_comparison_reports_every_mutation_of_facts(revision: str) -> None:
    side = mutable(revision)
    read = [path for path in fact_mutations(side.facts) if pattern_of(path, UNREAD) is None]
    for mutation in tables.some(read, 12, f"mutations of facts of {revision}"):
        with tables.case(mutation):
            assert side.changes_of_facts(mutation)


def test_list_of_unread_facts_has_no_idle_entry() -> None:
    side = mutable(NEWEST)
    every = [Mutation("changed", "/inherits", ""), *fact_mutations(side.facts)]
    for pattern in UNREAD:
        with tables.case(pattern):
            assert any(pattern_of(mutation, [pattern]) for mutation in every)
