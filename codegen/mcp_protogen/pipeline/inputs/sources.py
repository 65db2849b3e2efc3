"""The inputs of one revision, read and checked, from pins or a user's file."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mcp_protogen.base.canonical import parse_json, pretty
from mcp_protogen.base.problems import Level, Problem, ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import Docstrings, GenerationOptions, GivenFile, GivenPatches
from mcp_protogen.pipeline.inputs import descriptions, facts, metacheck, patch_fit, patches
from mcp_protogen.pipeline.inputs.absorbed import texts_of_absorbed
from mcp_protogen.pipeline.inputs.descriptions import Descriptions
from mcp_protogen.pipeline.inputs.facts import Facts
from mcp_protogen.pipeline.inputs.pins import is_edited, load_pins, pinned_structure
from mcp_protogen.pipeline.inputs.snapshot import snapshot_of
from mcp_protogen.pipeline.inputs.todo import TODO, todos
from mcp_protogen.pipeline.inputs.translations import first_names, names_since
from mcp_protogen.pipeline.inputs.wires import with_wires

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RevisionSource:
    """The inputs of one revision; `place` names the schema in problems.

    `notes` are warnings about the inputs. `facts_hint` is the hint if inherited facts do not fit.
    `own_patches` are the user's, applied after `patches`.
    """

    schema: Json
    patches: tuple[Json, ...]
    facts: Facts
    descriptions: Descriptions
    place: str
    patches_place: str
    facts_place: str
    notes: tuple[Problem, ...] = ()
    facts_hint: str = ""
    own_patches: tuple[GivenPatches, ...] = ()

    def apply_patches(self) -> Json:
        """Return the schema with all patches; raise `ProblemError` with those that do not fit."""
        schema = patches.apply(self.schema, self.patches, self.patches_place)
        for user_patches in self.own_patches:
            schema = patches.apply(
                schema, user_patches.entries, user_patches.place, user_patches.pointer
            )
        return schema

    def as_published(self) -> "RevisionSource":
        """Return these inputs with types as `schema.ts` defines them, without our corrections."""
        entries = tuple(patch for patch in self.patches if patch["source"] == "schema.ts")
        return replace(self, patches=entries, facts=self.facts.as_published())


def load(revision: str, options: GenerationOptions) -> RevisionSource:
    """Return the inputs of `revision`; raise `ProblemError` for unusable ones.

    A schema from a file must be valid. Pinned ones were checked when they were pinned.
    """
    source = _pinned_or_given(revision, options)
    texts = replace(source.descriptions, docstrings=options.docstrings)
    names = names_since(schema_folder(), min(load_pins(schema_folder())), revision, options)
    merged = replace(source.facts, first_names=first_names(names, revision))
    return replace(
        source, facts=merged, descriptions=texts, own_patches=options.patches_of(revision)
    )


def _pinned_or_given(revision: str, options: GenerationOptions) -> RevisionSource:
    file = options.schemas.get(revision)
    if file is None:
        if options.docstrings is Docstrings.SCHEMA:
            raise ProblemError(_without_texts(revision))
        return load_pinned(revision, schema_folder())
    schema, texts = parse_schema(file)
    edited = is_edited(revision, pretty(schema), load_pins())
    source = of_snapshot(revision, schema_folder(), schema, file.name, texts, edited=edited)
    hint = f"to give it facts, pin it: mcp-gen schema add {revision} --from FILE, then draft-facts"
    names = names_since(schema_folder(), source.facts.origin, revision, options)
    if edited:
        hint = f"our facts are about the pinned schema of {revision}; see that yours should differ"
    return replace(source, facts=source.facts.with_names(names), facts_hint=hint)


def _without_texts(revision: str) -> Problem:
    message = f"--docstrings schema needs texts, and our snapshot of {revision} has none"
    hint = f"give the published file: --schema {revision}=FILE, or schemas in [tool.mcp-gen]"
    return Problem("no-published-text", message, hint=hint)


def load_pinned(revision: str, folder: Path) -> RevisionSource:
    """Return the inputs of a pinned revision in a schema folder."""
    place = f"schema/{revision}/schema.json"
    source = of_snapshot(revision, folder, pinned_structure(revision, folder), place, {})
    hint = f"mcp-gen schema draft-facts {revision} writes what follows from the schema"
    notes = (*source.notes, *_todo_warnings(revision, folder))
    return replace(source, facts_hint=hint, notes=notes)


def _todo_warnings(revision: str, folder: Path) -> Iterator[Problem]:
    """Yield a warning for each file of a revision that still needs decisions."""
    for name in ("facts", "patches", "translation"):
        file = folder / revision / f"{name}.json"
        content = file.read_bytes() if file.is_file() else b""
        if TODO.encode() not in content:  # spares most runs the parser
            continue
        place = f"schema/{revision}/{file.name}"
        pointers = list(todos(parse_json(content, place)))
        more = f", and {len(pointers) - 1} more in this file" if pointers[1:] else ""
        message = f"this is not decided yet{more}"
        hint = f"mcp-gen schema draft-facts {revision} --check names each"
        if pointers:
            yield Problem("to-decide", message, place, pointers[0], hint, Level.WARNING)


def of_snapshot(
    revision: str,
    folder: Path,
    schema: Json,
    place: str,
    texts: Mapping[str, str],
    *,
    edited: bool = False,
) -> RevisionSource:
    """Return the inputs of a revision with this schema and its descriptions `texts`.

    Patches and facts need not fit an `edited` schema: those that do not are left out and noted. A
    model schema is joined with its wires first.
    """
    schema = with_wires(schema, revision, folder, place)
    merged = facts.facts_for(folder, revision, schema, edited=edited)
    entries, notes = _applicable_patches(folder, schema, merged)
    return RevisionSource(
        schema=schema,
        patches=entries,
        facts=merged,
        descriptions=descriptions.load(
            folder / "descriptions.json", revision, texts, texts_of_absorbed(merged.document)
        ),
        place=place,
        patches_place=f"schema/{revision}/patches.json",
        facts_place=f"schema/{revision}/facts.json",
        notes=notes,
    )


def _applicable_patches(
    folder: Path, schema: Json, merged: Facts
) -> tuple[tuple[Json, ...], tuple[Problem, ...]]:
    """Return the patches that apply, with notes about those of another schema."""
    own_patches = patches.load_patches(folder, merged.revision)
    if not merged.inherited or (own_patches and not merged.edited):
        return own_patches, ()
    outcome = patch_fit.apply_inherited(schema, folder, merged.revision, merged.origin)
    return outcome.entries, outcome.notes


def parse_schema(file: GivenFile) -> tuple[Json, dict[str, str]]:
    """Return the structure and descriptions of a published schema; raise `ProblemError`."""
    published = parse_json(file.content, file.name)
    structure = snapshot_of(published, file.name)
    metacheck.check(structure, file.name)
    return structure, descriptions.extract(published)


def inherited_notice(source: RevisionSource) -> Iterator[Problem]:
    """Yield a warning for a revision without its own facts."""
    facts, place, hint = source.facts, source.facts_place, source.facts_hint
    if facts.origin != facts.revision:
        borrowed = f"required capabilities and error codes are those of {facts.origin}"
        message = f"{facts.revision} has no facts: {borrowed}"
        yield Problem("derived-facts", message, place, hint=hint, level=Level.WARNING)
