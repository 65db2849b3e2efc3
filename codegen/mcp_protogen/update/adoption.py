"""Pinning of a published schema, and verification that a snapshot still stands for it.

The caller reads the bytes. Adding updates the schema folder through `pins`; verifying changes
nothing.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import parse_json, pretty, sha256
from mcp_protogen.base.names import REVISION_HINT, is_revision
from mcp_protogen.base.printable import listed
from mcp_protogen.base.problems import Problem, ProblemError, raise_errors
from mcp_protogen.findings.report import Report, Status
from mcp_protogen.inputs import metacheck
from mcp_protogen.inputs.pins import (
    Pin,
    Publication,
    changing,
    load_pins,
    pin_of,
    pins_file,
    read_snapshot,
    save,
)
from mcp_protogen.inputs.snapshot import dialect_of, differences, snapshot_of

REPOSITORY = "https://github.com/modelcontextprotocol/modelcontextprotocol"
_SHOWN = 20
_COMMIT = re.compile(r"[0-9a-f]{7,40}")


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of published bytes, as far as it is known; `date` is written YYYY-MM-DD.

    `repository` is for a revision that is pinned for the first time; the default is the official
    one.
    """

    spec_path: str | None = None
    spec_commit: str | None = None
    date: str | None = None
    note: str = ""
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of verifying one revision; without `problems`, all is well."""

    revision: str
    message: str
    problems: tuple[Problem, ...] = ()


def add(
    revision: str, content: bytes, origin: Origin, place: str, folder: Path | None = None
) -> Pin:
    """Pin `revision` to published bytes, store their snapshot, and return the new pin.

    Another publication that was pinned so far becomes history. Raise `ProblemError` if the bytes
    are not a valid schema or the name cannot be that of a revision.
    """
    raise_errors((*unsafe(revision), *_unreadable_origin(origin)))
    published = parse_json(content, place)
    structure = snapshot_of(published, place)
    metacheck.check(structure, place)
    with changing(folder):
        before = load_pins(folder).get(revision) if pins_file(folder).exists() else None
        if before is None:
            pin = _first_pin(revision, published, sha256(content), origin)
        else:
            digest = sha256(content)
            again = digest == before.published.sha256
            changed = before.published.changed if again else _changed(revision, structure, folder)
            publication = _next(before, digest, origin, changed)
            pin = before.superseded_by(publication, "", dialect_of(published))
            pin = pin._replace(spec_path=origin.spec_path or pin.spec_path)
        snapshot = pretty(structure)
        pin = pin._replace(snapshot_sha256=sha256(snapshot))
        save(revision, pin, snapshot, folder)
    return pin


def _first_pin(revision: str, published: Any, digest: str, origin: Origin) -> Pin:
    return Pin(
        repository=origin.repository or REPOSITORY,
        spec_path=origin.spec_path or f"schema/{revision}/schema.json",
        dialect=dialect_of(published),
        snapshot_sha256="",
        published=Publication(digest, origin.spec_commit, origin.date, (), origin.note),
    )


def verification(
    revision: str | None, against: tuple[str, bytes] | None, folder: Path | None = None
) -> Report:
    """Return a report on the snapshot of one revision, or of all of them.

    `against` has the name and the bytes of a published file, and the one revision is verified
    against it. Raise `ProblemError` for wrong use, an unknown revision, or bytes that are not a
    schema.
    """
    if against and revision is None:
        message = "a published schema stands for exactly one revision"
        hint = "name that revision"
        raise ProblemError(Problem("ambiguous-schema", message, against[0], hint=hint))
    names = load_pins(folder) if revision is None else (revision,)
    verifications = [verify(name, against, folder) for name in names]
    problems = tuple(problem for verification in verifications for problem in verification.problems)
    return Report(
        "schema verify",
        Status.DIFFERS if problems else Status.FINE,
        tuple(f"{verification.revision}: {verification.message}" for verification in verifications),
        revisions=tuple({"revision": v.revision, "genuine": not v.problems} for v in verifications),
        problems=problems,
    )


def verify(
    revision: str, against: tuple[str, bytes] | None, folder: Path | None = None
) -> Verification:
    """Verify the snapshot of `revision`: with its pin alone, or with a published file as well.

    Raise `ProblemError` for a revision that is not pinned and for bytes that are not a schema.
    """
    pins = load_pins(folder)
    pin = pin_of(revision, pins)
    try:
        snapshot = read_snapshot(revision, folder)
    except ProblemError as error:
        return Verification(revision, "the snapshot is not the pinned one", error.problems)
    if against is None:
        return Verification(revision, f"the snapshot is the pinned one, {pin.snapshot_sha256[:12]}")
    place, content = against
    structure = snapshot_of(parse_json(content, place), place)
    pointers = tuple(differences(parse_json(snapshot, revision), structure))
    publication = pin.known(sha256(content))
    if publication is pin.published and not pointers:
        return Verification(revision, f"the snapshot is {place} without its prose")
    problem = _mismatch(pin, publication, pointers, place)
    others = [name for name in pins if name != revision and pins[name].known(sha256(content))]
    if others:
        problem = problem._replace(hint=f"this is a publication of {others[0]}")
    return Verification(revision, f"the snapshot does not stand for {place}", (problem,))


def _mismatch(
    pin: Pin, publication: Publication | None, pointers: tuple[str, ...], place: str
) -> Problem:
    where = listed(pointers, _SHOWN) if pointers else "only in prose"
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
    """Return the publication to pin: a new one, or a known one with more that is known of it."""
    known = before.known(digest)
    if known is None:
        return Publication(digest, origin.spec_commit, origin.date, changed, origin.note)
    return known._replace(
        spec_commit=origin.spec_commit or known.spec_commit,
        date=origin.date or known.date,
        changed=changed,
        note=origin.note or known.note,
    )


def _changed(revision: str, structure: Any, folder: Path | None) -> tuple[str, ...]:
    return tuple(differences(parse_json(read_snapshot(revision, folder), revision), structure))


def unsafe(revision: str) -> Iterator[Problem]:
    """Yield a problem if a text cannot be the name of a revision."""
    if not is_revision(revision):
        message = f"{revision!r} cannot be the name of a revision"
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
