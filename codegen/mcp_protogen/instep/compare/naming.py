"""The names of a side: a pinned revision, an earlier publication, a file or a URL.

2025-11-25                  the revision as it is pinned
2025-11-25@1ffe4c55         an earlier publication, by digest or commit, read from a source
draft.json                  a file, with the facts of its revision, or of the other side
2025-11-25=draft.json       a file, with the facts of the named revision
tasks, tasks@…, tasks=…     the same of an extension
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_protogen.base.canonical import sha256
from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.base.problems import Level, Problem, ProblemError, did_you_mean
from mcp_protogen.instep.compare.extensions import compared_extension
from mcp_protogen.instep.compare.revisions import (
    ComparedRevision,
    compared_file,
    facts_origin,
    has_messages,
    published_as,
)
from mcp_protogen.pipeline.config import GivenFile
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names, first_version
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    REVISION,
    Pin,
    Pinnable,
    Pins,
    Publication,
    load_extension_pins,
    load_pins,
)

if TYPE_CHECKING:
    from mcp_protogen.pipeline.sources.source import SchemaSource

_SHORTEST = 4
_Pinned = Mapping[Pinnable, Pins]


@dataclass(frozen=True, slots=True)
class _SideChoice:
    """The meaning of a name: a file or a pin; a file may belong to an unknown revision."""

    title: str
    name: str | None
    given: GivenFile | None = None
    kind: Pinnable = REVISION

    @property
    def is_no_revision(self) -> bool:
        """Return whether this is an unknown file without messages."""
        return self.name is None and self.given is not None and not has_messages(self.given)


def load_sides(
    texts: tuple[str, str], source: str | None, *, as_published: bool = False
) -> tuple[ComparedRevision, ComparedRevision]:
    """Return both sides of a comparison, with titles that tell them apart.

    `source` is a clone or folder of the specification. Facts that no schema has are the same on
    both sides unless the user says otherwise: a file of an unknown revision takes them from the
    other side. Two such files take the facts that a package of the first file would have.

    Raise `ProblemError`: `unknown-revision`, `unknown-publication`, `no-source`, and all problems
    of a file.
    """
    pinned: _Pinned = {REVISION: load_pins(), EXTENSION: load_extension_pins()}
    found = [_parse_side(text, source, pinned) for text in texts]
    if found[0].title == found[1].title and texts[0] != texts[1]:
        found = [replace(side, title=text) for side, text in zip(found, texts, strict=True)]
    found = _of_one_extension(found)
    before, after = (_load_side(side, found, as_published=as_published) for side in found)
    return before, after


def _of_one_extension(found: list[_SideChoice]) -> list[_SideChoice]:
    """Return both sides; a file that cannot be a revision is of the extension on the other side.

    Raise `ProblemError` (`conflicting-options`) for two extensions.
    """
    names = dict.fromkeys(side.name for side in found if side.name and side.kind is EXTENSION)
    if len({*map(first_version, names)}) > 1:
        message = f"{' and '.join(names)} are two extensions"
        hint = "compare one with a version of itself, pinned or NAME=FILE, or with a revision"
        raise conflict(message, hint)
    return [
        (
            replace(side, name=next(iter(names)), kind=EXTENSION)
            if names and side.is_no_revision
            else side
        )
        for side in found
    ]


def _load_side(
    named: _SideChoice, found: Sequence[_SideChoice], *, as_published: bool
) -> ComparedRevision:
    """Return one side; a file of an unknown revision takes the facts of the other side.

    If that is unknown, too, it takes those that a package of the first file would have.
    """
    if named.kind is EXTENSION and named.name:
        return compared_extension(
            named.name, named.given, title=named.title, as_published=as_published
        )
    revisions = [candidate for candidate in found if candidate.kind is REVISION]
    known = next((name for candidate in (named, *revisions) if (name := candidate.name)), None)
    origin = known or facts_origin(next(revision.given for revision in revisions if revision.given))
    side = compared_file(origin, named.given, title=named.title, as_published=as_published)
    if known is None and named is next(iter(revisions)):
        side = replace(side, notes=(_facts_notice(origin, len(revisions)), *side.notes))
    return side


def _facts_notice(origin: str, files: int) -> Problem:
    whose = "both files are" if files > 1 else "the file is"
    why = "neither is" if files > 1 else "it is not"
    return Problem(
        "derived-facts",
        f"{whose} compared with the facts of {origin}: {why} of a pinned revision",
        hint="write REVISION=FILE to use the facts of another revision",
        level=Level.WARNING,
    )


def _parse_side(text: str, source: str | None, pinned: _Pinned) -> _SideChoice:
    for kind, pins in pinned.items():
        name, mark, state = text.partition("@")
        known = extension_names() if kind is EXTENSION else pins
        if text in known:
            return _SideChoice(text, text, kind=kind)
        if mark and name in pins:
            return _publication(name, state, source, pins, kind)
        facts_of, _, place = text.partition("=")
        if place and facts_of in known:
            return replace(_file(place, pinned), name=facts_of, kind=kind)
    if _is_place(text):
        return _file(text, pinned)
    names = [*pinned[REVISION], *extension_names()]
    hint = f"for anything else, name a file or a URL; {did_you_mean(text, names)}"
    if text == "core":
        hint = f"write the revision whose core you mean, such as {max(pinned[REVISION])}"
    raise ProblemError(Problem("unknown-revision", f"no schema is pinned for {text!r}", hint=hint))


def _is_place(text: str) -> bool:
    """Return whether a text is meant as a file or a URL."""
    named = "://" in text or text.endswith(".json") or "/" in text
    return named or (bool(text) and Path(text).exists())


def _file(place: str, pinned: _Pinned) -> _SideChoice:
    from mcp_protogen.pipeline.sources.upstream import read_file_or_url

    given = read_file_or_url(place)
    known = any(Path(given.name).name in pins for pins in pinned.values())
    title = place if known else Path(given.name).name
    for kind, pins in pinned.items():
        if name := published_as(given, pins):
            return _SideChoice(title, name, given, kind)
    return _SideChoice(title, None, given)


def _publication(
    name: str, state: str, source: str | None, pins: Pins, kind: Pinnable
) -> _SideChoice:
    publication = _find_publication(name, state, pins)
    title = f"{name}@{publication.sha256[:8]}"
    if publication is pins[name].published:
        return _SideChoice(title, name, kind=kind)
    if source is None:
        hint = "name a clone of the specification with --source, or the file itself"
        message = f"only the pinned publication of {name} is available here"
        raise ProblemError(Problem("no-source", message, f"{name}@{state}", hint=hint))
    content = _read_publication(pins[name], publication, source)
    return _SideChoice(title, name, GivenFile(title, content), kind)


def _find_publication(revision: str, state: str, pins: Pins) -> Publication:
    pin = pins[revision]
    publications = (*pin.history, pin.published)
    found = [
        publication
        for publication in publications
        if len(state) >= _SHORTEST and _is_called(publication, state)
    ]
    if len(found) == 1:
        return found[0]
    known = ", ".join(
        f"{publication.sha256[:8]} of {publication.date or 'an unknown day'}"
        for publication in publications
    )
    message = f"{state!r} is {'more than one' if found else 'no known'} publication of {revision}"
    hint = f"write the beginning of a digest or commit; known: {known}"
    place = f"{revision}@{state}"
    raise ProblemError(Problem("unknown-publication", message, place, hint=hint))


def _is_called(publication: Publication, state: str) -> bool:
    names = (publication.sha256, publication.spec_commit or "")
    return any(name.startswith(state) for name in names)


def _read_publication(pin: Pin, publication: Publication, source: str) -> bytes:
    """Return the bytes of a publication; raise `ProblemError` if the source has other bytes."""
    found = _open_source(source, publication.spec_commit, pin.spec_path).read(pin.spec_path)
    if found is not None and sha256(found.content) == publication.sha256:
        return found.content
    seen = "there is no such file" if found is None else f"found {sha256(found.content)[:12]}"
    message = f"{pin.spec_path} is not the publication {publication.sha256[:12]}: {seen}"
    hint = "name a clone that has the commit, or a folder with exactly that file"
    raise ProblemError(Problem("unknown-publication", message, source, hint=hint))


def _open_source(source: str, commit: str | None, path: str) -> "SchemaSource":
    """Return a source that has a file at `path`, at a commit if it has commits."""
    from mcp_protogen.pipeline.sources.opening import open_source

    try:
        return open_source(source, commit, None, [path])
    except ProblemError as error:
        if error.problems[0].code != "conflicting-options":
            raise
        return open_source(source, None, None, [path])
