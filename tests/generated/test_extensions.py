"""Extensions: their generated code, their use in classes, and wrong input."""

import json
import sys
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any, NamedTuple

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions
from mcp_protogen.pipeline.inputs import extensions
from mcp_protogen.pipeline.inputs.file_formats import check_format
from mcp_protogen.pipeline.package import Package
from support.folders import ROOT
from support.generating import write_files
from support.made_once import generated_once
from support.missing import reference
from support.tables import case

REVISION = "2026-07-28"
IDENTIFIER = "io.modelcontextprotocol/tasks"
validators: Any = import_module("jsonschema.validators")  # comes with types in part
TASK: Any = MappingProxyType(
    {
        "task_id": "7",
        "created_at": "2026-01-01T00:00:00Z",
        "last_updated_at": "2026-01-01T00:00:00Z",
        "ttl_ms": None,
    }
)


class Extended(NamedTuple):
    """The package of a revision with an extension."""

    package: ModuleType
    mcp: Any
    ext: Any


def package_of(*names: str) -> Package:
    return generated_once(
        GenerationOptions((REVISION,), extensions=MappingProxyType(dict.fromkeys(names)))
    )


@pytest.fixture(scope="module")
def extended_package(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    folder = tmp_path_factory.mktemp("extended")
    write_files(package_of("tasks").files, folder / "with_extension")
    sys.path.insert(0, str(folder))
    name = "with_extension"
    revision = f"{name}.v2026_07_28"
    return Extended(*map(import_module, (name, revision, f"{revision}.ext.tasks")))


def test_the_rest_of_the_package_is_the_same_with_an_extension() -> None:
    without = {file.path: file.content for file in package_of().files}
    with_it = {file.path: file.content for file in package_of("tasks").files}
    # A revision gives its extension on request.
    gives = b'    if name == "tasks":\n        from .ext import tasks\n\n        return tasks\n'
    before, given, after = with_it["v2026_07_28/__init__.py"].partition(gives)
    assert given
    with_it["v2026_07_28/__init__.py"] = before + after
    tables = {"_runtime/core/models/added_members.py", "_runtime/messages/extended_table.py"}
    others = {path: content for path, content in with_it.items() if "/ext/" not in path}
    assert without == {path: content for path, content in others.items() if path not in tables}
    assert others.keys() - without.keys() == tables


def test_integers_have_no_limits_that_are_those_of_what_wrote_the_schema(
    extended_package: Extended,
) -> None:
    file = reference("published/extensions/tasks.schema.json", "models of tasks fit their schema")
    schema = json.loads(file.read_bytes())
    large = {
        "taskId": "7",
        "status": "working",
        "resultType": "task",
        "createdAt": "a",
        "lastUpdatedAt": "b",
        "ttlMs": 2**53,
    }
    own = {**schema, "$ref": "#/$defs/CreateTaskResult"}
    assert not validators.Draft202012Validator(own).is_valid(large)
    assert validators.Draft202012Validator(own).is_valid({**large, "ttlMs": 2**53 - 1})
    assert extended_package.ext.models.CreateTaskResult.from_wire(large).ttl_ms == 2**53


def test_an_intersection_is_a_subclass_of_what_it_does_not_restrict(
    extended_package: Extended,
) -> None:
    own, core = extended_package.ext.models, extended_package.mcp.models
    assert issubclass(own.CreateTaskResult, own.Task)
    assert own.CreateTaskResult.__annotations__.keys() == {"result_type", "meta"}
    assert issubclass(own.GetTaskResultFailed, own.FailedTask)
    assert issubclass(own.TaskStatusNotificationParamsFailed, own.FailedTask)
    assert issubclass(own.UpdateTaskRequestParams, core.RequestParams)
    # Its `resultType` is not any.
    assert not issubclass(own.CancelTaskResult, core.Result)


def test_members_that_an_extension_adds_are_read_checked_and_written(
    extended_package: Extended,
) -> None:
    _, mcp, ext = extended_package
    server: Any = type("Server", (ext.TasksServer, mcp.Server), {})
    core, table = mcp.Server.TABLE, server.TABLE
    listen = core.requests["subscriptions/listen"]
    assert table.requests["subscriptions/listen"] is listen
    wanted = ext.models.TaskSubscriptionNotifications(task_ids=["7"], tools_list_changed=True)
    params = mcp.models.SubscriptionsListenRequestParams(notifications=wanted)
    written = table.serialise_request(listen, 1, params)
    notifications = {"taskIds": ["7"], "toolsListChanged": True}
    assert json.loads(written)["params"]["notifications"] == notifications
    read = table.parse_request(written, sender="client").params
    assert type(read.notifications) is ext.models.TaskSubscriptionNotifications
    assert isinstance(read, mcp.models.SubscriptionsListenRequestParams)
    assert read.notifications.task_ids == ["7"]
    assert table.serialise_request(listen, 1, read) == written
    wrong = written.replace(b'["7"]', b"[7]")
    with pytest.raises(extended_package.package.InvalidParams) as refused:
        table.parse_request(wrong, sender="client")
    assert refused.value.data["problems"][0]["pointer"] == "/params/notifications/taskIds/0"
    # Without the extension, the member is unknown.
    assert core.parse_request(wrong, sender="client").params.notifications.taskIds == [7]


def test_a_class_has_its_extension_in_either_order_of_bases(extended_package: Extended) -> None:
    _, mcp, ext = extended_package

    async def on_get_task(self: Any, session: Any, params: Any) -> Any:
        return ext.models.GetTaskResultWorking(**TASK)

    members = {"on_get_task": on_get_task}
    servers: list[Any] = [
        type("Server", bases, members)
        for bases in ((ext.TasksServer, mcp.Server), (mcp.Server, ext.TasksServer))
    ]
    assert servers[0].TABLE is servers[1].TABLE
    assert servers[0].TABLE.core is mcp.Server.TABLE
    for server in servers:
        assert server().capabilities().extensions == {IDENTIFIER: {}}
        assert issubclass(server.SESSION, ext.TasksSession)
        assert server().__mcp_runtime__.handled_methods() == {"tasks/get"}
    app: Any = type("App", (ext.TasksServer, mcp.App), members)("app")
    assert app.TABLE is servers[0].TABLE
    # With nothing to answer, nothing is declared; a client only asks.
    silent: Any = type("Silent", (ext.TasksServer, mcp.Server), {})
    asking: Any = type("Asking", (ext.TasksClient, mcp.Client), {})
    assert silent().capabilities().extensions is None
    assert asking().capabilities().extensions == {IDENTIFIER: {}}


async def test_requests_and_results_of_an_extension_need_its_declaration(
    extended_package: Extended,
) -> None:
    package, mcp, ext = extended_package

    async def on_get_task(self: Any, session: Any, params: Any) -> Any:
        return ext.models.GetTaskResultWorking(**{**TASK, "task_id": params.task_id})

    async def on_call_tool(self: Any, session: Any, params: Any) -> Any:
        return ext.models.CreateTaskResult(**TASK, status="working")

    members = {"on_get_task": on_get_task, "on_call_tool": on_call_tool}
    server: Any = type("Server", (ext.TasksServer, mcp.Server), members)
    asking: Any = type("Asking", (ext.TasksClient, mcp.Client), {})

    async with package.connect(server(), asking()) as client:
        assert (await client.get_task("8")).task_id == "8"
        params = mcp.models.CallToolRequestParams(name="slow", arguments={})
        answer = await client.request_once(mcp.methods.CALL_TOOL, params)
        assert type(answer) is ext.models.CreateTaskResult
        with pytest.raises(package.RemoteError, match="returned CreateTaskResult"):
            await client.call_tool("slow", {})
        with pytest.raises(package.McpError) as failed:
            await client.update_task("8", {})
        assert failed.value.code == -32601
    async with package.connect(server(), mcp.Client()) as client:
        with pytest.raises(package.McpError) as failed:
            await client.call_tool("slow", {})
        assert failed.value.code == -32603
        with pytest.raises(package.MissingCapability):
            await ext.TasksClient.get_task(client, "8")


def test_wrong_facts_are_one_problem_with_their_place(tmp_path: Path) -> None:
    right = json.loads((ROOT / "schema/extensions/tasks/facts.json").read_bytes())
    for document in (
        right,
        json.loads((ROOT / "schema/extensions/skills/facts.json").read_bytes()),
    ):
        assert not [*check_format(document, "extension-facts", "facts.json")]
    right["types"] = {"names": [], "source": "page"}
    wrong: list[tuple[tuple[str | int, ...], Any, str]] = [
        (("identifier",), "", "/identifier"),
        (("revisions",), REVISION, "/revisions"),
        (("settings",), {"host": {}}, "/settings"),
        (("methods",), [], "/methods"),
        (("methods", "tasks/get", "kind"), "call", "/methods/tasks~1get/kind"),
        (("methods", "tasks/get", "senders"), ["host"], "/methods/tasks~1get/senders/0"),
        (("methods", "tasks/get", "setting"), True, "/methods/tasks~1get/setting"),
        (("methods", "tasks/get", "else"), 1, "/methods/tasks~1get"),
        (("claims", 0, "type"), 3, "/claims/0/type"),
        (("members",), {}, "/members"),
        (("types", "names"), "Task", "/types/names"),
        (("$defs",), [], "/$defs"),
        (("$defs",), {"A": {"type": "object"}}, "/$defs/A"),
    ]
    for path, value, pointer in wrong:
        facts = json.loads(json.dumps(right))
        parent = facts
        for step in path[:-1]:
            parent = parent[step]
        parent[path[-1]] = value
        with case(pointer):
            [problem] = check_format(facts, "extension-facts", "facts.json")
            assert (problem.code, problem.pointer) == ("bad-form", pointer)
    with pytest.raises(ProblemError, match="does not exist"):
        extensions.load("nothing", tmp_path)
    assert extensions.load("tasks", schema_folder()).identifier == IDENTIFIER
