"""The subjects of the explorer: every pinned revision, and every extension in its revisions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from mcp_protogen.base import jsonpointer
from mcp_protogen.base.canonical import canonical
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.compare.extensions import compared_extension
from mcp_protogen.instep.compare.revisions import (
    ComparedRevision,
    compared_source,
    without_tried_facts,
)
from mcp_protogen.instep.vectors.vector import title
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.derive.extended_revision import ExtendedRevision, extend_revision
from mcp_protogen.pipeline.derive.revision import DerivedRevision, derive_revision
from mcp_protogen.pipeline.inputs import extensions, patches, sources
from mcp_protogen.pipeline.inputs.extensions import ExtensionSource
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions
from mcp_protogen.pipeline.inputs.pins import Pin, load_pins
from mcp_protogen.pipeline.inputs.sources import RevisionSource
from mcp_protogen.pipeline.ir import RevisionIR
from mcp_protogen.pipeline.normalise.extension_definitions import own_definitions

Json = dict[str, Any]


@dataclass(frozen=True)
class Revision:
    """A pinned revision: its published schema, the mended one, its facts and its IR."""

    id: str
    pin: Pin
    source: RevisionSource
    derived: DerivedRevision
    mended: Json

    @property
    def ir(self) -> RevisionIR:
        """The IR of the revision, without rules about senders and readers."""
        return self.derived.ir

    @property
    def published(self) -> Json:
        """The published definitions."""
        definitions: Json = self.source.schema["$defs"]
        return definitions

    def without(self, entry: Json) -> Json:
        """Return the definitions with all patches but one."""
        type_ = type_of(entry)
        entries = [
            patch for patch in self.source.patches if patch is not entry and type_of(patch) == type_
        ]
        published = {"$defs": {type_: self.published[type_]}}
        return {**self.mended, **patches.apply(published, entries, self.id)["$defs"]}

    @cached_property
    def compared(self) -> ComparedRevision:
        """The revision as a side of comparisons."""
        return compared_source(self.source, self.derived, {"$defs": self.mended}, title=self.id)


@dataclass(frozen=True)
class Extension:
    """An extension in a revision: its additions, and its schemas as published and mended."""

    name: str
    core: Revision
    source: ExtensionSource
    made: ExtendedRevision
    published: Json

    @property
    def title(self) -> str:
        """Return its name with that of the revision, such as `2026-07-28+tasks`."""
        return title(self.core.id, self.name)

    @property
    def mended(self) -> Json:
        """Return the definitions that differ from those of the revision."""
        definitions: Json = self.made.source.schema["$defs"]
        return changed_definitions(definitions, self.core.mended)

    def without(self, entry: Json) -> Json:
        """Return the definitions of both with all patches of the extension but one."""
        entries = [patch for patch in self.source.patches if patch is not entry]
        schema = patches.apply(self.source.schema, entries, self.source.patches_place)
        own = own_definitions(schema, self.core.source.schema, self.source.place)
        return {**self.core.mended, **own}

    @cached_property
    def compared(self) -> ComparedRevision:
        """The extension as a side of comparisons, in the newest revision that it extends."""
        return compared_extension(self.name)


@cache
def revisions() -> tuple[Revision, ...]:
    """Return every pinned revision, oldest first."""
    return tuple(_revision(name, pin) for name, pin in load_pins().items())


def _revision(name: str, pin: Pin) -> Revision:
    source = sources.load(name, GenerationOptions((name,)))
    mended: Json = source.apply_patches()["$defs"]
    return Revision(name, pin, source, derive_revision(without_tried_facts(source)), mended)


@cache
def all_extensions() -> tuple[Extension, ...]:
    """Return every extension in every revision that it extends."""
    return tuple(
        _extension(extension.name, revision)
        for extension in pinned_extensions()
        for revision in revisions()
        if revision.id in extension.revisions
    )


def _extension(name: str, core: Revision) -> Extension:
    source = extensions.load(name, schema_folder())
    made = extend_revision(source, without_tried_facts(core.source), core.ir)
    own = own_definitions(source.schema, core.source.schema, source.place)
    return Extension(name, core, source, made, own)


def type_of(entry: Json) -> str:
    """Return the definition that a patch is for."""
    return jsonpointer.split(entry["pointer"])[1]


def changed_definitions(definitions: Mapping[str, Any], base: Mapping[str, Any]) -> Json:
    """Return the definitions that `base` lacks, or has with another value."""
    return {
        name: definition
        for name, definition in definitions.items()
        if name not in base or canonical(definition) != canonical(base[name])
    }
