"""Faults of published schemas, from our patches: place, both sides, reason, and a probe.

A probe is a value that only one of the two schemas, with and without the patch, accepts. It is
searched among the test vectors of the type. A patch that only gives a name has none.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from jsonschema.validators import validator_for
from mcp_protogen.base.canonical import canonical
from mcp_protogen.instep.vectors.making import make
from mcp_protogen.instep.vectors.vector import Vector
from mcp_protogen.pipeline.config import GenerationOptions

from website.explorer.facts import Writer
from website.explorer.subjects import Extension, Revision, type_of

Json = dict[str, Any]


def all_findings(known: Iterable[Revision], extensions: Iterable[Extension]) -> Json:
    """Return the findings of each revision and extension, by its name."""
    found = {
        revision.id: _findings(revision, revision.id, "", revision.mended) for revision in known
    }
    # Of an extension in several revisions, show the newest one.
    for extension in {extension.name: extension for extension in extensions}.values():
        found[extension.name] = _findings(
            extension, extension.core.id, extension.name, extension.mended
        )
    return {of: some for of, some in found.items() if some}


def patches_of(one: Revision | Extension) -> Sequence[Json]:
    """Return the patches of a subject."""
    if isinstance(one, Revision):
        return one.source.patches
    return [entry for entry in one.source.patches if type_of(entry) in one.mended]


def is_valid(definitions: Json, type_: str) -> Callable[[Any], bool]:
    """Return the function of `jsonschema` that checks a value against a type."""
    document = {"$defs": definitions, "$ref": f"#/$defs/{type_}"}
    return validator_for({})(document).is_valid


def _findings(
    one: Revision | Extension, revision: str, extension: str, definitions: Json
) -> list[Json]:
    entries = patches_of(one)
    writer = Writer(revision, definitions, extension)
    vectors = _vectors({type_of(entry) for entry in entries}, revision, extension)
    return [
        {
            "of": extension or revision,
            "pointer": entry["pointer"],
            "type": type_of(entry),
            "reason": entry["reason"],
            **writer.source(entry["source"]),
            **{side: entry[side] for side in ("was", "now") if side in entry},
            **_probe(one, entry, vectors),
        }
        for entry in entries
    ]


def _vectors(types: set[str], revision: str, extension: str) -> Sequence[Vector]:
    """Return the test vectors of types, short values first."""
    extensions = {extension: None} if extension else {}
    options = GenerationOptions((revision,), extensions=extensions)
    vectors = make(revision, options, extension, lambda subject: subject.type in types).vectors
    return sorted(vectors, key=lambda one: len(canonical(one.value)))


def _probe(one: Revision | Extension, entry: Json, vectors: Iterable[Vector]) -> Json:
    """Return a value for a patch, with the verdict of the published schema, if there is one."""
    type_ = type_of(entry)
    published = is_valid(one.without(entry), type_)
    for vector in vectors:
        if vector.subject.type == type_ and published(vector.value) != vector.valid:
            probe = {"type": type_, "value": vector.value, "published": not vector.valid}
            return {"probe": probe}
    return {}
