"""A made-up extension with every feature, in both directions, beside another extension."""

import asyncio
import json
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import pytest
from mcp_protogen.base.problems import ProblemError
from support.coroutines import until
from support.generated.own_extension import IDENTIFIER, REVISIONS, package_with_it
from support.generating import write_files
from support.http.serving import run_app
from support.tables import case

HANDSHAKE, STATELESS = REVISIONS
URI = "file:///a"
Json = Any


class Own(NamedTuple):
    """One revision of the package: it, the extension, and a server and a client with both."""

    package: Any
    mcp: Any
    ext: Any
    server: Any
    client: Any


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("own")
    write_files(
        package_with_it(tmp_path_factory.mktemp("input"), others=("tasks",)).files,
        folder / "with_folders",
    )
    sys.path.insert(0, str(folder))
    return import_module("with_folders")


def members_of_server(mcp: Json, ext: Json) -> dict[str, Any]:
    """Return the handlers of a server with the extension; they record into `heard`."""
    folder = ext.models.Folder(uri=URI, kind="plain", audience=["user"])

    async def on_count_folder(self: Json, session: Json, params: Json) -> Json:
        await session.notify_folder_changed(folder)
        if mcp.__name__.endswith("v2025_11_25"):
            picked = await session.pick_folder([folder])
            return ext.models.CountFolderResult(count=len(picked.uri), folder=folder)
        return ext.models.CountFolderResult(count=len(params.uri), folder=folder)

    async def on_folder_opened(self: Json, session: Json, params: Json) -> None:
        self.heard.append(params.uri)

    async def on_list_tools(self: Json, session: Json, params: Json) -> Json:
        tool = ext.models.ToolFolders(name="t", input_schema={"type": "object"}, folders=[folder])
        hints = {"ttl_ms": 0, "cache_scope": "private"}
        more = {} if mcp.__name__.endswith("v2025_11_25") else hints
        return mcp.models.ListToolsResult(tools=[tool], **more)

    async def on_call_tool(self: Json, session: Json, params: Json) -> Json:
        if isinstance(params, ext.models.FolderArguments) and params.folder:
            return ext.models.FolderResult(uri=params.folder, kind="shared")
        return mcp.models.CallToolResult(content=[])

    handlers = (on_count_folder, on_folder_opened, on_list_tools, on_call_tool)
    return {handler.__name__: handler for handler in handlers} | {"heard": []}


def members_of_client(mcp: Json, ext: Json) -> dict[str, Any]:
    async def on_folder_changed(self: Json, params: Json) -> None:
        self.heard.append(params.folder.uri)

    async def on_pick_folder(self: Json, params: Json) -> Json:
        return ext.models.PickFolderResult(uri=params.among[0].uri)

    given: dict[str, Any] = {"on_folder_changed": on_folder_changed, "heard": []}
    asked = {"on_pick_folder": on_pick_folder}
    return given | (asked if mcp.__name__.endswith("v2025_11_25") else {})


def of_revision(package: Any, revision: str) -> Own:
    mcp = package.load(revision)
    ext = import_module(f"{mcp.__name__}.ext.folders")
    servers, clients = [ext.FoldersServer, mcp.Server], [ext.FoldersClient, mcp.Client]
    if revision == STATELESS:
        tasks = import_module(f"{mcp.__name__}.ext.tasks")
        servers.insert(0, tasks.TasksServer)
        clients.insert(0, tasks.TasksClient)
    server = type("Server", tuple(servers), members_of_server(mcp, ext))
    client = type("Client", tuple(clients), members_of_client(mcp, ext))
    return Own(package, mcp, ext, server, client)


@pytest.fixture(scope="module", params=REVISIONS)
def own(package: Any, request: pytest.FixtureRequest) -> Own:
    return of_revision(package, request.param)


@pytest.fixture(scope="module")
def stateless(package: Any) -> Own:
    return of_revision(package, STATELESS)


