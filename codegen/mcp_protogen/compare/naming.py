"""The names of a side: a pinned revision, an earlier publication, a file or a URL.

2025-11-25                  the revision as it is pinned
2025-11-25@1ffe4c55         an earlier publication, by digest or commit, read from a source
draft.json                  a file, with the facts of the revision whose schema it is, or else of
                            the other side
2025-11-25=draft.json       a file, with the facts of the revision that is named
"""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.suggest import did_you_mean
from mcp_protogen.compare.revisions import (
    ComparedRevision,
    compared_file,
    inherited_basis,
    revision_of,
)
from mcp_protogen.config import GivenFile
from mcp_protogen.inputs.pins import Pin, Pins, Publication, load_pins, pin_of

if TYPE_CHECKING:
    from mcp_protogen.upstream.source import SchemaSource

_SHORTEST = 4


@dataclass(frozen=True, slots=True)
class _Named:
    """The meaning of a name: a file, or a pinned revision; a file may be of an unknown revision."""

    title: str
    revision: str | None
    given: GivenFile | None = None


def named_revisions(
    texts: tuple[str, str], source: str | None, *, as_published: bool = False
) -> tuple[ComparedRevision, ComparedRevision]:
    """Return both sides of a comparison, with titles that tell them apart.

    `source` is a clone or folder of the specification. Facts that no schema has are the same on
    both sides unless the user says otherwise: a file of an unknown revision takes them from the
    other side. Two such files take the facts that a package of the first file would have.

    Raise `ProblemError`: `unknown-revision`, `unknown-publication`, `no-source`, and all problems
    of a file.
    """
    pins = load_pins()
    found = [_named(text, source, pins) for text in texts]
    titles = [one.title for one in found]
    if titles[0] == titles[1] and texts[0] != texts[1]:
        titles = [*texts]
    known = next((one.revision for one in found if one.revision), None)
    # If neither revision is known, both are files, and the first one decides.
    basis = known or inherited_basis(next(one.given for one in found if one.given))
    before, after = (
        compared_file(one.revision or basis, one.given, title=title, as_published=as_published)
        for one, title in zip(found, titles, strict=True)
    )
    if known is None:
        before = replace(before, notes=(_borrowed(basis), *before.notes))
    return before, after


def _borrowed(basis: str) -> Problem:
    return Problem(
        "derived-facts",
        f"both files are compared with the facts of {basis}: neither is of a pinned revision",
        hint="write REVISION=FILE to use the facts of another revision",
        level=Level.WARNING,
    )


def _named(text: str, source: str | None, pins: Pins) -> _Named:
    revision, mark, state = text.partition("@")
    if text in pins:
        return _Named(text, text)
    if mark and revision in pins:
        return _publication(revision, state, source, pins)
    facts_of, _, place = text.partition("=")
    if place and facts_of in pins:
        return _file(place, pins, facts_of)
    if _is_place(text):
        return _file(text, pins)
    hint = f"to compare anything else, name a file or a URL; {did_you_mean(text, pins)}"
    raise ProblemError(Problem("unknown-revision", f"no schema is pinned for {text!r}", hint=hint))


def _is_place(text: str) -> bool:
    """Return whether a text is meant as a file or a URL."""
    named = "://" in text or text.endswith(".json") or "/" in text
    return named or (bool(text) and Path(text).exists())


def _file(place: str, pins: Pins, revision: str | None = None) -> _Named:
    from mcp_protogen.upstream.upstream import read_source, source_name

    given = GivenFile(source_name(place), read_source(place))
    title = place if (name := Path(given.name).name) in pins else name
    return _Named(title, revision or revision_of(given, pins), given)


def _publication(revision: str, state: str, source: str | None, pins: Pins) -> _Named:
    publication = _known(revision, state, pins)
    title = f"{revision}@{publication.sha256[:8]}"
    if publication is pin_of(revision, pins).published:
        return _Named(title, revision)
    if source is None:
        hint = "name a clone of the specification with --source, or the file itself"
        message = f"only the pinned publication of {revision} is available here"
        raise ProblemError(Problem("no-source", message, f"{revision}@{state}", hint=hint))
    content = _published(pins[revision], publication, source)
    return _Named(title, revision, GivenFile(title, content))


def _known(revision: str, state: str, pins: Pins) -> Publication:
    pin = pin_of(revision, pins)
    publications = (*pin.history, pin.published)
    found = [one for one in publications if len(state) >= _SHORTEST and _is_called(one, state)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"{one.sha256[:8]} of {one.date or 'an unknown day'}" for one in publications)
    message = f"{state!r} is {'more than one' if found else 'no known'} publication of {revision}"
    hint = f"write the beginning of a digest or commit; known: {known}"
    place = f"{revision}@{state}"
    raise ProblemError(Problem("unknown-publication", message, place, hint=hint))


def _is_called(publication: Publication, state: str) -> bool:
    names = (publication.sha256, publication.spec_commit or "")
    return any(name.startswith(state) for name in names)


def _published(pin: Pin, publication: Publication, source: str) -> bytes:
    """Return the bytes of a publication; raise `ProblemError` if they are other ones."""
    found = _opened(source, publication.spec_commit).read(pin.spec_path)
    if found is not None and sha256(found.content) == publication.sha256:
        return found.content
    seen = "there is no such file" if found is None else f"found {sha256(found.content)[:12]}"
    message = f"{pin.spec_path} is not the publication {publication.sha256[:12]}: {seen}"
    hint = "name a clone that has the commit, or a folder with exactly that file"
    raise ProblemError(Problem("unknown-publication", message, source, hint=hint))


def _opened(source: str, commit: str | None) -> "SchemaSource":
    """Return a source at a commit, if it has commits."""
    from mcp_protogen.upstream.opening import open_source

    try:
        return open_source(source, commit, None)
    except ProblemError as error:
        if error.problems[0].code != "conflicting-options":
            raise
        return open_source(source, None, None)
