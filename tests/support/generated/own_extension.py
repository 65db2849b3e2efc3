"""A made-up extension with every feature, and a package with it and with tasks."""

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package
from support.generated.schema_folders import copy_schemas, schemas_of

NAME: Final = "folders"
IDENTIFIER: Final = "com.example/folders"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
PARTS: Final = ("http-client", "http-server", "tasks", "testing", "toolkit")
FILES: Final = Path(__file__).with_name(NAME)

Json = dict[str, Any]


def _add_facts(folder: Path, name: str, facts: Json) -> None:
    """Add an extension with these facts to a schema folder."""
    home = folder / "extensions" / name
    home.mkdir(exist_ok=True)
    (home / "facts.json").write_text(json.dumps(facts))
    pins = folder / "extensions" / "pins.json"
    pinned: Json = json.loads(pins.read_bytes())
    pinned["extensions"][name] = pinned["extensions"]["tasks"]
    pins.write_text(json.dumps(pinned))


def package_with_it(
    place: Path,
    revisions: tuple[str, ...] = REVISIONS,
    others: tuple[str, ...] = (),
    change: Callable[[Json, Json], object] = lambda schema, facts: None,
    name: str = NAME,
) -> Package:
    """Generate revisions with the extension, and with others; `change` edits schema and facts."""
    schema, facts = (
        json.loads((FILES / f"{stem}.json").read_bytes()) for stem in ("schema", "facts")
    )
    change(schema, facts)
    given = GivenFile("folders.json", json.dumps(schema).encode())
    named = MappingProxyType({name: given, **dict.fromkeys(others)})
    folder = copy_schemas(place)
    _add_facts(folder, name, facts)
    with schemas_of(folder):
        return generate(GenerationOptions(revisions, parts=PARTS, extensions=named))
