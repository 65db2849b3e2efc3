"""Pins and snapshots of the published schemas of revisions and extensions.

A pin ties a revision to the bytes of one published file by digests, and remembers earlier
publications of the same revision, because released files do get corrected. Extensions are pinned in
the same way, in a separate folder. This module reads and updates the schema folder.
"""

from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from mcp_protogen.base.canonical import parse_json, pretty, sha256
from mcp_protogen.base.file_set import FileSet, finish, hold_files
from mcp_protogen.base.files import writing
from mcp_protogen.base.problems import Problem, ProblemError, did_you_mean
from mcp_protogen.base.resources import schema_folder

FORMAT = 1


class Pinnable(NamedTuple):
    """Words for a kind of pin.

    `noun` is for messages, `member` is the member of the file of pins, `unknown` the code for a
    name without a pin, and `option` goes before the name on the command line.
    """

    noun: str
    member: str
    unknown: str
    option: str = ""


REVISION = Pinnable("revision", "revisions", "unknown-revision")
EXTENSION = Pinnable("extension", "extensions", "unknown-extension", "--extension ")


class Publication(NamedTuple):
    """One version of a revision's published file.

    `changed` lists the pointers into the snapshot where it differs from the publication before it;
    `note` describes that in words. `date` is ISO 8601, or null if it is unknown.
    """

    sha256: str
    spec_commit: str | None = None
    date: str | None = None
    changed: tuple[str, ...] = ()
    note: str = ""


class Pin(NamedTuple):
    """The published file of one revision.

    `published` is the version in use and `history` has the earlier ones, oldest first;
    `snapshot_sha256` is the digest of the committed snapshot file.
    """

    repository: str
    spec_path: str
    dialect: str
    snapshot_sha256: str
    published: Publication
    history: tuple[Publication, ...] = ()

    def find_publication(self, digest: str) -> Publication | None:
        """Return the current or earlier publication with this digest, or None."""
        return next((p for p in (*self.history, self.published) if p.sha256 == digest), None)

    def superseded_by(self, published: Publication, snapshot: str, dialect: str) -> "Pin":
        """Return this pin with another publication; the current one joins the history."""
        history = tuple(p for p in (*self.history, self.published) if p.sha256 != published.sha256)
        return self._replace(
            published=published, history=history, snapshot_sha256=snapshot, dialect=dialect
        )


Pins = Mapping[str, Pin]


def extensions_folder(folder: Path | None = None) -> Path:
    """Return the folder of extensions, with their pins, in a schema folder."""
    return (folder or schema_folder()) / EXTENSION.member


def extension_place(name: str, file: str = "facts.json") -> str:
    """Return the name of an extension's file in problems."""
    return f"schema/{EXTENSION.member}/{name}/{file}"


def load_extension_pins(folder: Path | None = None) -> Pins:
    """Return the pins of every extension in a schema folder, by name; empty without a file.

    Raise `ProblemError` (`bad-pins`) for an unknown format.
    """
    place = extensions_folder(folder)
    finish(pins_file(place))
    return load_pins(place, EXTENSION) if pins_file(place).exists() else {}


def load_pins(folder: Path | None = None, kind: Pinnable = REVISION) -> Pins:
    """Return the pins of every revision in the schema folder, sorted by revision.

    For extensions, pass their folder and kind, also to the functions below. Raise `ProblemError`
    (`bad-pins`) if the file is missing or has an unknown format.
    """
    path = pins_file(folder)
    finish(path)
    try:
        data = parse_json(path.read_bytes(), path.name)
        if data["format"] != FORMAT:
            raise ValueError(f"format {data['format']} is not {FORMAT}")
        return {revision: _pin(pin) for revision, pin in sorted(data[kind.member].items())}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise ProblemError(Problem("bad-pins", f"unusable pins: {reason}", str(path))) from error


def pins_file(folder: Path | None = None) -> Path:
    """Return the file of the pins."""
    return (folder or schema_folder()) / "pins.json"


def snapshot_file(revision: str, folder: Path | None = None) -> Path:
    """Return the file of the snapshot of `revision`."""
    return (folder or schema_folder()) / revision / "schema.json"


def pin_of(revision: str, pins: Pins, kind: Pinnable = REVISION) -> Pin:
    """Return the pin of `revision`; raise `ProblemError` (`unknown-revision`) with a suggestion."""
    if revision in pins:
        return pins[revision]
    hint = did_you_mean(revision, pins)
    message = f"no schema is pinned for {kind.noun} {revision!r:.80}"
    raise ProblemError(Problem(kind.unknown, message, hint=hint))


