"""The committed package reads every valid vector, refuses every invalid one, and loses nothing.

The differences that are wanted are named here one by one; docs/models.md says why.
"""

from functools import cache

import pytest
from mcp_protogen.vectors.outcome import Harm, VectorRun, Verdict
from mcp_protogen.vectors.running import run_vectors
from support.revisions import REVISIONS
from support.vectors.made import GOLDEN, vectors

ENVELOPE = "a message is read into its parts, so that undeclared members beside them are dropped"
NO_PARAMS = "params that may be left out are read as empty ones, and written so"
WANTED = {(Harm.LOST, "/x-undeclared"): ENVELOPE, (Harm.ADDED, "/params"): NO_PARAMS}
"""What a round trip of a message may do, by what and where, with the reason."""


@cache
def outcome(revision: str) -> VectorRun:
    return run_vectors(GOLDEN, vectors(revision))


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_committed_package_knows_every_type_and_message(revision: str) -> None:
    results = outcome(revision).results
    assert [r.vector.id for r in results if r.verdict is Verdict.UNKNOWN] == []
    assert len(results) == len(vectors(revision).vectors) > 4000


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_committed_package_agrees_with_every_vector(revision: str) -> None:
    wrong = [(r.vector.id, r.error) for r in outcome(revision).results if r.verdict_is_wrong]
    assert wrong == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_types_of_the_committed_package_lose_nothing(revision: str) -> None:
    results = outcome(revision).results
    losses = [(r.vector.id, r.losses) for r in results if r.vector.subject.type and r.losses]
    assert losses == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_of_the_committed_package_lose_nothing_but_what_is_wanted(revision: str) -> None:
    losses = {
        (loss.harm, loss.pointer): result.vector.id
        for result in outcome(revision).results
        for loss in result.losses
    }
    assert losses.keys() == WANTED.keys(), losses


TOLERATED = {
    "type/unknown": "an unknown kind of content is kept",
    "Schema/": "a broken schema of a tool is kept",
}
"""Ends and parts of the ids of invalid vectors that types of the package accept on purpose."""


@pytest.mark.parametrize("revision", REVISIONS)
def test_types_of_the_committed_package_accept_of_the_invalid_only_what_is_documented(
    revision: str,
) -> None:
    accepted = [
        result.vector.id
        for result in outcome(revision).results
        if result.vector.subject.type
        and not result.vector.valid
        and result.verdict is Verdict.ACCEPTED
    ]
    assert accepted
    assert [id for id in accepted if not any(part in id for part in TOLERATED)] == []


KINDLY = {
    "/result/cacheScope": "reads as private",
    "/result/resultType": "reads as complete",
    "/result/ttlMs": "reads as 0",
}
"""Members of results that the method table reads kindly, as pages say it has to."""


@pytest.mark.parametrize("revision", REVISIONS)
def test_messages_of_the_committed_package_accept_of_the_invalid_only_what_is_documented(
    revision: str,
) -> None:
    accepted = [
        result.vector
        for result in outcome(revision).results
        if result.vector.subject.method
        and not result.vector.valid
        and result.verdict is Verdict.ACCEPTED
    ]
    assert accepted
    assert [
        vector.id
        for vector in accepted
        if vector.pointer not in KINDLY and not any(part in vector.id for part in TOLERATED)
    ] == []
