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

PROGRAM: Final = """
from typing import assert_type

from with_folders import Toolkit, tool
from with_folders import v2025_11_25 as handshake
from with_folders import v2026_07_28 as mcp
from with_folders.v2025_11_25.ext import folders as earlier
from with_folders.v2026_07_28.ext.folders import FoldersClient, FoldersServer, FoldersSession
from with_folders.v2026_07_28.ext.folders import models as m
from with_folders.v2026_07_28.ext.tasks import TasksClient, TasksServer


class Server(TasksServer, FoldersServer, Toolkit, mcp.Server):
    async def on_count_folder(
        self, session: FoldersSession, params: m.CountFolderRequestParams
    ) -> m.CountFolderResult:
        folder = m.Folder(uri=params.uri, kind="plain", audience=["user"])
        await session.notify_folder_changed(folder)
        return m.CountFolderResult(count=1, folder=folder)

    @tool(task=True)
    async def count(self, n: int) -> int:
        return n


class App(TasksServer, FoldersServer, mcp.App):
    pass


class Earlier(earlier.FoldersServer, handshake.Server):
    async def on_count_folder(
        self, session: earlier.FoldersSession, params: earlier.models.CountFolderRequestParams
    ) -> earlier.models.CountFolderResult:
        picked = await session.pick_folder([])
        folder = earlier.models.Folder(uri=picked.uri, kind="shared")
        return earlier.models.CountFolderResult(count=0, folder=folder)


class Client(TasksClient, FoldersClient, mcp.Client):
    async def on_folder_changed(self, params: m.FolderChangedNotificationParams) -> None:
        assert_type(params.folder.kind, m.FolderKind)


async def use(client: Client) -> int:
    await client.notify_folder_opened("file:///a")
    await client.start_task("count", {"n": 3})
    tools = await client.list_tools()
    found = [one.folders for one in tools.tools if isinstance(one, m.ToolFolders)]
    return (await client.count_folder("file:///a")).count + len(found)
"""


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
