"""A made-up extension with every feature, and a package with it and with tasks."""

import json
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.snapshot import DIALECT
from mcp_protogen.pipeline.package import Package
from support.generated.schema_folders import copy_schemas, schemas_of
from support.unit.schemas import STRING, full_record, record, ref

NAME: Final = "folders"
IDENTIFIER: Final = "com.example/folders"
REVISIONS: Final = ("2025-11-25", "2026-07-28")
PARTS: Final = ("http-client", "http-server", "tasks", "testing", "toolkit")

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


def make_schema() -> Json:
    """Return the published schema, in which types are repeated in place of references."""
    roles, kinds = (
        {"anyOf": [{"const": value, **STRING} for value in values]}
        for values in (("user", "assistant"), ("plain", "shared"))
    )
    folder = record(
        ("uri", "kind"), uri=STRING, kind=kinds, audience={"type": "array", "items": ref("Role")}
    )
    folders, uri = {"type": "array", "items": folder}, full_record(uri=STRING)
    largest = 2**53 - 1
    count = {"type": "integer", "minimum": -largest, "maximum": largest}
    annotations = {
        "audience": {"type": "array", "items": ref("Role")},
        "lastModified": STRING,
        "priority": {"type": "number", "minimum": 0, "maximum": 1},
    }
    definitions = {
        "Role": roles,
        "Annotations": {"type": "object", "properties": annotations},
        "FolderKind": kinds,
        "Folder": folder,
        "CountFolderRequest": _message("Request", "folders/count", uri),
        "CountFolderResult": _extend("Result", full_record(count=count, folder=folder)),
        "PickFolderRequest": _message("Request", "folders/pick", full_record(among=folders)),
        "PickFolderResult": _extend("Result", uri),
        "FolderOpenedNotification": _message("Notification", "notifications/folders/opened", uri),
        "FolderChangedNotification": _message(
            "Notification", "notifications/folders/changed", full_record(folder=folder)
        ),
        "FolderResult": _extend(
            "Result", folder, full_record(resultType={"const": "folder", **STRING})
        ),
        "FolderArguments": record(folder=STRING),
        "ToolFolders": record(folders=folders),
    }
    schema = {"$schema": DIALECT, "$id": "https://example.com/folders.schema.json"}
    # Tests change the copies.
    separate: Json = json.loads(json.dumps({**schema, "$defs": definitions}))
    return separate


def _extend(base: str, *others: Json) -> Json:
    return {"allOf": [ref(base), *others]}


def _message(kind: str, method: str, params: Json) -> Json:
    extended = _extend("RequestParams" if kind == "Request" else "NotificationParams", params)
    named = full_record(method={"const": method, **STRING}, params=extended)
    return _extend(f"JSONRPC{kind}", named)


def make_facts() -> Json:
    return {
        "identifier": IDENTIFIER,
        "revisions": [*REVISIONS],
        "source": "folders#declaration",
        "settings": {"client": {}, "server": {"count": True}},
        "methods": {
            "folders/count": _method("CountFolder", "request", "client", "client", "server")
            | {
                "traits": ["cancellable"],
                "headers": {"mcp-name": {"member": "uri", "policy": "if_present"}},
            },
            "folders/pick": _method("PickFolder", "request", "server", "client")
            | {"revisions": ["2025-11-25"]},
            "notifications/folders/changed": _method(
                "FolderChanged", "notification", "server", "client"
            ),
            "notifications/folders/opened": _method(
                "FolderOpened", "notification", "client", "server"
            ),
        },
        "claims": [
            {
                "method": "tools/call",
                "result_type": "folder",
                "type": "FolderResult",
                "source": "folders#result",
                "revisions": ["2026-07-28"],
            }
        ],
        "members": [
            {"type": type_, "method": method, "from": added, "source": "folders#members"}
            for type_, method, added in (
                ("CallToolRequestParams", "tools/call", "FolderArguments"),
                ("Tool", "tools/list", "ToolFolders"),
            )
        ],
    }


def _method(name: str, kind: str, sender: str, *declared_by: str) -> Json:
    message = f"{name}{kind.capitalize()}"
    return {
        "message": message,
        "kind": kind,
        "senders": [sender],
        "params": f"{message}Params",
        "params_required": True,
        **({"results": [f"{name}Result"]} if kind == "request" else {}),
        "phase": "any",
        "declared_by": [*declared_by],
        "source": f"folders#{name}",
    }


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
    schema, facts = make_schema(), make_facts()
    change(schema, facts)
    given = GivenFile("folders.json", json.dumps(schema).encode())
    named = MappingProxyType({name: given, **dict.fromkeys(others)})
    folder = copy_schemas(place)
    _add_facts(folder, name, facts)
    with schemas_of(folder):
        return generate(GenerationOptions(revisions, parts=PARTS, extensions=named))
