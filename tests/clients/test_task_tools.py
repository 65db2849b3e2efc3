"""Tools that can or must be called as tasks: in contracts, modules and calls, of both kinds."""

import asyncio
import inspect
import sys
from pathlib import Path
from typing import Any

import mcp_revisions
import pytest
from mcp_protogen.pipeline.reports.change import Reader, Severity
from mcp_protogen.servers.clients import server_contract
from mcp_protogen.servers.clients.contract import Contract, TaskSupport, read_contract
from mcp_protogen.servers.clients.differences import compare_contracts
from mcp_protogen.servers.clients.lock import ClientLock, read_client_lock
from mcp_protogen.servers.clients.package import PackageTasks, revision_and_tasks
from mcp_protogen.servers.clients.run import between_locks
from mcp_protogen.servers.clients.server_contract import listed_contract
from mcp_revisions import REVISIONS, McpError, in_memory, v2025_11_25
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28.ext.tasks import TasksServer
from pydantic import BaseModel
from support import missing
from support.generated.golden_package import PACKAGE
from support.tables import case
from support.typed_clients.contracts import (
    ADD,
    ECHO,
    Json,
    contract_of,
    lock_for,
    module_of,
    problems_of,
    text_of,
)

CORE = [revision for revision in REVISIONS if hasattr(revision.load().Client, "get_task")]
PLACE: Json = {"name": "place", "uriTemplate": "x:{a}"}
SUPPORTS: tuple[str | None, ...] = (None, "forbidden", "optional", "required")


def supporting(support: str | None, listed: Json = ADD) -> Json:
    """Return a tool that says this of tasks."""
    return listed if support is None else {**listed, "execution": {"taskSupport": support}}


class Wrapped(BaseModel):
    """A result that is an object in each revision."""

    result: int


class Adder(TasksServer, mcp.App):
    """A server whose tool is always a task, of either kind."""


def new_server() -> Adder:
    app = Adder("weather", version="1")

    @app.tool(task="required")
    async def add(a: int, b: int) -> Wrapped:
        await asyncio.sleep(0)
        return Wrapped(result=a + b)

    del add
    return app


def over(revisions: Any = None) -> Any:
    """Return an opener to the server, in these revisions alone."""
    return in_memory(new_server(), revisions=revisions)


class InMemory:
    """A named server that is the server in this process."""

    safe_text = "the server in memory"

    def __init__(self, opener: Any) -> None:
        self.opener = lambda: opener


def list_tools(opener: Any, monkeypatch: pytest.MonkeyPatch) -> Contract:
    monkeypatch.setattr(server_contract, "protocol", lambda: mcp_revisions)
    server: Any = InMemory(opener)
    return listed_contract(server, 10)


def test_contract_has_what_a_server_says_of_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    core, extension = list_tools(over(CORE), monkeypatch), list_tools(over(), monkeypatch)
    assert core.tools["add"].task_support is TaskSupport.REQUIRED and not core.task_extension
    assert extension.tools["add"].task_support is TaskSupport.FORBIDDEN
    assert extension.task_extension
    for contract in (core, extension):
        assert contract.calls_tasks
        assert read_contract(contract.as_json(), "a.lock") == contract


def test_support_of_a_server_without_the_capability_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    m = v2025_11_25.models

    class Forgetful(v2025_11_25.Server):
        async def on_list_tools(self, session: Any, params: Any) -> Any:
            return m.ListToolsResult.from_wire({"tools": [supporting("required", ECHO)]})

        async def on_call_tool(self, session: Any, params: Any) -> Any:
            return m.CallToolResult(content=[])

    contract = list_tools(in_memory(Forgetful(), revisions=CORE), monkeypatch)
    assert contract.tools["echo"].task_support is TaskSupport.FORBIDDEN
    assert not contract.calls_tasks


