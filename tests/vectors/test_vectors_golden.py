"""The committed package reads every valid vector, refuses every invalid one, and loses nothing.

The differences that are wanted are named here one by one; docs/models.md says why.
"""

from functools import cache

from mcp_protogen.instep.vectors.outcome import Harm, VectorRun, Verdict
from mcp_protogen.instep.vectors.running import run_vectors
from support import tables
from support.vectors.vector_sets import GOLDEN, SETS, vectors

ENVELOPE = "a message is read into its parts, so that undeclared members beside them are dropped"
NO_PARAMS = "params that may be left out are read as empty ones, and written so"
WANTED = {(Harm.LOST, "/x-undeclared"): ENVELOPE, (Harm.ADDED, "/params"): NO_PARAMS}
"""What a round trip of a message may do, by what and where, with the reason."""


@cache
def outcome(revision: str) -> VectorRun:
    return run_vectors(GOLDEN, vectors(revision))


def test_the_committed_package_knows_every_type_and_message() -> None:
    for revision in SETS:
        with tables.case(revision):
            results = outcome(revision).results
            assert [r.vector.id for r in results if r.verdict is Verdict.UNKNOWN] == []
            assert (
                len(results) == len(vectors(revision).vectors) > (100 if "+" in revision else 4000)
            )


def test_the_committed_package_agrees_with_every_vector() -> None:
    for revision in SETS:
        with tables.case(revision):
            wrong = [
                (r.vector.id, r.error) for r in outcome(revision).results if r.verdict_is_wrong
            ]
            assert wrong == []


def test_types_of_the_committed_package_lose_nothing() -> None:
    for revision in SETS:
        with tables.case(revision):
            results = outcome(revision).results
            losses = [
                (r.vector.id, r.losses) for r in results if r.vector.subject.type and r.losses
            ]
            assert losses == []


def test_messages_of_the_committed_package_lose_nothing_but_what_is_wanted() -> None:
    for revision in SETS:
        with tables.case(revision):
            losses = {
                (loss.harm, loss.pointer): result.vector.id
                for result in outcome(revision).results
                for loss in result.losses
            }
            # An extension need not have params that may be left out.
            assert losses.keys() <= WANTED.keys(), losses
            assert "+" in revision or losses.keys() == WANTED.keys()


TOLERATED = {
    "type/unknown": "an unknown kind of content is kept",
    "Schema/": "a broken schema of a tool is kept",
}
"""Ends and parts of the ids of invalid vectors that types of the package accept on purpose."""


def test_types_of_the_committed_package_accept_of_the_invalid_only_what_is_documented() -> None:
    for revision in SETS:
        with tables.case(revision):
            accepted = [
                result.vector.id
                for result in outcome(revision).results
                if result.vector.subject.type
                and not result.vector.valid
                and result.verdict is Verdict.ACCEPTED
            ]
            assert accepted or "+" in revision
            assert [id for id in accepted if not any(part in id for part in TOLERATED)] == []


KINDLY = {
    "/result/cacheScope": "reads as private",
    "/result/resultType": "reads as complete",
    "/result/ttlMs": "reads as 0",
}
"""Members of results that the method table reads kindly, as pages say it has to."""


def test_messages_of_the_committed_package_accept_of_the_invalid_only_what_is_documented() -> None:
    for revision in SETS:
        with tables.case(revision):
            accepted = [
                result.vector
                for result in outcome(revision).results
                if result.vector.subject.method
                and not result.vector.valid
                and result.verdict is Verdict.ACCEPTED
            ]
            assert accepted or "+" in revision
            assert [
                vector.id
                for vector in accepted
                if vector.pointer not in KINDLY and not any(part in vector.id for part in TOLERATED)
            ] == []