def in_memory(own: Own, run: Callable[[Any, Any], Any], client: Any = None) -> None:
    async def main() -> None:
        server = own.server()
        async with own.package.connect(server, client or own.client()) as connected:
            await run(connected, server)

    asyncio.run(main())


def test_repeated_schema_is_single_type(stateless: Own) -> None:
    models = stateless.ext.models
    assert set(models.FolderKind.__value__.__args__) == {"plain", "shared"}
    audience = get_args(models.Folder.model_fields["audience"].annotation)[0]
    assert get_args(audience) == (stateless.mcp.models.Role,)
    assert models.CountFolderResult.model_fields["folder"].annotation is models.Folder
    assert issubclass(models.FolderResult, models.Folder)
    assert issubclass(models.CountFolderResult, stateless.mcp.models.Result)
    assert issubclass(models.FolderArguments, stateless.mcp.models.CallToolRequestParams)


def test_messages_go_in_both_directions(own: Own) -> None:
    async def run(client: Any, server: Any) -> None:
        result = await client.count_folder(URI)
        assert (result.count, result.folder.kind) == (len(URI), "plain")
        await until(lambda: bool(client.heard))
        assert client.heard == [URI]
        await client.notify_folder_opened(URI)
        await until(lambda: bool(server.heard))
        assert server.heard == [URI]

    in_memory(own, run)
    own.client.heard.clear()
    own.server.heard.clear()


def test_added_members_and_a_claimed_result_are_typed_on_both_sides(own: Own) -> None:
    models = own.ext.models

    async def run(client: Any, server: Any) -> None:
        [tool] = (await client.list_tools()).tools
        assert type(tool) is models.ToolFolders
        assert tool.folders[0].uri == URI
        if own.mcp.__name__.endswith("v2026_07_28"):
            params = models.FolderArguments(name="t", folder=URI)
            result = await client.request_once(client.TABLE.requests["tools/call"], params)
            assert type(result) is models.FolderResult
            assert (result.uri, result.kind) == (URI, "shared")
        assert (await client.call_tool("t")).content == []

    in_memory(own, run)


def test_client_without_extension_receives_no_extension_request(own: Own) -> None:
    async def run(client: Any, server: Any) -> None:
        with pytest.raises(own.package.MissingCapability):
            await own.ext.FoldersClient.count_folder(client, URI)

    in_memory(own, run, own.mcp.Client())


def answer_to(own: Own, declared: dict[str, Any], method: str) -> Any:
    """Return the answer to a request of a client with some extensions."""
    runtime = import_module(f"{own.package.__name__}._runtime.connection")
    reading = import_module(f"{own.package.__name__}._runtime.messages.reading")
    server = own.server()
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientCapabilities": {"extensions": declared},
    }
    params = {"uri": URI, "_meta": meta}
    sides: dict[str, Any] = {"client": {}, "server": server.__mcp_runtime__.declaration()}
    connection = runtime.Connection(server.TABLE, "server", sides)
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    return connection.take(reading.read(json.dumps(call).encode()))


def test_each_request_is_judged_by_what_it_declares(stateless: Own) -> None:
    refused = answer_to(stateless, {}, "folders/count")
    assert refused.error.CODE == -32021
    assert refused.error.data == {"requiredCapabilities": {"extensions": {IDENTIFIER: {}}}}
    other = answer_to(stateless, {"io.modelcontextprotocol/tasks": {}}, "folders/count")
    assert other.error.CODE == -32021
    taken = answer_to(stateless, {IDENTIFIER: {}}, "folders/count")
    assert taken.spec.method == "folders/count"


def test_a_class_declares_each_of_its_extensions_with_its_settings(stateless: Own) -> None:
    # It does not answer about tasks.
    assert stateless.server().capabilities().extensions == {IDENTIFIER: {"count": True}}
    both: dict[str, Any] = {IDENTIFIER: {}, "io.modelcontextprotocol/tasks": {}}
    assert stateless.client().capabilities().extensions == both
    assert len(stateless.server.TABLE.extensions) == 2


