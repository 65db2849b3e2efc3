"""The files of each revision at a source, compared with the pins."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import (
    Level,
    Problem,
    ProblemError,
    did_you_mean,
    raise_errors,
    raising,
)
from mcp_protogen.instep.update.adoption import unsafe
from mcp_protogen.pipeline.inputs.pins import REVISION, Pin, Pinnable, Pins, Publication
from mcp_protogen.pipeline.sources.source import PublishedFile, SchemaSource, SourceListing, path_of

DRAFT = "draft"
"""The specification's name for the next revision."""
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class CandidateState(StrEnum):
    """The state of a found file, compared with the pins."""

    SAME = "same"
    """The bytes are those of the pin."""
    MOVED = "moved"
    """The file has new bytes, which were never pinned."""
    BEHIND = "behind"
    """The bytes are those of an earlier publication, which was pinned before."""
    NEW = "new"
    """The revision is not pinned."""
    COPY = "copy"
    """A draft that is not pinned has the bytes of a pinned revision: there is no draft now."""

    @property
    def is_news(self) -> bool:
        """Return whether something has moved."""
        return self in (CandidateState.MOVED, CandidateState.BEHIND, CandidateState.NEW)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A published file that was found, and its state; `revision` may name an extension.

    `known` is the publication with these bytes, if it is known, and `twin` another revision that is
    pinned to them, if any. `pin` is that of the revision; None for a new one.
    """

    revision: str
    path: str
    state: CandidateState
    published: PublishedFile
    sha256: str
    source: SchemaSource
    pin: Pin | None = None
    known: Publication | None = None
    twin: str = ""
    kind: Pinnable = REVISION


@dataclass(frozen=True, slots=True)
class Candidates:
    """The candidates of a source, and warnings."""

    candidates: tuple[Candidate, ...]
    notices: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class RevisionFilter:
    """The revisions to look at, or all if none is named; never the `ignored` ones.

    If `kind` says extensions, all of them are named.
    """

    revisions: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    kind: Pinnable = REVISION

    def has(self, revision: str) -> bool:
        """Return whether this revision is to be looked at."""
        return revision not in self.ignored and (not self.revisions or revision in self.revisions)


def look(source: SchemaSource, pins: Pins, wanted: RevisionFilter) -> Candidates:
    """Return the wanted revisions that `source` has.

    Raise `ProblemError`: `unreadable-source`, `unsafe-name`, `unknown-revision`, `not-published`
    for a named revision that is pinned but missing, `not-a-source` if it has no schema.
    """
    raise_errors(
        problem for revision in wanted.revisions for problem in unsafe(revision, wanted.kind)
    )
    # The file of an extension can only be where its pin says.
    listing = source.listing() if wanted.kind is REVISION else SourceListing(())
    paths = _paths(pins, listing, wanted)
    # The first unreadable file ends the search, because the server is probably down.
    reading = ((revision, source.read(path)) for revision, path in paths.items())
    read = {revision: published for revision, published in reading if published is not None}
    absent = [revision for revision in paths if revision not in read]
    _refuse_unknown(source, pins, listing, wanted, absent)
    if not read:
        raise _no_schema_error(source, paths)
    candidates = (
        replace(_candidate(name, paths[name], published, pins, source), kind=wanted.kind)
        for name, published in read.items()
    )
    notices = (
        *listing.notices,
        *_missing_revisions(source, pins, absent),
        *_unseen(source, listing, wanted),
    )
    return Candidates(tuple(candidates), notices)


def is_draft(revision: str) -> bool:
    """Return whether a revision is a draft; released ones are named by their day."""
    return not _DAY.fullmatch(revision)


def _paths(pins: Pins, listing: SourceListing, wanted: RevisionFilter) -> Mapping[str, str]:
    """Return the path of each wanted revision, sorted by revision; pins have their own paths."""
    pinned = {revision: pin.spec_path for revision, pin in pins.items()}
    others = {*listing.revisions, *wanted.revisions, *([DRAFT] if listing.incomplete else ())}
    # A pinned file may have another name at the source; it is not new under that name.
    new = {name: path for name in others if (path := path_of(name)) not in pinned.values()}
    every = {**new, **pinned}
    return {revision: every[revision] for revision in sorted(every) if wanted.has(revision)}


def _candidate(
    revision: str, path: str, published: PublishedFile, pins: Pins, source: SchemaSource
) -> Candidate:
    digest = sha256(published.content)
    pin = pins.get(revision)
    others = [name for name, known_pin in pins.items() if known_pin.published.sha256 == digest]
    twin = next((name for name in reversed(others) if name != revision), "")
    known = pin.find_publication(digest) if pin else None
    if pin is None:
        state = CandidateState.COPY if twin and is_draft(revision) else CandidateState.NEW
    elif known is None:
        state = CandidateState.MOVED
    else:
        state = CandidateState.SAME if known is pin.published else CandidateState.BEHIND
    return Candidate(revision, path, state, published, digest, source, pin, known, twin)


@raising
def _refuse_unknown(
    source: SchemaSource,
    pins: Pins,
    listing: SourceListing,
    wanted: RevisionFilter,
    absent: Sequence[str],
) -> Iterator[Problem]:
    """Raise `ProblemError` for each named revision that does not exist."""
    for revision in wanted.revisions:
        owner = _owner(revision, pins)
        if owner is not None and owner != revision:
            message = f"{path_of(revision)} is the file that {owner} is pinned to"
            yield Problem("unknown-revision", message, source.name, hint=f"name {owner}")
        elif revision in absent and revision in pins:
            message = f"{revision} is pinned, but {pins[revision].spec_path} is missing here"
            yield Problem("not-published", message, source.name)
        elif revision in absent:
            hint = did_you_mean(revision, sorted({*pins, *listing.revisions}))
            message = f"{revision!r} is neither pinned nor published here"
            yield Problem("unknown-revision", message, source.name, hint=hint)


def _owner(revision: str, pins: Pins) -> str | None:
    """Return the pinned revision whose file has this name."""
    if revision in pins:
        return revision
    return next((name for name in pins if pins[name].spec_path == path_of(revision)), None)


def _no_schema_error(source: SchemaSource, paths: Mapping[str, str]) -> ProblemError:
    looked = ", ".join([*paths.values()][:3]) or path_of("<revision>")
    message = "there is no published schema here"
    hint = f"it should have {looked}; name the place above the folder schema"
    return ProblemError(Problem("not-a-source", message, source.name, hint=hint))


def _missing_revisions(
    source: SchemaSource, pins: Pins, absent: Sequence[str]
) -> Iterator[Problem]:
    for revision in absent:
        if revision in pins:
            message = f"{revision} is pinned, but {pins[revision].spec_path} is missing here"
            yield Problem("not-published", message, source.name, level=Level.WARNING)


def _unseen(
    source: SchemaSource, listing: SourceListing, wanted: RevisionFilter
) -> Iterator[Problem]:
    """Yield a warning if the search for new revisions failed."""
    if listing.incomplete and not wanted.revisions:
        message = f"cannot search for new revisions: {listing.incomplete}"
        hint = "name the revisions, or a clone of the specification with --source"
        yield Problem("not-looked-for", message, source.name, hint=hint, level=Level.WARNING)
