"""The vectors of each revision, made once for all tests of a process."""

import json
import sys
from functools import cache
from pathlib import Path

from mcp_protogen.config import GenerationOptions, GivenFile
from mcp_protogen.inputs import patches, sources
from mcp_protogen.vectors.making import make
from mcp_protogen.vectors.vector import Vector, VectorSet

from support.folders import GENERATED
from support.made_once import vectors_once
from support.revisions import REVISIONS
from support.unit import schemas
from support.vectors.tracing import Document, Json

_HERE = Path(__file__).parent
GOLDEN = ("env", f"PYTHONPATH={GENERATED}", sys.executable, str(_HERE / "golden_responder.py"))
"""The command of a responder that is the committed package."""
ODD = (sys.executable, str(_HERE / "odd_responder.py"))
"""The command of one that goes wrong, without its arguments."""


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