def test_http_repeats_the_name_and_a_server_refuses_a_wrong_one(stateless: Own) -> None:
    package, tasks = stateless.package, import_module(f"{stateless.mcp.__name__}.ext.tasks")
    httpx2: Any = import_module("httpx2")
    seen: dict[str, Any] = {}

    async def record_post(post: Any) -> None:
        seen[json.loads(post.content)["method"]] = post

    async def on_get_task(self: Json, session: Json, params: Json) -> Json:
        times = {"created_at": "", "last_updated_at": "", "ttl_ms": None}
        return tasks.models.GetTaskResultWorking(task_id=params.task_id, **times)

    server: Any = type("Both", (stateless.server,), {"on_get_task": on_get_task})

    async def main() -> None:
        app = package.http_app(server())
        async with (
            run_app(app) as port,
            httpx2.AsyncClient(verify=False, event_hooks={"request": [record_post]}) as http,
        ):
            url = f"http://127.0.0.1:{port}/mcp"
            async with package.connect_http(url, stateless.client(), http=http) as client:
                assert (await client.count_folder(URI)).count == len(URI)
                assert (await client.get_task("7")).task_id == "7"
                await until(lambda: client.heard == [URI])
                await client.notify_folder_opened(URI)
                await until(lambda: server.heard == [URI])
            for method, name in (("folders/count", URI), ("tasks/get", "7")):
                with case(method):
                    post = seen[method]
                    assert post.headers["mcp-name"] == name
                    answer = await again(http, post, {"mcp-name": "other"})
                    assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32020)
                    # Only clients are obliged, and the official Python SDK sends none.
                    for named in ({}, {"mcp-name": name}):
                        answer = await again(http, post, named)
                        assert answer.status_code == 200
        await app.close()

    asyncio.run(main())
    stateless.client.heard.clear()
    stateless.server.heard.clear()


async def again(http: Any, post: Any, named: dict[str, str]) -> Any:
    """Return the answer to the same POST with another name, or without one."""
    fields = {name: value for name, value in post.headers.items() if name != "mcp-name"}
    return await http.post(post.url, content=post.content, headers=fields | named)


DOCUMENT: Final[Json] = {
    "place": "card",
    "media_type": "text/plain",
    "headers": {},
    "source": "basic",
}

Edit = Callable[[Json, Json], object]


def put(value: Any, *path: str | int) -> Edit:
    """An edit of the facts."""

    def edit(schema: Json, facts: Json) -> None:
        for step in path[:-1]:
            facts = facts[step]
        facts[path[-1]] = value

    return edit


def copy_differs(schema: Json, facts: Json) -> None:
    schema["$defs"]["Annotations"]["properties"]["priority"]["maximum"] = 2


def changes_a_member(schema: Json, facts: Json) -> None:
    schema["$defs"]["ToolFolders"]["properties"]["name"] = {"const": "folder", "type": "string"}


