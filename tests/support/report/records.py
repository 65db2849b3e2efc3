"""Records of runs: JSON files beside the pages, from which the report is made.

The run itself writes its record, with the date.
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from mcp_protogen.base.canonical import compact
from support.folders import ROOT

Json = dict[str, Any]

FOLDER: Final = ROOT / "docs" / "records"

MADE_BY: Final = {
    "conformance": "make conformance",
    "differential": "make records",
    "peers": "make records",
    "targets": "make records",
    "mutants": "make mutants",
    "python-sdk": "hand, from what examples/python-sdk/prove.py reports",
    "typescript-sdk": "hand, from what examples/typescript-sdk/prove.py reports",
    "adoption": "hand, with a clock, while a revision is adopted",
    "rehearsals": "make rehearse",
    "unclear": "hand, as the list of unclear places",
}
"""What writes each record."""


def read(name: str, folder: Path = FOLDER) -> Json:
    """Return a record; raise `SystemExit` with its command if it is missing."""
    file = folder / f"{name}.json"
    if not file.is_file():
        raise SystemExit(f"{file} is missing: it is written by {MADE_BY[name]}")
    record: Json = json.loads(file.read_bytes())
    return record


def write(name: str, record: Json, folder: Path = FOLDER) -> None:
    folder.mkdir(exist_ok=True)
    today = datetime.now(UTC).date().isoformat()
    (folder / f"{name}.json").write_bytes(compact({"date": today, **record}))
