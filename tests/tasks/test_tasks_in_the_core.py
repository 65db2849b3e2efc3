"""Tasks of made-up revisions: with the extension as a part of the core, and with other ids."""

import asyncio
import json
import shutil
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from importlib import import_module
from itertools import permutations, product
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.base.resources import schema_folder
from mcp_protogen.pipeline.config import GenerationOptions, GivenFile
from mcp_protogen.pipeline.generate import generate
from mcp_protogen.pipeline.inputs.pins import read_snapshot
from mcp_protogen.runtime.transports.memory import memory_pair
from support.generated.absorbing_revision import (
    ABSORBING,
    FETCHING,
    PARTS,
    draft_in,
    write_package,
)
from support.generated.schema_folders import decide, schemas_of
from support.generating import write_files
from support.revisions import OLD, STATELESS
from support.sessions.talking import Hand
from support.tables import case

# All is in memory.
pytestmark = pytest.mark.skips_time

REVISIONS = (STATELESS, ABSORBING, FETCHING)
NAMING = ("CancelTaskRequest", "GetTaskRequest", "GetTaskPayloadRequest")
"""The requests of 2025-11-25 that name a task."""


@pytest.fixture(scope="module")
def pkg(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The package of these revisions."""
    place = tmp_path_factory.mktemp("absorbing")
    folder = draft_in(place)
    decide(folder, ABSORBING)
    write_package(folder, place / "with_tasks_in_core", (OLD, *REVISIONS))
    sys.path.insert(0, str(place))
    return import_module("with_tasks_in_core")


def extension_of(mcp: Any) -> Any:
    return import_module(f"{mcp.__name__}.ext.tasks")


def make_server(pkg: Any, revision: str) -> Any:
    """Return a server with a tool that is a task, and one that asks; and with a plain one."""
    mcp = pkg.load(revision)
    bases = (extension_of(mcp).TasksServer,) if revision == STATELESS else ()

    async def slow(self: Any, session: Any) -> str:
        return f"slow in {session.revision}"

    async def asking(self: Any, session: Any) -> str:
        answer = await session.ask("Sure?", bool)
        return f"sure: {answer == pkg.Accepted(True)}"

    async def plain(self: Any) -> str:
        return "plain"

    for tool in (slow, asking):
        tool.__annotations__["session"] = mcp.Session
    tools = {"slow": pkg.tool(task=True)(slow), "asking": pkg.tool(task=True)(asking)}
    members = {**tools, "plain": pkg.tool(plain)}
    return type("Working", (*bases, pkg.Toolkit, mcp.Server), members)()


def make_client(pkg: Any, revision: str) -> Any:
    """Return a client with tasks that answers yes."""
    mcp = pkg.load(revision)
    bases: tuple[Any, ...] = (extension_of(mcp).TasksClient,) if revision == STATELESS else ()
    if revision == OLD:
        bases = (pkg.TaskCalls,)

    async def on_elicit(self: Any, params: Any) -> Any:
        return mcp.models.ElicitResult(action="accept", content={"value": True})

    return type("Patient", (*bases, mcp.Client), {"on_elicit": on_elicit})()


def revisions_of(pkg: Any, id: str) -> list[Any]:
    return [revision for revision in pkg.REVISIONS if revision.id == id]


@asynccontextmanager
async def serve(pkg: Any, revision: str) -> AsyncGenerator[Hand, None]:
    """Serve all revisions; yield the client's end."""
    ours, theirs = memory_pair()
    serving = asyncio.create_task(
        pkg.serve(make_server(pkg, revision), theirs, revisions=pkg.REVISIONS)
    )
    try:
        yield Hand(ours)
    finally:
        await ours.close()
        await serving


@asynccontextmanager
async def open_bridge(pkg: Any, theirs: str, lost: list[Any]) -> AsyncGenerator[Any, None]:
    """Bridge to a server of one revision; yield an opener for clients."""
    ours, middle = memory_pair()
    opener = pkg.in_memory(make_server(pkg, theirs), revisions=revisions_of(pkg, theirs))
    bridge = pkg.Bridge(middle, opener, options=pkg.Options(on_loss=lost.append))
    running = asyncio.create_task(bridge.run())

    async def open() -> Any:
        return ours

    try:
        yield open
    finally:
        await ours.close()
        await running


def note_sent(sent: list[bytes], _: object, data: bytes) -> None:
    sent.append(data)


async def use_tasks(client: Any, served: str) -> None:
    """Call tools as tasks: awaited, by a handle, listened to, and cancelled."""
    called = [(await client.call_tool(name)).text for name in ("slow", "asking", "plain")]
    assert called == [f"slow in {served}", "sure: True", "plain"]
    handle = await client.start_task("asking")
    assert handle.id is not None
    listening = asyncio.create_task(client.listen_to_tasks(handle))
    assert (await handle.result()).text == "sure: True"
    await handle.cancel()
    assert (await handle.status()).has_ended
    listening.cancel()
    at_once = await client.start_task("plain")
    assert at_once.id is None and (await at_once.result()).text == "plain"


async def test_tasks_are_the_same_in_both_revisions_whatever_each_side_is_written_in(
    pkg: Any,
) -> None:
    for ours, theirs, spoken in product(REVISIONS, repeat=3):
        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            lost: list[Any] = []
            options = pkg.Options(on_loss=lost.append)
            opener = pkg.in_memory(
                make_server(pkg, theirs), revisions=pkg.REVISIONS, options=options
            )
            async with pkg.connect(
                opener, make_client(pkg, ours), revisions=revisions_of(pkg, spoken), options=options
            ) as client:
                assert client.revision == spoken
                await use_tasks(client, spoken)
            assert [loss for loss in lost if not loss.harmless] == []


async def check_calls(client: Any, served: str) -> None:
    called = [(await client.call_tool(name)).text for name in ("slow", "asking", "plain")]
    assert called == [f"slow in {served}", "sure: True", "plain"]
    handle = await client.start_task("asking")
    assert handle.id is not None and (await handle.result()).text == "sure: True"


async def test_the_core_of_2025_11_25_has_its_own_form_of_tasks_beside_it(pkg: Any) -> None:
    for ours, theirs, spoken in product((OLD, ABSORBING, FETCHING), repeat=3):
        with case(f"a client of {ours} and a server of {theirs} in {spoken}"):
            opener = pkg.in_memory(make_server(pkg, theirs), revisions=pkg.REVISIONS)
            async with pkg.connect(
                opener, make_client(pkg, ours), revisions=revisions_of(pkg, spoken)
            ) as client:
                await check_calls(client, spoken)
    for ours, theirs in permutations((OLD, ABSORBING, FETCHING), 2):
        with case(f"a bridge between a client of {ours} and a server of {theirs}"):
            async with (
                open_bridge(pkg, theirs, []) as opener,
                pkg.connect(
                    opener, make_client(pkg, ours), revisions=revisions_of(pkg, ours)
                ) as client,
            ):
                await check_calls(client, theirs)


async def test_tasks_pass_through_a_bridge_between_the_core_and_the_extension(pkg: Any) -> None:
    for ours, theirs in permutations(REVISIONS, 2):
        with case(f"a client of {ours} and a server of {theirs}"):
            lost: list[Any] = []
            async with (
                open_bridge(pkg, theirs, lost) as opener,
                pkg.connect(
                    opener, make_client(pkg, ours), revisions=revisions_of(pkg, ours)
                ) as client,
            ):
                await use_tasks(client, theirs)
            assert [loss for loss in lost if not loss.harmless] == []


async def test_a_bridge_waits_for_tasks_of_the_core_where_the_client_has_none(pkg: Any) -> None:
    plain = pkg.load(STATELESS).Client()
    async with (
        open_bridge(pkg, ABSORBING, []) as opener,
        pkg.connect(opener, plain, revisions=revisions_of(pkg, STATELESS)) as client,
    ):
        assert (await client.call_tool("slow")).text == f"slow in {ABSORBING}"


@pytest.fixture(scope="module")
def other_ids(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A package in which tasks of the core have another member for their id."""
    place = tmp_path_factory.mktemp("moved")
    folder = Path(shutil.copytree(schema_folder(), place / "schema"))
    write_facts(folder, "id")
    write_moved(folder, place / "with_other_ids")
    sys.path.insert(0, str(place))
    return import_module("with_other_ids")


def write_facts(folder: Path, path: str) -> None:
    file = folder / OLD / "facts.json"
    facts = json.loads(file.read_bytes())
    facts["places"]["task_id"]["path"] = path
    file.write_text(json.dumps(facts))


def write_moved(folder: Path, place: Path) -> None:
    schema = json.loads(read_snapshot(OLD))
    types = schema["$defs"]
    params = [types[name]["properties"]["params"] for name in NAMING]
    for owner in (types["Task"], *params):
        owner["properties"]["id"] = owner["properties"].pop("taskId")
        owner["required"] = ["id", *(name for name in owner["required"] if name != "taskId")]
    options = GenerationOptions(
        (OLD, STATELESS),
        {OLD: GivenFile("moved.json", json.dumps(schema).encode())},
        parts=PARTS,
        extensions={"tasks": None},
        runtime="mcp_protogen.runtime",
    )
    with schemas_of(folder):
        write_files(generate(options).files, place)


async def use_handles(pkg: Any, client: Any, served: str) -> None:
    await check_calls(client, served)
    handle = await client.start_task("asking")
    await handle.cancel()
    assert (await handle.status()).has_ended
    unknown = client.task({**handle.to_json(), "taskId": "unknown"})
    with pytest.raises(pkg.McpError) as refused:
        await unknown.status()
    member = "id" if served == OLD else "taskId"
    assert f"/params/{member}" in str(refused.value.data)


async def test_id_of_task_is_where_facts_have_it(other_ids: Any) -> None:
    sent: list[bytes] = []
    opener = other_ids.in_memory(
        make_server(other_ids, OLD),
        revisions=other_ids.REVISIONS,
        tap=partial(note_sent, sent),
    )
    client = make_client(other_ids, OLD)
    async with other_ids.connect(
        opener, client, revisions=revisions_of(other_ids, OLD)
    ) as connected:
        await use_handles(other_ids, connected, OLD)
        listed = await connected.list_tasks()
        assert all(task.id for task in listed.tasks) and listed.tasks
    text = b"".join(sent)
    assert b'"method":"tasks/get","params":{"id":' in text


async def test_task_of_client_has_its_id_there_too(other_ids: Any) -> None:
    mcp = other_ids.load(OLD)
    m, elicit = mcp.models, mcp.Client.TABLE.requests["elicitation/create"]
    asked = m.ElicitRequestFormParams(
        message="Sure?", requested_schema={"type": "object", "properties": {}}, task={}
    )

    async def ask(self: Any, session: Any) -> str:
        created = await session.request_once(elicit, asked)
        task = other_ids.RequestedTask(session, created, m.ElicitResult)
        result = await task.result()
        await task.cancel()
        return f"{result.action} {(await task.status()).status}"

    async def on_elicit(self: Any, params: Any) -> Any:
        return m.ElicitResult(action="accept", content={})

    ask.__annotations__["session"] = mcp.Session
    server = type("Asking", (other_ids.Toolkit, mcp.Server), {"ask": other_ids.tool(ask)})()
    client = type("Host", (other_ids.TaskReceiver, mcp.Client), {"on_elicit": on_elicit})()
    async with other_ids.client_of(server, client) as connected:
        assert (await connected.call_tool("ask")).text == "accept completed"


@pytest.mark.parametrize("path", ["name", "status.x", "ttl"])
def test_unfit_id_of_tasks_is_refused(path: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(schema_folder(), tmp_path / "schema"))
    write_facts(folder, path)
    with schemas_of(folder), pytest.raises(ProblemError) as refused:
        generate(GenerationOptions((OLD,)))
    (problem,) = refused.value.problems
    assert (problem.code, problem.pointer) == ("facts-disagree", "/places/task_id")
    assert problem.place == f"schema/{OLD}/facts.json"
