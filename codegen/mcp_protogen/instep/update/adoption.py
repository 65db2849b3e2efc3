"""Pinning of a published schema, and verification that a snapshot still stands for it.

The caller reads the bytes. Adding updates the schema folder through `pins`; verifying changes
nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from mcp_protogen.base.canonical import parse_json, pretty, sha256
from mcp_protogen.base.names import EXTENSION_HINT, REVISION_HINT, is_extension, is_revision
from mcp_protogen.base.printable import summarize_list
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.inputs import metacheck
from mcp_protogen.pipeline.inputs.file_formats import check_folder
from mcp_protogen.pipeline.inputs.pinned_extensions import extension_names
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    REVISION,
    Pin,
    Pinnable,
    Publication,
    changing,
    extensions_folder,
    load_extension_pins,
    load_pins,
    pin_of,
    pinned_structure,
    pins_file,
    read_snapshot,
    save,
)
from mcp_protogen.pipeline.inputs.snapshot import dialect_of, differences, snapshot_of, structure_in
from mcp_protogen.pipeline.reports.report import RunReport, RunStatus

_OWNER = "https://github.com/modelcontextprotocol"
REPOSITORY = f"{_OWNER}/modelcontextprotocol"
_SHOWN = 20
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of published bytes, as far as it is known; `date` is written YYYY-MM-DD.

    `repository` is for the first pin of a revision or extension; the default is the official one.
    """

    spec_path: str | None = None
    spec_commit: str | None = None
    date: str | None = None
    note: str = ""
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying one revision or extension; without `problems`, all is well."""

    name: str
    message: str
    problems: tuple[Problem, ...] = ()


def add(
    revision: str,
    content: bytes,
    origin: Origin,
    place: str,
    folder: Path | None = None,
    kind: Pinnable = REVISION,
) -> Pin:
    """Pin `revision` to published bytes, store their snapshot, and return the new pin.

    For an extension, `folder` is that of extensions. Another publication that was pinned so far
    becomes history. Raise `ProblemError` if the bytes are not a valid schema or the name cannot be
    that of a revision or extension.
    """
    raise_errors((*unsafe(revision, kind), *_unreadable_origin(origin)))
    published = parse_json(content, place)
    structure = snapshot_of(published, place)
    metacheck.check(structure, place)
    with changing(folder) as files:
        before = load_pins(folder, kind).get(revision) if pins_file(folder).exists() else None
        if before is None:
            here = Publication(sha256(content), origin.spec_commit, origin.date, (), origin.note)
            repository, path = _usual_place(revision, place, kind)
            pin = Pin(
                repository=origin.repository or repository,
                spec_path=origin.spec_path or path,
                dialect=dialect_of(published),
                snapshot_sha256="",
                published=here,
            )
        else:
            digest = sha256(content)
            again = digest == before.published.sha256
            changed = before.published.changed
            if not again:
                last = pinned_structure(revision, folder, kind)
                changed = tuple(differences(last, structure))
            publication = _next(before, digest, origin, changed)
            pin = before.superseded_by(publication, "", dialect_of(published))
            pin = pin._replace(spec_path=origin.spec_path or pin.spec_path)
        snapshot = pretty(structure)
        pin = pin._replace(snapshot_sha256=sha256(snapshot))
        save(files, revision, pin, snapshot, kind)
    return pin


def _usual_place(name: str, place: str, kind: Pinnable) -> tuple[str, str]:
    """Return the usual repository of a published file, and its path there."""
    if kind is EXTENSION:
        # Each official extension has its own repository with its own layout.
        return f"{_OWNER}/ext-{name}", place
    return REPOSITORY, f"schema/{name}/schema.json"


def verification(
    revision: str | None,
    against: tuple[str, bytes] | None,
    folder: Path | None = None,
    extension: str | None = None,
) -> RunReport:
    """Return a report on the snapshot of one revision or extension, or of all files of a folder.

    `against` has the name and the bytes of a published file, with which the snapshot is compared.
    Raise `ProblemError` for wrong use, an unknown name, or bytes that are not a schema.
    """
    if against and revision is None and extension is None:
        message = "a published schema stands for exactly one revision or extension"
        hint = "name that revision, or --extension NAME"
        raise ProblemError(Problem("ambiguous-schema", message, against[0], hint=hint))
    everything = revision is None and extension is None
    names = [*load_pins(folder)] if everything else [] if revision is None else [revision]
    revisions = [verify(name, against, folder) for name in names]
    names = extension_names(folder) if everything else [] if extension is None else [extension]
    extensions = [_verify_extension(name, against, folder) for name in names]
    every = (*revisions, *extensions)
    problems = tuple(problem for verification in every for problem in verification.problems)
    if everything:
        problems += tuple(check_folder(folder or schema_folder()))
    return RunReport(
        "schema verify",
        RunStatus.DIFFERS if problems else RunStatus.FINE,
        tuple(f"{verification.name}: {verification.message}" for verification in every),
        revisions=tuple({"revision": v.name, "genuine": not v.problems} for v in revisions),
        problems=problems,
        extensions=tuple({"extension": v.name, "genuine": not v.problems} for v in extensions)
        or None,
    )


def _verify_extension(
    name: str, against: tuple[str, bytes] | None, folder: Path | None
) -> Verification:
    if name in {*extension_names(folder)} - load_extension_pins(folder).keys():
        return _of_written(name, against)
    return verify(name, against, extensions_folder(folder), EXTENSION)


def _of_written(extension: str, against: tuple[str, bytes] | None) -> Verification:
    """Verify an extension without a pinned schema: its facts have its types."""
    message = "no schema is published, so its facts have its types"
    if against is None:
        return Verification(extension, message)
    hint = f"to move to this one: mcp-gen schema add --extension {extension} --from FILE"
    problem = Problem("unknown-publication", f"{extension}: {message}", against[0], hint=hint)
    return Verification(extension, message, (problem,))


def verify(
    revision: str,
    against: tuple[str, bytes] | None,
    folder: Path | None = None,
    kind: Pinnable = REVISION,
) -> Verification:
    """Verify the snapshot of `revision`: with its pin alone, or with a published file as well.

    Raise `ProblemError` for a revision that is not pinned and for bytes that are not a schema.
    """
    pins = load_pins(folder, kind)
    pin = pin_of(revision, pins, kind)
    try:
        snapshot = read_snapshot(revision, folder, kind=kind)
    except ProblemError as error:
        return Verification(revision, "the snapshot is not the pinned one", error.problems)
    if against is None:
        return Verification(revision, f"the snapshot is the pinned one, {pin.snapshot_sha256[:12]}")
    place, content = against
    structure = structure_in(content, place)
    pointers = tuple(differences(parse_json(snapshot, revision), structure))
    publication = pin.find_publication(sha256(content))
    if publication is pin.published and not pointers:
        return Verification(revision, f"the snapshot is {place} without its prose")
    problem = _mismatch(pin, publication, pointers, place)
    others = [
        name for name in pins if name != revision and pins[name].find_publication(sha256(content))
    ]
    if others:
        problem = problem._replace(hint=f"this is a publication of {others[0]}")
    return Verification(revision, f"the snapshot does not stand for {place}", (problem,))


def _mismatch(
    pin: Pin, publication: Publication | None, pointers: tuple[str, ...], place: str
) -> Problem:
    where = summarize_list(pointers, _SHOWN) if pointers else "only in prose"
    if publication is pin.published:
        message = f"this is the pinned file, but its snapshot differs from it: {where}"
        return Problem("snapshot-differs", message, place)
    if publication is not None:
        note = f" ({publication.note})" if publication.note else ""
        date = publication.date or "an unknown date"
        message = f"this is the publication of {date}{note}; the pinned one differs: {where}"
        hint = f"the pinned one is of {pin.published.date or 'an unknown date'}"
        return Problem("earlier-publication", message, place, hint=hint)
    message = f"this publication is not known; it differs from the pinned one: {where}"
    hint = "to move to it: mcp-gen schema add REVISION --from FILE"
    return Problem("unknown-publication", message, place, hint=hint)


def _next(before: Pin, digest: str, origin: Origin, changed: tuple[str, ...]) -> Publication:
    """Return the publication to pin: a new one, or a known one with more details."""
    known = before.find_publication(digest)
    if known is None:
        return Publication(digest, origin.spec_commit, origin.date, changed, origin.note)
    return known._replace(
        spec_commit=origin.spec_commit or known.spec_commit,
        date=origin.date or known.date,
        changed=changed,
        note=origin.note or known.note,
    )


def unsafe(name: str, kind: Pinnable = REVISION) -> Iterator[Problem]:
    """Yield a problem if a text cannot be the name of a revision, or an extension."""
    if kind is EXTENSION and not is_extension(name):
        message = f"{name!r:.80} cannot be the name of an extension"
        yield Problem("unsafe-name", message, hint=EXTENSION_HINT)
    if kind is REVISION and not is_revision(name):
        message = f"{name!r} cannot be the name of a revision"
        yield Problem("unsafe-name", message, hint=REVISION_HINT)


def _unreadable_origin(origin: Origin) -> Iterator[Problem]:
    if origin.date is not None and not _is_day(origin.date):
        yield Problem("bad-origin", f"{origin.date!r} is not a date", hint="write YYYY-MM-DD")
    if origin.spec_commit is not None and not _COMMIT.fullmatch(origin.spec_commit):
        hint = "write 7 to 40 hexadecimal digits"
        yield Problem("bad-origin", f"{origin.spec_commit!r} is not a commit", hint=hint)


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
