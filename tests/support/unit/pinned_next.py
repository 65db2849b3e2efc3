"""Schema folders with a made-up next revision that was just pinned."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.canonical import compact
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from support.generated.schema_folders import pin
from support.revisions import NEWEST

Json = dict[str, Any]

NEXT: Final = "2099-01-01"


def pin_changed(folder: Path, change: Callable[[Json], object]) -> Path:
    """Pin the newest revision with other definitions as the next one."""
    document: Json = json.loads(read_snapshot(NEWEST))
    change(document["$defs"])
    return pin(folder, NEXT, json.dumps(document).encode())


def read_file(schema: Path, name: str) -> Json:
    found: Json = json.loads((schema / NEXT / f"{name}.json").read_bytes())
    return found


def write_file(schema: Path, name: str, document: Json) -> None:
    (schema / NEXT / f"{name}.json").write_bytes(compact(document))
