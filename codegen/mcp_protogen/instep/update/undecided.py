"""The open decisions about a found schema: facts, and translation rules.

This does what generation would do, except writing: the schema is derived with the patches that fit,
and translated from and to its neighbours among the pinned revisions.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.extensions import fitting
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extended_revision import extend_revision
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, patches, sources
from mcp_protogen.pipeline.inputs.patch_fit import apply_fitting
from mcp_protogen.pipeline.inputs.pins import (
    EXTENSION,
    REVISION,
    Pinnable,
    Pins,
    extension_place,
    extensions_folder,
    pinned_structure,
)
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.inputs.translations import steps_between
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.plans.tables import pair_tables

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class SchemaFolder:
    """The pins, and the folder of the facts, patches and translation rules that go with them."""

    pins: Pins
    folder: Path
    kind: Pinnable = REVISION

    @property
    def facts_folder(self) -> Path:
        """The folder of the facts: ours, if this folder has only pins and snapshots."""
        whole = self.folder.parent if self.kind is EXTENSION else self.folder
        return whole if (whole / "descriptions.json").is_file() else schema_folder()

    def patches(self, name: str) -> tuple[tuple[Json, ...], str]:
        """Return the patches of a revision or extension, and the place of its file."""
        if self.kind is EXTENSION:
            folder = extensions_folder(self.facts_folder)
            return patches.load_patches(folder, name), extension_place(name, "patches.json")
        return patches.load_patches(self.facts_folder, name), f"schema/{name}/patches.json"

    def beside(self, name: str) -> Json:
        """Return the definitions that an extension may use; none for a revision."""
        if self.kind is not EXTENSION:
            return {}
        revision = extensions.load(name, self.facts_folder).newest
        found: Json = sources.load_pinned(revision, self.facts_folder).schema["$defs"]
        return found


@dataclass(frozen=True, slots=True)
class OpenDecisions:
    """The decisions to make (`open`), and the errors that prevent generation (`wrong`)."""

    open: tuple[Problem, ...] = ()
    wrong: tuple[Problem, ...] = ()


def find_open_decisions(revision: str, structure: Json, schemas: SchemaFolder) -> OpenDecisions:
    """Return the open decisions about a published file with the snapshot `structure`."""
    if schemas.kind is EXTENSION:
        return _of_extension(revision, structure, schemas)
    try:
        source = _source(revision, structure, schemas)
        derived = derive_revision(source)
    except ProblemError as error:
        return OpenDecisions(wrong=error.problems)
    found = (*sources.inherited_notice(source), *derived.warnings)
    return OpenDecisions((*found, *_translation_problems(derived.ir, schemas)))


def _of_extension(name: str, structure: Json, schemas: SchemaFolder) -> OpenDecisions:
    try:
        pinned = extensions.load(name, schemas.facts_folder)
        found = replace(pinned, schema=structure)
        core = sources.load_pinned(found.newest, schemas.facts_folder)
        fits, notes = fitting(found, core)
        made = extend_revision(replace(found, patches=fits.patches), core)
    except ProblemError as error:
        return OpenDecisions(wrong=error.problems)
    mine = (
        warning
        for warning in made.derived.warnings
        if warning.place in (found.place, found.facts_place)
    )
    return OpenDecisions((*(note for note in notes if note.code == "derived-facts"), *mine))


def _source(revision: str, structure: Json, schemas: SchemaFolder) -> RevisionSource:
    place = f"schema/{revision}/schema.json"
    source = sources.of_snapshot(revision, schemas.facts_folder, structure, place, {})
    patched = apply_fitting(source.schema, source.patches, source.patches_place)
    hint = f"pin it; mcp-gen schema draft-facts {revision} then writes what follows"
    return replace(source, schema=patched.schema, patches=(), notes=(), facts_hint=hint)


def _translation_problems(found: RevisionIR, schemas: SchemaFolder) -> tuple[Problem, ...]:
    """Return the differences from its neighbours without a translation rule."""
    problems: list[Problem] = []
    for neighbour in _neighbours(found.id, schemas.pins):
        try:
            other = _derive_pinned(neighbour, schemas)
            older, newer = (other, found) if neighbour < found.id else (found, other)
            options = GenerationOptions(revisions=(older.id, newer.id))
            *_, step = steps_between(schemas.facts_folder, older.id, newer.id, options)
            pair_tables(older, newer, step)
        except ProblemError as error:
            problems += error.problems
    return tuple(problems)


def _neighbours(revision: str, pins: Pins) -> Iterator[str]:
    before = [name for name in pins if name < revision]
    after = [name for name in pins if name > revision]
    if before:
        yield max(before)
    if after:
        yield min(after)


def _derive_pinned(revision: str, schemas: SchemaFolder) -> RevisionIR:
    structure = pinned_structure(revision, schemas.folder)
    return derive_revision(_source(revision, structure, schemas)).ir
