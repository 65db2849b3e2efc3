"""Acceptance of a found file: a pin is moved to it, by the digest that the user has seen."""

import re
from collections.abc import Sequence
from pathlib import Path

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.inputs.pins import Pin
from mcp_protogen.update.adoption import Origin, add
from mcp_protogen.update.candidates import Candidate, CandidateState
from mcp_protogen.update.findings import place_of

SHORTEST = 12
_DIGEST = re.compile(rf"[0-9a-f]{{{SHORTEST},64}}")


def chosen(candidates: Sequence[Candidate], accepted: str) -> Candidate:
    """Return the one candidate whose digest begins with `accepted`.

    A candidate that is already pinned is returned only if there is no other. Raise `ProblemError`:
    `bad-digest`, or `unknown-candidate` with the existing ones. If the source has changed since the
    digest was shown, nothing matches.
    """
    wanted = accepted.lower()
    if not _DIGEST.fullmatch(wanted):
        hint = f"pass the sha256 that was shown, or at least its first {SHORTEST} digits"
        message = f"{accepted!r:.80} is not a sha256 or the beginning of one"
        raise ProblemError(Problem("bad-digest", message, "--accept", hint=hint))
    having = [one for one in candidates if one.sha256.startswith(wanted)]
    # Accepting a pinned file again does no harm, and finishes the work of a killed run.
    matching = [one for one in having if one.standing is not CandidateState.SAME] or having
    if len(matching) == 1:
        return matching[0]
    if matching:
        names = ", ".join(one.revision for one in matching)
        message = f"{wanted} is published for several revisions: {names}"
        hint = "name the revision that you mean"
    else:
        message = f"no file at the source has a sha256 that begins with {wanted}"
        hint = _offered(candidates)
    raise ProblemError(Problem("unknown-candidate", message, "--accept", hint=hint))


def accept(candidate: Candidate, note: str, folder: Path | None) -> Pin:
    """Pin the revision to the bytes of a candidate, and return the new pin."""
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
        if one.standing is not CandidateState.SAME
    ]
    return f"possible: {', '.join(offered)}" if offered else "nothing has moved there"
