"""A made-up extension with every feature, and a package with it and with tasks."""

import json
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pytest
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.package import Package

NAME: Final = "folders"
IDENTIFIER: Final = "com.example/folders"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
PARTS: Final = ("http-client", "http-server", "tasks", "testing", "toolkit")
FILES: Final = Path(__file__).with_name(NAME)

Json = dict[str, Any]


@contextmanager
def facts_in(place: Path, name: str, facts: Json) -> Generator[None, None, None]:
    """Have runs read a copy of the schema folder in `place`, with facts of the extension in it."""
    folder = Path(shutil.copytree(schema_folder(), place / "schema", dirs_exist_ok=True))
    home = folder / "extensions" / name
    home.mkdir(exist_ok=True)
    (home / "facts.json").write_text(json.dumps(facts))
    pins = folder / "extensions" / "pins.json"
    pinned: Json = json.loads(pins.read_bytes())
    pinned["extensions"][name] = pinned["extensions"]["tasks"]
    pins.write_text(json.dumps(pinned))
    with pytest.MonkeyPatch.context() as patch:
        for module in ("extensions", "inputs", "pins"):
            patch.setattr(f"mcp_protogen.pipeline.inputs.{module}.schema_folder", lambda: folder)
        yield


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
    with facts_in(place, name, facts):
        return generate(GenerationOptions(revisions, parts=PARTS, extensions=named))
