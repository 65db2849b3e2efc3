"""An extension as one side of a comparison: the revision that it extends, with its types."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.jsonvalue import is_object
from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.plain_schemas import reword
from mcp_protogen.instep.compare.revisions import (
    ComparedRevision,
    ExtensionPart,
    as_given,
    compared_source,
    headers_of,
    without_tried_facts,
)
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive import skeleton
from mcp_protogen.pipeline.derive.extended_revision import extend_revision
from mcp_protogen.pipeline.inputs import extensions, patch_fit, sources
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.pinned_extensions import first_version
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import ObjectIR
from mcp_protogen.pipeline.normalise.extension_definitions import own_definitions

Json = dict[str, Any]

# The types that an entry of the facts needs, by member of the facts.
_NEEDS: Mapping[str, Callable[[Any, Any], Iterable[str]]] = {
    "methods": lambda _, fact: (fact["message"], *fact.get("results", ())),
    "claims": lambda _, fact: (fact["type"],),
    "members": lambda _, fact: (fact["from"],),
    "enums": lambda name, _: (name.partition(".")[0],),
    "unions": lambda name, _: (name,),
}


def compared_extension(
    name: str, given: GivenFile | None = None, *, title: str = "", as_published: bool = False
) -> ComparedRevision:
    """Return an extension in the newest revision that it extends, as pinned or as in a file.

    Patches and facts that do not fit a file are left out and noted. Raise `ProblemError` for an
    extension without facts, and for a file that is not a schema of an extension.
    """
    extension, notes = extensions.load(name, schema_folder(), given), tuple[Problem, ...]()
    revision = extension.newest
    core = sources.load(revision, GenerationOptions((revision,)))
    if given is not None:
        known = extensions.load(name, schema_folder()).schema
        extension = replace(extension, schema=reword(extension.schema, known))
        extension, notes = fitting(extension, core)
        core, _ = as_given(core)
    # Versions of one extension have the same capabilities.
    named = replace(extension, name=first_version(name))
    made = extend_revision(named, without_tried_facts(core))
    schema = made.source.schema
    if as_published:
        added = own_definitions(extension.schema, core.schema, extension.place)
        schema = {**core.schema, "$defs": {**core.schema["$defs"], **added}}
    whole = {**core.facts.document, **made.source.facts.document}
    source = replace(made.source, facts=replace(core.facts, document=whole))
    side = compared_source(source, made.derived, schema, title=title or name)
    said = {(note.place, note.pointer) for note in notes}
    mine = (
        note
        for note in side.notes
        if note.place in (extension.place, extension.facts_place)
        and (note.place, note.pointer) not in said
    )
    stage = extension.facts.get("stage", {}).get("is", "")
    part = ExtensionPart(name, extension.identifier, revision, made.methods, made.types, stage)
    # Facts of extensions do not say which of their types are open; their schemas do.
    own = {str(type_.name) for type_ in side.ir.types if isinstance(type_, ObjectIR) and type_.open}
    opened = side.open_types | (own & made.types)
    # Members that header fields repeat belong to its methods.
    headers = headers_of(core.facts.document)
    notes = (*notes, *mine)
    return replace(side, headers=headers, notes=notes, open_types=opened, extension=part)


def fitting(
    extension: ExtensionSource, core: RevisionSource
) -> tuple[ExtensionSource, tuple[Problem, ...]]:
    """Return an extension adapted to a schema other than the pinned one, with notes."""
    types: Json = extension.schema.get("$defs", {})
    mended = patch_fit.apply_fitting(
        extension.schema, extension.patches, extension.patches_place, core.schema["$defs"]
    )
    note = partial(_note, extension.facts_place)
    facts, notes = dict(extension.facts), [*mended.notes]
    for member, needs in _NEEDS.items():
        stated: Any = facts.get(member, {})
        rows: dict[Any, Any] = dict(stated if is_object(stated) else enumerate(stated))
        needed = ((key, type_) for key, fact in rows.items() for type_ in needs(key, fact))
        gone = {key: type_ for key, type_ in needed if type_ not in types}
        notes += (
            note(f"{member} name {type_}, which the schema does not have", member, key)
            for key, type_ in gone.items()
        )
        kept = {key: fact for key, fact in rows.items() if key not in gone}
        facts[member] = kept if is_object(stated) else [*kept.values()]
    if "types" in facts:
        named: list[str] = facts["types"]["names"]
        facts["types"] = {**facts["types"], "names": [name for name in named if name in types]}
        notes += (
            note(f"types name {name}, which the schema does not have", "types", "names", index)
            for index, name in enumerate(named)
            if name not in types
        )
        types = {name: types[name] for name in facts["types"]["names"]}
    known = {fact["message"] for fact in facts["methods"].values()}
    for type_, method in skeleton.messages(types):
        if type_ not in known and type_ not in core.schema["$defs"]:
            message = f"{method} has no facts: {type_} is compared only as a type"
            notes.append(note(message, "methods", method))
    return replace(extension, patches=mended.entries, facts=facts), tuple(notes)


def _note(place: str, message: str, *steps: str | int) -> Problem:
    return Problem("derived-facts", message, place, jsonpointer.join(*steps), level=Level.WARNING)
