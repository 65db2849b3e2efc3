"""One handler for all: clients with tasks of either kind, and clients without tasks."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import product
from typing import Any, Final, Literal

import pytest
from mcp_protogen.runtime.features.tasks.server.task_context import TaskContext
from mcp_revisions import (
    REVISIONS,
    Accepted,
    MissingCapability,
    Options,
    TaskCalls,
    TaskOptions,
    Toolkit,
    client_of,
    connect_http,
    load,
    tool,
)
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer
from support.http.serving import serving
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.revisions import REVISIONS as NAMES
from support.tables import case

TASKS: Final = TaskOptions(poll_interval=0.01)
WITH_ELICITATION: Final = NAMES[NAMES.index("2025-06-18") :]

Transport = Literal["memory", "http"]
TRANSPORTS: Final[tuple[Transport, ...]] = ("memory", "http")


class Reporter(TasksServer, Toolkit, mcp.Server):
    """A server whose tool reports, asks a user and a model, and reports."""

    @tool(task=True)
    async def report(self, session: mcp.Session) -> str:
        await session.progress(1, 2)
        await session.log("info", "begun")
        try:
            answer = await session.ask("Who?", str)
            name = answer.value if isinstance(answer, Accepted) else "nobody"
        except MissingCapability:
            name = "whoever you are"
        question = m.SamplingMessage(role="user", content=m.TextContent(text=name))
        said = await session.create_message([question], max_tokens=9)
        await session.progress(2, 2)
        return f"{name}, says {said.model}"


def client_for(revision: str, tasks: bool, log: set[str]) -> Any:
    """Return a client of a revision, with or without tasks, that answers all requests."""
    models = load(revision).models

    async def on_create_message(self: object, params: Any) -> Any:
        content = models.TextContent(text="Hello")
        return models.CreateMessageResult(model="a model", role="assistant", content=content)

    async def on_elicit(self: object, params: Any) -> Any:
        return models.ElicitResult(action="accept", content={"value": "Ann"})

    async def on_logging_message(self: object, params: Any) -> None:
        log.add(params.data)

    handlers: dict[str, Any] = {
        "on_create_message": on_create_message,
        "on_logging_message": on_logging_message,
    }
    if revision in WITH_ELICITATION:
        handlers["on_elicit"] = on_elicit
    mixins = (TasksClient if revision == STATELESS else TaskCalls,) if tasks else ()
    return type("Ours", (*mixins, load(revision).Client), handlers)()


@asynccontextmanager
async def connect_over(transport: Transport, client: Any) -> AsyncGenerator[Any, None]:
    """A client that is connected to the server."""
    if transport == "memory":
        options = Options(tasks=TASKS)
        async with client_of(Reporter(), client, revisions=REVISIONS, options=options) as ours:
            yield ours
        return
    async with (
        serving(Reporter(), REVISIONS, tasks=TASKS) as site,
        connect_http(site.url, client) as ours,
    ):
        yield ours


async def call_with_progress(client: Any, revision: str, tasks: bool, on_progress: Any) -> str:
    """Call the tool with all notifications, and as a task if possible; return its text."""
    meta: JsonObject = {}
    if revision == STATELESS:
        meta = {"meta": m.RequestMetaObject(log_level="debug")}
    else:
        await client.set_level("debug")
    if tasks:
        handle = await client.start_task("report", on_progress=on_progress, **meta)
        assert handle.id is not None
        return str(await handle.result(as_=str))
    result = await client.call_tool("report", on_progress=on_progress, **meta)
    return str(result.content[0].text)


@pytest.mark.shows("TX-18")
async def test_handler_answers_each_client_in_its_revision() -> None:
    faces: list[tuple[str, bool]] = [*product(NAMES, [False]), (OLD, True), (STATELESS, True)]
    for transport, (revision, tasks) in product(TRANSPORTS, faces):
        reports, log = list[Any](), set[str]()
        name = "Ann" if revision in WITH_ELICITATION else "whoever you are"
        # Tasks of the extension have neither progress nor a log.
        is_silent = tasks and revision == STATELESS
        async with connect_over(transport, client_for(revision, tasks, log)) as client:
            with case((transport, revision, tasks)):
                assert client.revision == revision
                said = await call_with_progress(client, revision, tasks, reports.append)
                assert said == f"{name}, says a model"
                assert {report.done for report in reports} == (set() if is_silent else {1, 2})
                assert log == (set() if is_silent else {"begun"})


async def test_a_server_that_lacks_the_extension_of_its_revision_does_not_start() -> None:
    class Forgetful(Toolkit, mcp.Server):
        @tool(task=True)
        def count(self) -> int:
            return 1

    with pytest.raises(TypeError, match="write TasksServer before the other bases of Forgetful"):
        async with client_of(Forgetful(), mcp.Client()):
            pass


async def test_stream_of_a_call_is_closed_only_while_it_is_no_task() -> None:
    closed: list[str] = []

    class Origin:
        async def close_stream(self) -> None:
            closed.append("closed")

    for name, id, origin, times in (
        ("a plain call", None, Origin(), 1),
        ("a plain call whose client has gone", None, None, 0),
        ("a task", "t", Origin(), 0),
    ):
        closed.clear()
        context: Any = object.__new__(TaskContext)
        context.id, context.origin = id, origin
        with case(name):
            await context.close_stream()
            assert len(closed) == times