@pytest.mark.parametrize("tasks", [PackageTasks.CORE, PackageTasks.EXTENSION])
def test_both_classes_wait_for_tools_that_are_always_tasks(tasks: PackageTasks) -> None:
    module = module_of(supporting("required"), tasks=tasks)

    async def add_twice(server: Any) -> Any:
        async with module.WeatherClient.connect(server) as weather:
            await weather.with_options(timeout=5).add(a=0, b=0)
            return await weather.add(a=1, b=2)

    for revisions in (CORE, *([None] if tasks is PackageTasks.EXTENSION else [])):
        assert asyncio.run(add_twice(over(revisions))) == 3
        with module.SyncWeatherClient.connect(over(revisions)) as weather:
            assert weather.add(a=3, b=4) == 7
    plain = module_of(ADD)
    with plain.SyncWeatherClient.connect(over(CORE)) as weather, pytest.raises(McpError):
        weather.add(a=1, b=2)


def test_module_without_tasks_leaves_out_tools_that_require_them_and_says_so() -> None:
    required = supporting("required")
    text = text_of(required, ECHO)
    assert "add" not in vars(module_of(required, ECHO).WeatherClient)
    assert "Left out, because they are tasks, which the package lacks: 'add'." in text
    assert problems_of(required, ECHO) == [
        "the tool 'add' can only be called as a task, and is left out"
    ]
    for tasks in (PackageTasks.CORE, PackageTasks.EXTENSION):
        with case(tasks):
            assert problems_of(required, ECHO, tasks=tasks) == []
            assert "Left out" not in text_of(required, ECHO, tasks=tasks)
    for support in SUPPORTS[:-1]:
        with case(support):
            assert hasattr(module_of(supporting(support)).WeatherClient, "add")
            assert problems_of(supporting(support)) == []


def test_module_of_a_server_with_the_extension_needs_a_package_with_it() -> None:
    for tasks, problems in (
        (PackageTasks.NONE, 1),
        (PackageTasks.CORE, 1),
        (PackageTasks.EXTENSION, 0),
    ):
        with case(tasks):
            found = problems_of(ADD, tasks=tasks, task_extension=True)
            assert len(found) == problems
            assert all("always runs as a task will fail" in message for message in found)
    assert "TasksClient" in text_of(ADD, tasks=PackageTasks.EXTENSION, task_extension=True)
    # Unused modules are not imported.
    assert text_of(ADD, tasks=PackageTasks.EXTENSION) == text_of(ADD)


def test_docstring_says_whether_a_tool_is_a_task() -> None:
    said = {"optional": "Can be called as a task.", "required": "Is always called as a task."}
    for support in SUPPORTS:
        with case(support):
            module = module_of(supporting(support), tasks=PackageTasks.CORE)
            doc = inspect.getdoc(module.WeatherClient.add) or ""
            assert {text for text in said.values() if text in doc} == {
                said[name] for name in said if name == support
            }


TRANSITIONS: dict[tuple[str, str], tuple[str, Severity]] = {
    ("forbidden", "optional"): ("tool-task-allowed", Severity.INFO),
    ("forbidden", "required"): ("tool-task-required", Severity.BREAKING),
    ("optional", "required"): ("tool-task-required", Severity.BREAKING),
    ("optional", "forbidden"): ("tool-task-refused", Severity.WARNING),
    ("required", "optional"): ("tool-task-not-required", Severity.INFO),
    ("required", "forbidden"): ("tool-task-replaced", Severity.BREAKING),
}


def changes(before: Contract, after: Contract) -> list[tuple[str, Severity]]:
    found = compare_contracts(before, after, ("old", "new")).changes
    return [(change.code, change.severity_for(Reader.CALLER)) for change in found]


def test_each_change_of_task_support_has_a_severity() -> None:
    for before in SUPPORTS:
        for after in SUPPORTS:
            with case((before, after)):
                found = changes(contract_of(supporting(before)), contract_of(supporting(after)))
                wanted = TRANSITIONS.get((before or "forbidden", after or "forbidden"))
                assert found == ([] if wanted is None else [wanted])


def test_unknown_task_support_counts_as_none() -> None:
    unknown: tuple[Any, ...] = ({"taskSupport": "never"}, {"taskSupport": 1}, {}, [], "x", None)
    for execution in unknown:
        with case(execution):
            strange = {**ADD, "execution": execution}
            assert contract_of(strange).tools["add"].task_support is TaskSupport.FORBIDDEN
            assert changes(contract_of(ADD), contract_of(strange)) == []


