"""Packages of the newest revision with other facts, such as a later revision may have."""

import json
import shutil
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.jsonvalue import merge_patch
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from support.generated.absorbing_revision import schemas_of
from support.revisions import NEWEST

Json = dict[str, Any]

PARTS: Final = ("http-client", "http-server", "toolkit")


def package_with(place: Path, facts: Json, revisions: tuple[str, ...] = (NEWEST,)) -> Package:
    """Generate revisions; `facts` is a merge patch of those of the newest one."""
    folder = Path(shutil.copytree(schema_folder(), place / "schema"))
    file = folder / NEWEST / "facts.json"
    file.write_text(json.dumps(merge_patch(json.loads(file.read_bytes()), facts)))
    with schemas_of(folder):
        return generate(GenerationOptions(revisions, parts=PARTS))