def is_edited(revision: str, snapshot: bytes, pins: Pins) -> bool:
    """Return whether the snapshot of a user's file differs from that of the pin of its name."""
    return revision in pins and pins[revision].snapshot_sha256 != sha256(snapshot)


def nearest_revision(revision: str, pins: Pins) -> str | None:
    """Return the newest pinned revision that is not later than an unpinned one.

    For a name that is not a date, such as "draft", this is the newest of all.
    """
    return max((known for known in pins if known <= revision), default=min(pins, default=None))


def read_snapshot(
    revision: str, folder: Path | None = None, pins: Pins | None = None, kind: Pinnable = REVISION
) -> bytes:
    """Return the committed snapshot of a pinned revision, verified against its pin.

    `pins` saves reading them again. Raise `ProblemError`: `unknown-revision`, `missing-snapshot` or
    `digest-mismatch`.
    """
    path = snapshot_file(revision, folder)
    content = _genuine_snapshot(revision, folder, pins or load_pins(folder, kind), kind)
    if content is None:  # the pin may have changed in between: read it again
        content = _genuine_snapshot(revision, folder, load_pins(folder, kind), kind)
    if content is not None:
        return content
    hint = f"restore it, or make it again: mcp-gen schema add {kind.option}{revision} --from FILE"
    try:
        digest = sha256(path.read_bytes())
    except OSError as error:
        message = f"the snapshot of {revision} cannot be read: {error.strerror}"
        raise ProblemError(Problem("missing-snapshot", message, str(path), hint=hint)) from error
    pinned = pin_of(revision, load_pins(folder, kind), kind).snapshot_sha256
    message = f"the snapshot of {revision} has the sha256 {digest[:12]}, its pin {pinned[:12]}"
    raise ProblemError(Problem("digest-mismatch", message, str(path), hint=hint))


def pinned_structure(
    revision: str, folder: Path | None = None, kind: Pinnable = REVISION
) -> dict[str, Any]:
    """Return the snapshot of `read_snapshot` as a JSON object."""
    structure: dict[str, Any] = parse_json(read_snapshot(revision, folder, kind=kind), revision)
    return structure


def _genuine_snapshot(
    revision: str, folder: Path | None, pins: Pins, kind: Pinnable
) -> bytes | None:
    pin = pin_of(revision, pins, kind)
    with suppress(OSError):
        content = snapshot_file(revision, folder).read_bytes()
        return content if sha256(content) == pin.snapshot_sha256 else None
    return None


@contextmanager
def changing(folder: Path | None = None) -> Generator[FileSet, None, None]:
    """Keep other runs from changing the pins between reading and saving them.

    First finish the change of a killed run. Raise `ProblemError`: `folder-busy`, or `cannot-write`.
    """
    with writing(folder or schema_folder()), hold_files(pins_file(folder)) as files:
        yield files


def save(
    files: FileSet, revision: str, pin: Pin, snapshot: bytes, kind: Pinnable = REVISION
) -> None:
    """Store a snapshot and its pin in the folder of `changing`, both or neither."""
    folder = files.folder
    pins: dict[str, Pin] = dict(load_pins(folder, kind)) if pins_file(folder).exists() else {}
    pins[revision] = pin
    entries = {name: _plain(entry) for name, entry in pins.items()}
    data = pretty({"format": FORMAT, kind.member: entries})
    files.write({snapshot_file(revision, folder): snapshot, pins_file(folder): data})


def _pin(data: Mapping[str, Any]) -> Pin:
    members = dict(data)
    history = tuple(_publication(earlier) for earlier in members.pop("history"))
    published = _publication({name: members.pop(name) for name in tuple(_members(members))})
    return Pin(published=published, history=history, **members)


def _members(data: Mapping[str, Any]) -> Iterator[str]:
    return (name for name in Publication._fields if name in data)


def _publication(data: Mapping[str, Any]) -> Publication:
    members: dict[str, Any] = {**data, "changed": tuple(data["changed"])}
    return Publication(**members)


def _plain(pin: Pin) -> dict[str, Any]:
    plain = pin._asdict()
    published = plain.pop("published")
    history = [earlier._asdict() for earlier in pin.history]
    return {**plain, **published._asdict(), "history": history}