def test_server_that_moves_to_the_extension_breaks_nothing() -> None:
    plain, extended = contract_of(ADD), contract_of(ADD, task_extension=True)
    assert changes(plain, extended) == [("server-tasks-added", Severity.INFO)]
    assert changes(extended, plain) == [("server-tasks-removed", Severity.WARNING)]
    core = contract_of(supporting("required"))
    assert changes(core, extended) == [
        ("server-tasks-added", Severity.INFO),
        ("tool-task-not-required", Severity.INFO),
    ]
    assert changes(extended, core) == [
        ("server-tasks-removed", Severity.WARNING),
        ("tool-task-required", Severity.BREAKING),
    ]


def test_lock_that_requires_tasks_now_breaks_for_callers() -> None:
    folder = missing.reference("cases/instep", "that locks of others are compared by tasks, too")
    locks = [str(folder / f"task-{name}.lock") for name in ("old", "required")]
    (change,) = between_locks(locks[0], locks[1]).changes
    assert change.code == "tool-task-required"
    assert change.severity_for(Reader.CALLER) is Severity.BREAKING


def test_lock_has_the_tasks_of_the_package_and_older_ones_have_none(tmp_path: Path) -> None:
    path = tmp_path / "a.lock"
    for tasks in PackageTasks:
        path.write_bytes(lock_for(contract_of(ADD), None, tasks).content())
        found = read_client_lock(path)
        assert isinstance(found, ClientLock) and found.tasks is tasks
    path.write_bytes(path.read_bytes().replace(b'"tasks": "extension",', b""))
    older = read_client_lock(path)
    assert isinstance(older, ClientLock) and older.tasks is PackageTasks.NONE


def test_tasks_of_a_package_follow_from_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = (PACKAGE / "mcp-gen.lock").read_text()
    assert revision_and_tasks(PACKAGE.name, PACKAGE)[1] is PackageTasks.EXTENSION
    inner = tmp_path / "outer_package" / "wire"
    inner.mkdir(parents=True)
    (inner.parent / "__init__.py").write_text("raise SystemExit('imported')\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    parts: tuple[tuple[str, str, PackageTasks], ...] = (
        ('"all"', '"all"', PackageTasks.EXTENSION),
        ("ext/tasks/client.py", "ext/other/client.py", PackageTasks.CORE),
        ('"all"', '"tool-client"', PackageTasks.NONE),
        ('"all"', '"tool-client", "tasks"', PackageTasks.EXTENSION),
    )
    for old, new, tasks in parts:
        with case(new):
            assert old in lock
            (inner / "mcp-gen.lock").write_text(lock.replace(old, new))
            assert revision_and_tasks("outer_package.wire", None)[1] is tasks
    assert revision_and_tasks("no_such_package.wire", None)[1] is PackageTasks.NONE


def offering(kind: str, more: Json) -> Contract:
    if kind == "tool":
        return contract_of({**ECHO, **more})
    if kind == "prompt":
        return contract_of(prompts=[{"name": "ask", **more}])
    return contract_of(templates=[{**PLACE, **more}])


def test_differences_of_icons_and_meta_are_for_information() -> None:
    one, two = [{"src": "https://a.example/1.png"}], [{"src": "https://a.example/2.png"}]
    members: tuple[tuple[str, Any, Any], ...] = (
        ("icons", one, two),
        ("_meta", {"a": 1}, {"a": [2]}),
    )
    for kind in ("tool", "prompt", "template"):
        for member, old, new in members:
            sides = [offering(kind, more) for more in ({}, {member: old}, {member: new})]
            code = f"{kind}-{member.removeprefix('_')}-changed"
            for before in sides:
                for after in sides:
                    with case((kind, member, before, after)):
                        found = changes(before, after)
                        assert found == ([] if before is after else [(code, Severity.INFO)])
                        again = read_contract(after.as_json(), "a.lock")
                        assert again == after
    empty = contract_of({**ECHO, "icons": [], "_meta": {}})
    assert changes(contract_of(ECHO), empty) == []
