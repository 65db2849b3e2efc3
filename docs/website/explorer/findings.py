"""What is wrong in published schemas, by our patches: the place, both sides, why, and a probe.

A probe is a value about which the schema with the patch and the one without it do not agree. It is
looked for among the test vectors of the type. A patch that only gives something its name has none.
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
    """Return the findings in each revision and each extension that has some, by its name."""
    found = {
        revision.id: _findings(revision, revision.id, "", revision.mended) for revision in known
    }
    # Of an extension of several revisions, the newest is what is shown.
    for extension in {extension.name: extension for extension in extensions}.values():
        found[extension.name] = _findings(
            extension, extension.core.id, extension.name, extension.mended
        )
    return {of: some for of, some in found.items() if some}


def ledger_of(one: Revision | Extension) -> Sequence[Json]:
    """Return the patches that are about what is shown."""
    if isinstance(one, Revision):
        return one.source.ledger
    return [entry for entry in one.source.ledger if type_of(entry) in one.mended]


def is_valid(definitions: Json, type_: str) -> Callable[[Any], bool]:
    """Return the function of `jsonschema` that says whether a value is one of a type."""
    document = {"$defs": definitions, "$ref": f"#/$defs/{type_}"}
    return validator_for({})(document).is_valid


def _findings(
    one: Revision | Extension, revision: str, extension: str, definitions: Json
) -> list[Json]:
    ledger = ledger_of(one)
    writer = Writer(revision, definitions, extension)
    vectors = _vectors({type_of(entry) for entry in ledger}, revision, extension)
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
        for entry in ledger
    ]


def _vectors(types: set[str], revision: str, extension: str) -> Sequence[Vector]:
    """The test vectors of types, those with short values first."""
    extensions = {extension: None} if extension else {}
    options = GenerationOptions((revision,), extensions=extensions)
    vectors = make(revision, options, extension, lambda subject: subject.type in types).vectors
    return sorted(vectors, key=lambda one: len(canonical(one.value)))


def _probe(one: Revision | Extension, entry: Json, vectors: Iterable[Vector]) -> Json:
    """A value that the patch is about, with what the published schema says of it, if there is."""
    type_ = type_of(entry)
    published = is_valid(one.without(entry), type_)
    for vector in vectors:
        if vector.subject.type == type_ and published(vector.value) != vector.valid:
            probe = {"type": type_, "value": vector.value, "published": not vector.valid}
            return {"probe": probe}
    return {}
