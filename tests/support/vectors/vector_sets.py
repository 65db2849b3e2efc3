"""The vectors of each revision, made once for all tests of a process."""

import json
import sys
from functools import cache
from pathlib import Path

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.vectors.making import make
from mcp_protogen.instep.vectors.subjects import topics
from mcp_protogen.instep.vectors.vector import Subject, Vector, VectorSet, title
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.derive.extended_revision import extend_revision
from mcp_protogen.pipeline.derive.revision import derive_revision
from mcp_protogen.pipeline.inputs import extensions, patches, sources
from mcp_protogen.pipeline.inputs.pinned_extensions import pinned_extensions
from mcp_protogen.pipeline.ir import RevisionIR
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


SETS = (
    *REVISIONS,
    *(title(rev, pinned.name) for pinned in pinned_extensions() for rev in pinned.revisions),
)
"""All that vectors are made of: revisions, and extensions in them."""


def vectors(name: str) -> VectorSet:
    """Return all vectors of a revision, or of an extension in one."""
    revision, _, extension = name.partition("+")
    return vectors_once(revision, None, extension)


def document(name: str) -> Document:
    """Return the deciding schema: the snapshot with its patches."""
    return _deriving(name)[0]


def schemas_of(name: str) -> dict[Subject, Json]:
    schema, ir = _deriving(name)
    return {topic.subject: topic.schema for topic in topics(schema.schema, ir)}


@cache
def _deriving(name: str) -> tuple[Document, RevisionIR]:
    revision, _, extension = name.partition("+")
    source = sources.load(revision, GenerationOptions((revision,)))
    if extension:
        made = extend_revision(extensions.load(extension, schema_folder()), source)
        return Document(made.source.schema, made.types), made.derived.ir
    schema = patches.apply(source.schema, source.patches, source.patches_place)
    return Document(schema), derive_revision(source).ir


def find_vector(revision: str, id: str) -> Vector:
    (found,) = [vector for vector in vectors(revision).vectors if vector.id == id]
    return found


def draft(**definitions: Json) -> VectorSet:
    """Return the vectors of a draft: the newest schema, or a tiny one with these definitions."""
    schema = dict(document(REVISIONS[-1]).schema)
    if definitions:
        schema = schemas.schema()
        schema["$defs"] |= definitions
    given = GivenFile("draft.json", json.dumps(schema).encode())
    return make("draft", GenerationOptions(("draft",), {"draft": given}))


def of_type(found: VectorSet, name: str) -> dict[str, Vector]:
    """Return the vectors of one definition, by the rest of their ids."""
    return {v.id.removeprefix(f"{name}/"): v for v in found.vectors if v.subject.type == name}
