"""The vectors of each revision, made once for all tests of a process."""

import json
import sys
from functools import cache
from pathlib import Path

from made_once import vectors_once
from mcp_protogen.config import GenerationOptions, GivenFile
from mcp_protogen.inputs import patches, sources
from mcp_protogen.vectors.making import make
from mcp_protogen.vectors.vector import Vector, VectorSet
from tracing import Document, Json

# The tiny protocol is kept there.
sys.path.append(str(Path(__file__).resolve().parents[1] / "unit"))

import schemas
from revisions import REVISIONS

RESPONDERS = Path(__file__).parent


def vectors(revision: str) -> VectorSet:
    """All vectors of a revision."""
    return vectors_once(revision)


@cache
def document(revision: str) -> Document:
    """The schema that decides: the snapshot with its patches."""
    source = sources.load(revision, GenerationOptions((revision,)))
    return Document(patches.apply(source.schema, source.ledger, source.ledger_place))


def named(revision: str, id: str) -> Vector:
    """One vector."""
    (found,) = [vector for vector in vectors(revision).vectors if vector.id == id]
    return found


def draft(**definitions: Json) -> VectorSet:
    """The vectors of a draft: the newest schema, or a tiny one with the definitions given."""
    schema = dict(document(REVISIONS[-1]).schema)
    if definitions:
        schema = schemas.schema()
        schema["$defs"] |= definitions
    given = GivenFile("draft.json", json.dumps(schema).encode())
    return make("draft", GenerationOptions(("draft",), {"draft": given}))


def of_type(found: VectorSet, name: str) -> dict[str, Vector]:
    """The vectors of one definition, by what follows its name."""
    return {v.id.removeprefix(f"{name}/"): v for v in found.vectors if v.subject.type == name}
