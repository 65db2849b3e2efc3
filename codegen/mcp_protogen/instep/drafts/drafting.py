"""Drafts of the files of a revision: entries from its schema, and a TODO for the rest.

The functions read a schema folder and return the new content of its files. Existing entries stay as
they are and only missing ones are added, so that a second draft adds nothing.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import compact, parse_json
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem, raise_errors
from mcp_protogen.instep.drafts import facts
from mcp_protogen.instep.drafts.absorbed import translation_rules, with_absorbed
from mcp_protogen.instep.drafts.method_facts import SchemaFacts
from mcp_protogen.instep.drafts.translation import RevisionPair, translation_file
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.revision import (
    DerivedRevision,
    derive_revision,
    normalise_revision,
)
from mcp_protogen.pipeline.inputs import patches, sources
from mcp_protogen.pipeline.inputs.absorbed import merge_facts, texts_of_absorbed
from mcp_protogen.pipeline.inputs.descriptions import load as load_texts
from mcp_protogen.pipeline.inputs.facts import Facts, chain, load
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.inputs.patch_fit import Fit, PatchFit, apply_fitting
from mcp_protogen.pipeline.inputs.patches import load_patches
from mcp_protogen.pipeline.inputs.pins import changing, extensions_folder, load_pins, pin_of
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.inputs.todo import TODO, todos
from mcp_protogen.pipeline.inputs.translations import first_names, names_since, translation_of
from mcp_protogen.pipeline.ir import FieldIR, LiteralOf, ObjectIR, RevisionIR
from mcp_protogen.pipeline.plans.renamed_names import find_wrong_names

Json = dict[str, Any]

_ENOUGH = 10
"""A number of rounds after which facts and schema agree; each round may show new facts."""
_TEXTS = "descriptions.json"
_HINTS = {
    "apply": "write a function of `translation/conversions.py`; add one if none is for such values",
    "path": "write where the value is now, such as outputs[kind=text].text; or null for the entry",
    "reason": "write why, in a sentence",
    "source": "write which page of the specification says so; correct the entry if it does not",
    "state": "write `dropped` if the schema is right there; if not, add a patch of your own",
    "text": "write a sentence of your own",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """The files of a revision by their paths below the schema folder: as they are, and should be.

    `undecided` are the decisions that are still left to people, and `contradictions` the entries
    that the schemas contradict.
    """

    before: Mapping[str, Json | None]
    after: Mapping[str, Json]
    undecided: tuple[Problem, ...]
    contradictions: tuple[Problem, ...]

    @property
    def changed(self) -> Mapping[str, Json]:
        """The files to write."""
        return {
            path: content
            for path, content in self.after.items()
            if content != self.before.get(path) and (path in self.before or any(content.values()))
        }


def write(revision: str, folder: Path) -> Draft:
    """Write the draft of a revision into a schema folder, all files or none; see `draft`."""
    pin_of(revision, load_pins(folder))
    with changing(folder) as files:
        made = draft(revision, folder)
        files.write({folder / path: compact(file) for path, file in made.changed.items()})
    return made


def draft(revision: str, folder: Path) -> Draft:
    """Return the draft of the files of a pinned revision.

    Raise `ProblemError` for an unknown revision, for files in a wrong format, and for a schema from
    which no code can be generated.
    """
    files = _Files(folder, revision)
    source = _find_source(sources.load_pinned(revision, folder), files)
    newer = derive_revision(source)
    translation = files.read_old(files.translation)
    before_it = max((name for name in load_pins(folder) if name < revision), default=None)
    older: str | None = translation["older"] if translation else before_it
    wrong: list[Problem] = []
    is_open = False
    if older is not None:
        step = RevisionPair(derive_revision(sources.load_pinned(older, folder)), newer)
        document = translation_file(
            translation, step, [*translation_rules(files.after[files.facts], newer, folder)]
        )
        files.after[files.translation] = document
        names = translation_of(document, revision, f"schema/{files.translation}")
        wrong += find_wrong_names(step.older.ir, newer.ir, names)
        is_open = bool(names.open_names)
    missing = tuple(_find_undescribed(newer.ir))
    texts = files.read_old(_TEXTS) or {}
    files.after[_TEXTS] = _with_missing(texts, missing)
    own = (files.facts, files.patches, files.translation)
    pointers = [(path, at) for path in own for at in todos(files.after.get(path))]
    pointers += [(_TEXTS, jsonpointer.join(*key)) for key in missing]
    contradictions = (
        *_contradictions(newer, source.facts_place, is_open),
        *(problem._replace(level=Level.WARNING) for problem in wrong),
    )
    undecided = tuple(_to_decide(*todo) for todo in pointers)
    made = Draft(files.read, files.after, undecided, contradictions)
    raise_errors(
        problem
        for path, content in made.changed.items()
        for problem in check_format(content, Path(path).stem, f"schema/{path}")
    )
    return made


def _contradictions(newer: DerivedRevision, place: str, is_open: bool) -> Iterator[Problem]:
    for warning in newer.warnings:
        # A name that is not decided yet may tell where a place is.
        may_fit = is_open and warning.pointer.startswith("/places/")
        if warning.place == place and not may_fit:
            yield warning


def _to_decide(path: str, pointer: str) -> Problem:
    what = "text" if path == _TEXTS else jsonpointer.split(pointer)[-1]
    hint = _HINTS.get(what, "write one of the choices in place of the object here")
    return Problem("to-decide", "this is not decided yet", f"schema/{path}", pointer, hint)


class _Files:
    """The files in which people decide about a revision: as they were read, and should be."""

    def __init__(self, folder: Path, revision: str) -> None:
        self.folder = folder
        self.facts, self.patches, self.translation = (
            f"{revision}/{name}.json" for name in ("facts", "patches", "translation")
        )
        self.read: dict[str, Json | None] = {}
        self.after: dict[str, Json] = {}

    def read_old(self, path: str) -> Json | None:
        """Return a file, or None without one; raise `ProblemError` if its format is wrong."""
        if path not in self.read:
            self.read[path] = self._read(path)
        return self.read[path]

    def _read(self, path: str) -> Json | None:
        file, place = self.folder / path, f"schema/{path}"
        if not file.is_file():
            return None
        document: Json = parse_json(file.read_bytes(), place)
        raise_errors(check_format(document, file.stem, place))
        return document


def _find_source(source: RevisionSource, files: _Files) -> RevisionSource:
    """Return the source of a revision with its facts and patches as they should be.

    A fact that the schema contradicts is a warning here, even if it is inherited.
    """
    revision = source.facts.revision
    own = files.read_old(files.facts)
    origin: str | None = own["inherits"] if own else source.facts.origin
    inherited = load(files.folder, origin).document if origin else {}
    file = own or {"inherits": origin}
    stated: Json = {}
    patches_file: Json = {}
    gone: list[str] = []
    names = _names_so_far(revision, files.folder)
    own_patches = files.read_old(files.patches)
    for _ in range(_ENOUGH):
        stated = merge_facts(inherited, file, revision, files.folder)
        theirs = [*_earlier_patches(origin, file, files.folder)]
        patches_file = _patches_file(own_patches, source.schema, theirs, source.patches_place)
        entries = tuple(patches_file["patches"])
        corrected = replace(source, patches=entries, notes=(), facts_hint="")
        merged = Facts(revision, stated, origin or "", first_names=first_names(names, revision))
        source = replace(corrected, facts=merged)
        shown = _show(source, names, files)
        fuller = with_absorbed(file, stated, shown, files.folder)
        if fuller == file:
            fuller = facts.fill_in(file, facts.step(stated, facts.adapt(stated, shown)))
        stated_gone = (name for name, fact in fuller.get("methods", {}).items() if fact is None)
        gone = [name for name in stated_gone if name not in shown.methods]
        if fuller == file:
            break
        file = fuller
    behind = chain(files.folder, origin) if origin else ()
    earlier = {path: files.read_old(path) or {} for path in map(_short_path, behind)}
    files.after |= facts.with_removed(earlier, gone, revision)
    files.after |= {files.facts: file, files.patches: patches_file}
    texts = load_texts(
        files.folder / _TEXTS, revision, source.descriptions.own, texts_of_absorbed(stated)
    )
    return replace(source, descriptions=texts)


def _show(source: RevisionSource, names: Mapping[str, str], files: _Files) -> SchemaFacts:
    skeleton, _ = normalise_revision(source)
    cursor = source.facts.path_of("next_cursor")
    rules = files.read_old(files.translation)
    is_open = rules is None or any(map(is_object, rules["became"].values()))
    return SchemaFacts(source.facts.revision, skeleton, source.schema, cursor, names, is_open)


def _names_so_far(revision: str, folder: Path) -> Mapping[str, str]:
    first = min(load_pins(folder))
    return names_since(folder, first, revision, GenerationOptions((revision,)))


def _earlier_patches(origin: str | None, file: Json, folder: Path) -> Iterator[Json]:
    yield from load_patches(folder, origin) if origin else ()
    for name, fact in file.get("absorbs", {}).items():
        yield from load_patches(extensions_folder(folder), name) if fact else ()


def _short_path(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _patches_file(own: Json | None, schema: Json, before: Sequence[Json], place: str) -> Json:
    """Return the file of patches, with those of the revision before that it lacks.

    A patch that fits becomes an entry. A new file lists those that do not fit: their mistake may be
    mended or gone, or the user must look at them.
    """
    document = own or {"patches": []}
    entries: list[Json] = document["patches"]
    named = {entry["pointer"] for entry in (*entries, *document.get("left_out", ()))}
    rest = [entry for entry in before if entry["pointer"] not in named]
    tried = apply_fitting(patches.apply(schema, entries, place), rest, place)
    done = {**document, "patches": [*entries, *tried.entries]}
    left_out = [
        {"pointer": patch.pointer, "state": _state(patch, schema), "reason": patch.reason}
        for patch in tried.fits
        if patch.fit is not Fit.FITS
    ]
    return done if own or not left_out else {**done, "left_out": left_out}


def _state(patch: PatchFit, schema: Json) -> str:
    if patch.fit is Fit.DONE:
        return "done"
    try:
        jsonpointer.get(schema, jsonpointer.join(*jsonpointer.split(patch.pointer)[:2]))
    except jsonpointer.NothingThere:
        return "gone"
    return TODO


# Texts that stand for a missing description.
_NOTHING = ("", "Deprecated.")


def _with_missing(texts: Json, keys: Iterable[tuple[str, str]]) -> Json:
    """Return all texts, with a TODO for each missing one, given by kind and key."""
    done: Json = {kind: dict(entries) for kind, entries in texts.items()}
    for kind, key in keys:
        done[kind].setdefault(key, TODO)
    return {kind: dict(sorted(entries.items())) for kind, entries in done.items()}


def _find_undescribed(ir: RevisionIR) -> Iterator[tuple[str, str]]:
    """Yield the parts of a revision that people look up and that have no text."""
    lacking = {
        "methods": (method.method for method in ir.methods if method.doc in _NOTHING),
        "capabilities": (
            ".".join((capability.role, *capability.path))
            for capability in ir.capabilities
            if capability.doc in _NOTHING
        ),
        "errors": (str(error.name) for error in ir.errors if error.doc in _NOTHING),
        "types": (str(type_.name) for type_ in ir.types if type_.doc in _NOTHING),
        "fields": (
            f"{type_.name}.{member.wire}"
            for type_ in ir.types
            for member in (type_.fields if isinstance(type_, ObjectIR) else ())
            if member.doc in _NOTHING and not _speaks_for_itself(member)
        ),
    }
    yield from ((kind, key) for kind, keys in lacking.items() for key in keys)


def _speaks_for_itself(member: FieldIR) -> bool:
    """Return whether a member has one constant value, or is in every message."""
    constant = isinstance(member.type, LiteralOf) and len(member.type.values) == 1
    return constant or member.wire in ("method", "params")
