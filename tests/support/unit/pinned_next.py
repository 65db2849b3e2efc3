"""Schema folders with a made-up next revision that was just pinned."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.canonical import compact
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.instep.update.adoption import Origin, add
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from support.revisions import NEWEST

Json = dict[str, Any]

NEXT: Final = "2099-01-01"


def pin(folder: Path, content: bytes) -> Path:
    """Pin a published file as the next revision, in a copy of our schemas."""
    schema = Path(shutil.copytree(schema_folder(), folder / "schema"))
    add(NEXT, content, Origin(), "made-up.json", schema)
    return schema


def pin_changed(folder: Path, change: Callable[[Json], object]) -> Path:
    """Pin the newest revision with other definitions as the next one."""
    document: Json = json.loads(read_snapshot(NEWEST))
    change(document["$defs"])
    return pin(folder, json.dumps(document).encode())


def read_file(schema: Path, name: str) -> Json:
    found: Json = json.loads((schema / NEXT / f"{name}.json").read_bytes())
    return found


def write_file(schema: Path, name: str, document: Json) -> None:
    (schema / NEXT / f"{name}.json").write_bytes(compact(document))
