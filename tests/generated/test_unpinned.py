"""Any schema of the specification's history makes a working package, under any name."""

import asyncio
import importlib
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.names import module_name
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from support import missing
from support.generated.golden_package import REVISIONS
from support.generated.type_checkers import assert_nothing_found
from support.generating import write_files
from support.tables import some

pytestmark = pytest.mark.long

DRAFTS = ("142b3c3c", "2f2c60d6", "6f2c22a8", "7519d64b", "880d3112", "a1b65dc8", "14043ad9")
# Files under ../shared/published, and their names here.
CASES = [
    *((f"drafts/{name}", "draft") for name in (*DRAFTS, "2025-11-25")),
    # A future revision is an earlier state of the draft.
    *zip(REVISIONS, ("2099-01-01", "2024-01-01", "draft", "2025-07-01", "draft"), strict=False),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the packages."""
    missing.reference("published", "what becomes of published files")
    return tmp_path_factory.mktemp("unpinned")


@cache
def make_package(file: str, revision: str, folder: Path) -> Path:
    """Return the package of a published file under the name of a revision."""
    content = (missing.SHARED / "published" / f"{file}.schema.json").read_bytes()
    given = GivenFile(f"{file}.json", content)
    place = folder / f"of_{module_name(file.rpartition('/')[2])}_as_{module_name(revision)}"
    write_files(generate(GenerationOptions((revision,), {revision: given})).files, place)
    return place


def greet(self: Any, name: str) -> str:
    """Say hello."""
    return f"Hello, {name}"


async def call_server(package: Any, revision: str) -> tuple[list[str], dict[str, Any]]:
    """Return the listed tools of a server, and the text of one call."""
    module = package.load(revision)
    greeter: Any = type("Greeter", (package.Toolkit, module.Server), {"greet": package.tool(greet)})
    async with package.connect_in_memory(module.Client(), greeter()) as client:
        listing = client.iter_tools()
        call = module.methods.CALL_TOOL.params(name="greet", arguments={"name": "Ada"})
        return [tool.name async for tool in listing], (
            await client.request(module.methods.CALL_TOOL, call)
        ).to_wire()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("file", "revision"), CASES)
def test_every_module_is_imported_and_a_tool_is_called(
    file: str, revision: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = make_package(file, revision, folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    package = importlib.import_module(place.name)
    for path in sorted(place.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        importlib.import_module(".".join(parts).removesuffix(".__init__"))
    handshake = "initialize" in package.load(revision).methods.REQUESTS
    assert package.REVISIONS[0].era == ("handshake" if handshake else "stateless")
    tools, result = asyncio.run(call_server(package, revision))
    assert tools == ["greet"]
    assert result["content"] == [{"type": "text", "text": "Hello, Ada"}]


def test_type_checkers_find_nothing(folder: Path) -> None:
    places = [make_package(file, revision, folder) for file, revision in some(CASES, 1, "checked")]
    modules = [f"{place.name}/v{path.name[1:]}" for place in places for path in place.glob("v*/")]
    assert_nothing_found(folder, modules, "drafts")
