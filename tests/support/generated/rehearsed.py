"""Packages of a proposal from `schema/rehearsals`, without a copy of the checkout."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.drafts.drafting import write
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from support.generated.absorbing_revision import decide, schemas_of
from support.generated.next_revision import NEXT
from support.rehearsals.proposals import rehearsals

Json = dict[str, Any]

PARTS: Final = ("bridge", "http-client", "http-server", "stdio", "testing", "toolkit")


def package_of(name: str, place: Path, *older: str) -> Package:
    """Generate a proposal as the next revision, beside `older` ones."""
    (found,) = (rehearsal for rehearsal in rehearsals() if rehearsal.name == name)
    folder = Path(shutil.copytree(schema_folder(), place / "schema"))
    base: Json = json.loads((folder / found.base / "schema.json").read_bytes())
    add(NEXT, json.dumps(found.publish(base)).encode(), Origin(), "published.json", folder)
    for file, content in (("facts", found.facts()), ("translation", found.translation())):
        (folder / NEXT / f"{file}.json").write_text(json.dumps(content))
    write(NEXT, folder)
    decide(folder, NEXT)
    options = GenerationOptions((*older, NEXT), parts=PARTS, runtime="mcp_protogen.runtime")
    with schemas_of(folder):
        return generate(options)
