"""Packages of a proposal from `schema/rehearsals`, without a copy of the checkout."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package

from support.generated.absorbing_revision import schemas_of
from support.generated.next_revision import NEXT
from support.rehearsals.proposals import rehearsals

Json = dict[str, Any]

PARTS: Final = ("bridge", "http-client", "http-server", "stdio", "testing", "toolkit")


def package_of(name: str, place: Path, *older: str) -> Package:
    """Generate a proposal as the next revision, beside `older` ones."""
    (found,) = (rehearsal for rehearsal in rehearsals() if rehearsal.name == name)
    folder = Path(shutil.copytree(schema_folder(), place / "schema"))
    base: Json = json.loads((folder / found.base / "schema.json").read_bytes())
    (folder / NEXT).mkdir()
    shutil.copy(folder / found.base / "patches.json", folder / NEXT)
    (folder / NEXT / "facts.json").write_text(json.dumps(found.facts()))
    schema, rules = (
        GivenFile(f"{kind}.json", json.dumps(content).encode())
        for kind, content in (("schema", found.publish(base)), ("rules", found.translation()))
    )
    with schemas_of(folder):
        return generate(
            GenerationOptions(
                (*older, NEXT),
                {NEXT: schema},
                rules={NEXT: rules},
                parts=PARTS,
                runtime="mcp_protogen.runtime",
            )
        )
