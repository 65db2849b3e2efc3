"""Vectors as bytes: a document per revision, or lines. The same vectors give the same bytes.

The document, too, has one vector per line, so that a difference between two documents is readable.
"""

import json
from collections.abc import Iterator
from typing import Any

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.vectors.making import make, select_sources
from mcp_protogen.instep.vectors.responder_protocol import subject_members
from mcp_protogen.instep.vectors.vector import FORMAT, Vector, VectorSet, title
from mcp_protogen.pipeline.config import GenerationOptions

SCHEMA_NAME = "vectors.schema.json"


def document(vectors: VectorSet) -> bytes:
    """Return the vectors of a revision as one JSON document."""
    head = {"format": FORMAT, **_origin(vectors), "schema": vectors.schema}
    start = json.dumps(head, indent=2)[:-2]
    rows = ",\n".join(f"    {_text(vector_members(vector))}" for vector in vectors.vectors)
    return f'{start},\n  "vectors": [\n{rows}\n  ]\n}}\n'.encode()


def lines(vectors: VectorSet) -> Iterator[bytes]:
    """Yield the vectors of a revision as JSON lines; each names the revision."""
    for vector in vectors.vectors:
        row = {**_origin(vectors), **vector_members(vector)}
        yield f"{_text(row)}\n".encode()


def _origin(vectors: VectorSet) -> dict[str, str]:
    extension = {"extension": vectors.extension} if vectors.extension else {}
    return {"revision": vectors.revision, **extension}


def vector_members(vector: Vector) -> dict[str, Any]:
    """Return a vector as a JSON object, without empty members."""
    members: dict[str, Any] = {
        "id": vector.id,
        **subject_members(vector.subject),
        "valid": vector.valid,
        "code": vector.code,
        "reason": vector.reason,
        "pointer": vector.pointer,
    }
    if vector.rule:
        members["rule"] = vector.rule
    if vector.tolerated:
        members["tolerated"] = vector.tolerated
    return {**members, "value": vector.value}


def folder_files(options: GenerationOptions) -> dict[str, bytes]:
    """Return the files of a folder of vectors, by name: vectors and their schema."""
    files = {
        f"{title(revision, extension)}.json": document(make(revision, options, extension))
        for revision, extension in select_sources(options)
    }
    return {**files, SCHEMA_NAME: (schema_folder() / "formats" / SCHEMA_NAME).read_bytes()}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
