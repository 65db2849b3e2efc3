"""A made-up revision: the newest one, with the extension for tasks as a part of its core.

The published schema of the extension was compiled on its own; here its definitions are among those
of the revision, its messages in the unions, and its members in the types that it extends.
"""

import json
import shutil
from collections.abc import Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_protogen.base import resources
from mcp_protogen.base.canonical import compact
from mcp_protogen.base.jsonvalue import is_array, is_object
from mcp_protogen.instep.drafts.drafting import write
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.pipeline.inputs.todo import TODO
from support.generated.renamed_revisions import with_revisions
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
_DECIDED: Final = {"source": "server/tools#tasks", "state": "dropped"}


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
    folder = Path(shutil.copytree(_SCHEMA, place / "schema"))
    add(ABSORBING, json.dumps(published_schema()).encode(), Origin(), "published.json", folder)
    write(ABSORBING, folder)
    return folder


def decide(folder: Path, revision: str = ABSORBING) -> None:
    """Decide everything that a draft leaves open."""
    for name in ("facts", "patches", "translation"):
        file = folder / revision / f"{name}.json"
        file.write_bytes(compact(_decide_value(json.loads(file.read_bytes()))))


def _decide_value(value: Any, key: str = "") -> Any:
    if is_object(value):
        return {name: _decide_value(inner, name) for name, inner in value.items()}
    if is_array(value):
        return [_decide_value(entry) for entry in value]
    return _DECIDED[key] if value == TODO else value


@contextmanager
def schemas_of(folder: Path) -> Generator[None, None, None]:
    """Have runs of this process read another schema folder."""
    usual = resources.folder

    def find(name: str) -> Path:
        return folder if name == "schema" else usual(name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resources, "folder", find)
        yield


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
