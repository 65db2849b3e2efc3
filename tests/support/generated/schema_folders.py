"""Copies of the schema folder with other facts or one more revision, and packages from them."""

import json
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base import resources
from mcp_protogen.base.canonical import compact
from mcp_protogen.base.jsonvalue import is_array, is_object, merge_patch
from mcp_protogen.instep.drafts.drafting import write
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.todo import TODO
from mcp_protogen.pipeline.package import Package
from support.generated.next_revision import NEXT
from support.json_types import read_json
from support.revisions import NEWEST

Json = dict[str, Any]

_DECIDED = {"source": "server/tools#tasks", "state": "dropped"}
_PARTS = ("http-client", "http-server", "toolkit")


def copy_schemas(place: Path) -> Path:
    return Path(shutil.copytree(resources.schema_folder(), place / "schema", dirs_exist_ok=True))


def pin(place: Path, revision: str, content: bytes) -> Path:
    """Pin a published file as a revision, in a copy of our schemas; return the copy."""
    folder = copy_schemas(place)
    add(revision, content, Origin(), "made-up.json", folder)
    return folder


def decide(folder: Path, revision: str) -> None:
    """Decide everything that the draft of a revision leaves open."""
    for name in ("facts", "patches", "translation"):
        file = folder / revision / f"{name}.json"
        file.write_bytes(compact(_decide_value(read_json(file))))


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


def package_with(place: Path, facts: Json, revisions: tuple[str, ...] = (NEWEST,)) -> Package:
    """Generate revisions; `facts` is a merge patch of those of the newest one."""
    folder = copy_schemas(place)
    file = folder / NEWEST / "facts.json"
    file.write_text(json.dumps(merge_patch(read_json(file), facts)))
    with schemas_of(folder):
        return generate(GenerationOptions(revisions, parts=_PARTS))


def package_of(name: str, place: Path, *older: str) -> Package:
    """Generate a proposal of `schema/rehearsals` as the next revision, beside `older` ones."""
    from support.rehearsals.proposals import rehearsals

    (found,) = (rehearsal for rehearsal in rehearsals() if rehearsal.name == name)
    base: Json = read_json(resources.schema_folder() / found.base / "schema.json")
    folder = pin(place, NEXT, json.dumps(found.publish(base)).encode())
    for file, content in (("facts", found.facts()), ("translation", found.translation())):
        (folder / NEXT / f"{file}.json").write_text(json.dumps(content))
    write(NEXT, folder)
    decide(folder, NEXT)
    parts = ("bridge", "stdio", "testing", *_PARTS)
    options = GenerationOptions((*older, NEXT), parts=parts, runtime="mcp_protogen.runtime")
    with schemas_of(folder):
        return generate(options)
