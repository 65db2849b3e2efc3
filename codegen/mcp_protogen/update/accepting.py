"""Moving a pin to what was found, by the digest that the user has seen."""

import re
from collections.abc import Sequence
from pathlib import Path

from mcp_protogen.problems import Problem, ProblemError
from mcp_protogen.store.adoption import Origin, add
from mcp_protogen.store.pins import Pin
from mcp_protogen.update.candidates import Candidate, Standing
from mcp_protogen.update.findings import place_of

SHORTEST = 12
_DIGEST = re.compile(rf"[0-9a-f]{{{SHORTEST},64}}")


def chosen(candidates: Sequence[Candidate], accepted: str) -> Candidate:
    """The one candidate whose digest begins with `accepted`; one that is pinned to it already only
    if there is no other.

    Raises `ProblemError`: `bad-digest`, or `unknown-candidate` with those that there are. What the
    source holds may have moved on since it was shown; then nothing matches.
    """
    wanted = accepted.lower()
    if not _DIGEST.fullmatch(wanted):
        hint = f"pass the sha256 that was shown, or at least its first {SHORTEST} digits"
        message = f"{accepted!r:.80} is no beginning of a sha256"
        raise ProblemError(Problem("bad-digest", message, "--accept", hint=hint))
    having = [one for one in candidates if one.sha256.startswith(wanted)]
    # To accept again what is pinned does no harm, and finishes what a run that was killed began.
    matching = [one for one in having if one.standing is not Standing.SAME] or having
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(one.revision for one in matching)
        message = f"{wanted} is what is published for {names}"
        hint = "name the revision that is meant"
    else:
        message = f"no file at the source has a sha256 that begins with {wanted}"
        hint = _offered(candidates)
    raise ProblemError(Problem("unknown-candidate", message, "--accept", hint=hint))


def accept(candidate: Candidate, note: str, folder: Path | None) -> Pin:
    """Pin the revision to the bytes of a candidate; returns the new pin."""
    origin = Origin(
        spec_path=candidate.path,
        spec_commit=candidate.published.commit,
        date=candidate.published.date,
        note=note,
        repository=candidate.source.repository,
    )
    content = candidate.published.content
    return add(candidate.revision, content, origin, place_of(candidate), folder)


def _offered(candidates: Sequence[Candidate]) -> str:
    offered = [
        f"{one.revision} {one.sha256[:SHORTEST]}"
        for one in candidates
        if one.standing is not Standing.SAME
    ]
    return f"there are: {', '.join(offered)}" if offered else "nothing has moved there"