FACTS = "schema/extensions/folders/facts.json"
COUNT = ("methods", "folders/count")
REFUSED: list[tuple[Edit, str, str, str]] = [
    (copy_differs, "extension-differs", "folders.json",
        "/$defs/Annotations/properties/priority/maximum"),
    (changes_a_member, "facts-disagree", FACTS, "/members/1/from"),
    (put("Nothing", *COUNT, "message"), "unknown-type", FACTS, "/methods/folders~1count/message"),
    (put(["server"], *COUNT, "senders"), "facts-disagree", FACTS,
        "/methods/folders~1count/senders"),
    (put("Nothing", *COUNT, "params"), "unknown-type", FACTS, "/methods/folders~1count/params"),
    (put({"mcp-name": {"member": "kind", "policy": "both"}}, *COUNT, "headers"), "facts-disagree",
        FACTS, "/methods/folders~1count/headers/mcp-name"),
    (put(-32099, *COUNT, "principal"), "facts-disagree", FACTS,
        "/methods/folders~1count/principal"),
    (put({"request": "folders/count", "order": "first"}, *COUNT, "stream"), "facts-disagree", FACTS,
        "/methods/folders~1count/stream/request"),
    (put(["2024-11-05"], *COUNT, "revisions"), "facts-disagree", FACTS,
        "/methods/folders~1count/revisions"),
    (put({"server": {}}, "settings"), "facts-disagree", FACTS,
        "/methods/folders~1count/declared_by"),
    (put([STATELESS], "methods", "folders/pick", "revisions"), "facts-disagree", FACTS,
        "/methods/folders~1pick/senders"),
    (put("tools/cal", "claims", 0, "method"), "facts-disagree", FACTS, "/claims/0/method"),
    (put("Nothing", "claims", 0, "type"), "unknown-type", FACTS, "/claims/0/type"),
    (put("file", "claims", 0, "result_type"), "facts-disagree", FACTS, "/claims/0/result_type"),
    (put("Nothing", "members", 0, "type"), "unknown-type", FACTS, "/members/0/type"),
    (put("Nothing", "members", 0, "from"), "unknown-type", FACTS, "/members/0/from"),
    (put("tools/cal", "members", 0, "method"), "facts-disagree", FACTS, "/members/0/method"),
    (put("Tool", "members", 0, "type"), "facts-disagree", FACTS, "/members/0/type"),
    (put({"card": DOCUMENT}, "documents"), "facts-disagree", FACTS, "/documents/card"),
    (put({"card": {**DOCUMENT, "type": "None"}}, "documents"), "unknown-type", FACTS,
     "/documents/card/type"),
    (put({"-32602": {"name": "OTHER", "emit": "server", "source": "folders"}}, "errors"),
        "facts-disagree", FACTS, "/errors/-32602"),
    (put({"names": ["Nothing"], "source": "folders"}, "types"), "unknown-type", FACTS,
        "/types/names/0"),
    (put({"Folder": 3}, "unions"), "bad-form", FACTS, "/unions/Folder"),
    (put({"types": 3}, "descriptions"), "bad-form", FACTS, "/descriptions/types"),
    (put([], "revisions"), "bad-form", FACTS, "/revisions"),
]  # fmt: skip


def test_invalid_extension_is_refused_with_file_and_place(tmp_path: Path) -> None:
    for edit, code, place, pointer in REFUSED:
        with case(f"{place}#{pointer} {code}"):
            with pytest.raises(ProblemError) as stopped:
                package_with_it(tmp_path, (STATELESS,), change=edit)
            found = [
                (problem.code, problem.place, problem.pointer) for problem in stopped.value.problems
            ]
            assert (code, place, pointer) in found
            assert all(problem.hint for problem in stopped.value.problems)


def test_a_name_with_a_hyphen_is_a_folder_that_can_be_imported(tmp_path: Path) -> None:
    package = package_with_it(tmp_path, (STATELESS,), name="my-folders")
    written = {file.path: file.content for file in package.files}
    assert b"class MyFoldersServer(" in written["v2026_07_28/ext/my_folders/server.py"]
    assert "v2026_07_28/ext/my_folders/models/my_folders.py" in written
    assert not any("my-folders" in path for path in written)


def test_a_schema_may_be_true_wherever_one_may_be(tmp_path: Path) -> None:
    def edit(schema: Json, facts: Json) -> None:
        schema["$defs"]["Whatever"] = True
        schema["$defs"]["Loose"] = {
            "allOf": [True, {"$ref": "#/$defs/Folder"}, {"properties": {"note": True}}]
        }

    package = package_with_it(tmp_path, (STATELESS,), change=edit)
    [models] = (file for file in package.files if file.path.endswith("folders/models/folders.py"))
    assert b"class Loose(" in models.content and b"Whatever" in models.content


def test_a_revision_without_result_types_has_no_claims(tmp_path: Path) -> None:
    with pytest.raises(ProblemError) as stopped:
        package_with_it(tmp_path, (HANDSHAKE,), change=put([HANDSHAKE], "claims", 0, "revisions"))
    [problem] = stopped.value.problems
    assert (problem.code, problem.place, problem.pointer) == ("facts-disagree", FACTS, "/claims/0")
