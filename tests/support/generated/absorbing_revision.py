"""A made-up revision: the newest one, with the extension for tasks as a part of its core.

The published schema of the extension was compiled on its own; here its definitions are among those
of the revision, its messages in the unions, and its members in the types that it extends.
"""

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base import resources
from mcp_protogen.instep.drafts.drafting import write
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from support.generated.renamed_revisions import with_revisions
from support.generated.schema_folders import pin, schemas_of
from support.generating import write_files
from support.revisions import NEWEST
from support.unit.schemas import ref

Json = dict[str, Any]

ABSORBED: Final = "tasks"
ABSORBING: Final = f"{int(NEWEST[:4]) + 1}-02-01"
FETCHING: Final = f"{int(NEWEST[:4]) + 1}-03-01"
"""A later one, in which messages of tasks have other names."""
NAMES: Final = {
    "elicitation/create": "elicitation/ask",
    "notifications/tasks": "notifications/tasks/changed",
    "tasks/get": "tasks/fetch",
    "tasks/update": "tasks/answer",
}
PARTS: Final = ("bridge", "stdio", "tasks", "testing", "toolkit")
_SCHEMA: Final = resources.schema_folder()


def published_schema() -> Json:
    document: Json = json.loads(read_snapshot(NEWEST))
    add_extension(document["$defs"])
    return document


def add_extension(types: Json) -> None:
    """Make the extension a part of the core in the definitions of a revision."""
    extension = _SCHEMA / "extensions" / ABSORBED
    facts, schema = (
        json.loads((extension / f"{name}.json").read_bytes()) for name in ("facts", "schema")
    )
    own = {name: part for name, part in schema["$defs"].items() if name not in types}
    del own["TasksExtensionCapability"]  # the extension needs no declaration any more
    types |= own
    for method in facts["methods"].values():
        sender = method["senders"][0].capitalize()
        types[f"{sender}{method['kind'].capitalize()}"]["anyOf"].append(ref(method["message"]))
        types["ServerResult"]["anyOf"] += map(ref, method.get("results", ()))
    results: list[Json] = types["CallToolResultResponse"]["properties"]["result"]["anyOf"]
    for claim in facts["claims"]:
        results.append(ref(claim["type"]))
        types["ServerResult"]["anyOf"].append(ref(claim["type"]))
    for member in facts["members"]:
        types[member["type"]]["properties"] |= types[member["from"]]["properties"]
    for role in ("Client", "Server"):
        types[f"{role}Capabilities"]["properties"][ABSORBED] = {"type": "object"}


def draft_in(place: Path) -> Path:
    """Return a copy of the schema folder with the draft of the revision."""
    folder = pin(place, ABSORBING, json.dumps(published_schema()).encode())
    write(ABSORBING, folder)
    return folder


def write_package(folder: Path, place: Path, revisions: Collection[str]) -> None:
    with schemas_of(folder):
        options = GenerationOptions(
            tuple(revision for revision in revisions if revision != FETCHING),
            parts=PARTS,
            extensions={ABSORBED: None},
            runtime="mcp_protogen.runtime",
        )
        if FETCHING in revisions:
            schema = (folder / ABSORBING / "schema.json").read_text()
            options = with_revisions(options, schema, {FETCHING: NAMES})
        write_files(generate(options).files, place)
