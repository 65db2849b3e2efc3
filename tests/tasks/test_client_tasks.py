"""Clients of 2025-11-25 that work as tasks on what servers ask them for."""

import json
from asyncio import Event, wait_for
from dataclasses import replace
from typing import Any

import pytest
from mcp_revisions import (
    McpError,
    MemoryTaskStore,
    RequestedTask,
    TaskCancelled,
    TaskOptions,
    TaskReceiver,
    client_of,
)
from mcp_revisions import v2026_07_28 as newer
from mcp_revisions.v2025_11_25 import Client, Server, Session, methods
from mcp_revisions.v2025_11_25 import models as m
from support.sessions.wiretap import Wire
from support.tables import case
from support.tasks.jobs import RELATED

SAMPLED = m.CreateMessageResult(
    model="a model", role="assistant", content=m.TextContent(text="Bonjour")
)
QUESTION: Any = {
    "messages": [m.SamplingMessage(role="user", content=m.TextContent(text="Say hello"))],
    "max_tokens": 5,
}
LATER = m.TaskMetadata(ttl=60000)
IN_TASK = m.CreateMessageRequestParams(**QUESTION, task=LATER)


class Host(TaskReceiver, Client):
    """A client whose model waits until a test lets it go on."""

    TASKS = TaskOptions(poll_interval=0.01, max_tasks=2)

    def __init__(self) -> None:
        self.began = Event()
        self.go_on = Event()
        self.cancelled = Event()
        self.answer: Any = SAMPLED

    async def on_create_message(self, params: m.CreateMessageRequestParams) -> Any:
        self.began.set()
        token = None if params.meta is None else params.meta.progress_token
        if token is not None:
            await self.notify_progress(progress=1, progress_token=token)
        try:
            await self.go_on.wait()
        except BaseException:
            self.cancelled.set()
            raise
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        return m.ElicitResult(action="accept", content={"name": "Ann"})


class Asking(Server):
    """A server whose tool does what a test wants with the session, and that hears of tasks."""

    def __init__(self, work: Any) -> None:
        self.work = work
        self.statuses: list[str] = []

    async def on_call_tool(self, session: Session, params: m.CallToolRequestParams) -> Any:
        await self.work(session)
        return m.CallToolResult(content=[])

    async def on_task_status(self, session: Session, params: Any) -> None:
        self.statuses.append(params.status)


async def ask_from(work: Any, host: Client, wire: Wire | None = None) -> Asking:
    """Let a server do some work with the session of a client, and return it."""
    server = Asking(work)
    async with client_of(server, host, tap=wire) as client:
        await client.call_tool("any", timeout=30)
    return server


@pytest.mark.shows("TC-01")
async def test_a_client_declares_what_it_can_run_as_a_task() -> None:
    class Quiet(TaskReceiver, Client):
        """A client that can do nothing."""

    class Forms(TaskReceiver, Client):
        """A client that can be asked for input only."""

        async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
            return m.ElicitResult(action="cancel")

    class Plain(Client):
        """A client without tasks."""

        on_elicit = Forms.on_elicit

    methods: dict[str, Any] = {"list": {}, "cancel": {}}
    both: dict[str, Any] = {"sampling": {"createMessage": {}}, "elicitation": {"create": {}}}
    rows: list[tuple[Client, Any]] = [
        (Host(), {**methods, "requests": both}),
        (Forms(), {**methods, "requests": {"elicitation": {"create": {}}}}),
        (Quiet(), None),
        (Plain(), None),
    ]
    for host, declared in rows:

        async def look(session: Session) -> None:
            capabilities = session.client_capabilities
            assert capabilities is not None
            assert capabilities.to_wire().get("tasks") == declared  # noqa: B023

        with case(type(host).__name__):
            await ask_from(look, host)


def test_a_client_of_a_revision_without_tasks_of_clients_is_refused() -> None:
    with pytest.raises(TypeError, match="2026-07-28 has no tasks of clients"):
        type("Wrong", (TaskReceiver, newer.Client), {})


@pytest.mark.shows("TC-05", "TC-07", "TC-08", "TC-12", "TC-13", "TC-14", "TC-15")
async def test_a_sampling_request_becomes_a_task_whose_result_is_fetched() -> None:
    host, wire = Host(), Wire()

    async def work(session: Session) -> None:
        created = await session.request_once(methods.CREATE_MESSAGE, IN_TASK, on_progress=print)
        task = RequestedTask(session, created, m.CreateMessageResult)
        assert isinstance(created, m.CreateTaskResult)
        made = created.task
        assert (made.status, made.ttl, task.id) == ("working", 60000, made.task_id)
        assert (await task.status()).status == "working"
        host.go_on.set()
        result = await task.result()
        assert result.content == SAMPLED.content
        assert (await task.status()).status == "completed"

    server = await ask_from(work, host, wire)
    assert server.statuses == ["completed"]
    tagged = [sent for sent in wire if RELATED in json.dumps(sent)]
    kinds = [
        "progress" if "method" in sent else "created" if "task" in sent["result"] else "payload"
        for sent in tagged
    ]
    assert sorted(kinds) == ["created", "payload", "progress"], "and not tasks/get, or the status"


@pytest.mark.shows("TC-12", "TC-18")
async def test_a_request_that_fails_as_a_task_fails_with_the_same_error() -> None:
    rows: list[tuple[Any, int]] = [
        (McpError(-1, "The user said no"), -1),
        (ValueError("x"), -32603),
    ]
    for answer, code in rows:
        host = Host()
        host.answer = answer
        host.go_on.set()

        async def work(session: Session) -> None:
            with pytest.raises(McpError) as plain:
                await session.create_message(**QUESTION)
            created = await session.request_once(methods.CREATE_MESSAGE, IN_TASK)
            task = RequestedTask(session, created, m.CreateMessageResult)
            with pytest.raises(McpError) as raised:
                await task.result()
            assert str(raised.value) == str(plain.value)
            assert raised.value.code == plain.value.code == code  # noqa: B023
            status = await task.status()
            assert (status.status, status.message) == ("failed", raised.value.message)

        with case(answer):
            await ask_from(work, host)


@pytest.mark.shows("TC-17", "TC-19")
async def test_a_task_that_is_cancelled_ends_its_handler_and_stays_cancelled() -> None:
    host = Host()

    async def work(session: Session) -> None:
        created = await session.request_once(methods.CREATE_MESSAGE, IN_TASK)
        task = RequestedTask(session, created, m.CreateMessageResult)
        # A task that is cancelled before its work begins is never run.
        await wait_for(host.began.wait(), 30)
        await task.cancel()
        await wait_for(host.cancelled.wait(), 30)
        assert (await task.status()).status == "cancelled"
        await task.cancel()
        with pytest.raises(TaskCancelled, match="by request"):
            await task.result()
        for refused in (session.cancel_task, session.get_task_payload):
            with pytest.raises(McpError) as raised:
                await refused(task.id)
            assert raised.value.code == -32602
        calls: list[Any] = [session.get_task, session.cancel_task, session.get_task_payload]
        for unknown in calls:
            with pytest.raises(McpError) as raised:
                await unknown("no such task")
            assert raised.value.code == -32602

    await ask_from(work, host)


@pytest.mark.shows("TC-11")
async def test_a_task_that_lapses_ends_its_handler() -> None:
    now = 1000.0

    class Timed(Host):
        """A host whose tasks go by a clock of the test."""

        TASKS = replace(Host.TASKS, store=MemoryTaskStore(lambda: now))

    host = Timed()

    async def work(session: Session) -> None:
        nonlocal now
        created = await session.request_once(
            methods.CREATE_MESSAGE,
            m.CreateMessageRequestParams(**QUESTION, task=m.TaskMetadata(ttl=1)),
        )
        # A task that lapses before its work begins is never run.
        await wait_for(host.began.wait(), 30)
        now += 1
        await wait_for(host.cancelled.wait(), 30)
        with pytest.raises(McpError):
            await RequestedTask(session, created, m.CreateMessageResult).status()

    await ask_from(work, host)


@pytest.mark.shows("TC-16", "TC-20", "TC-21")
async def test_a_server_sees_its_own_tasks_and_cannot_make_any_number() -> None:
    host = Host()
    ids: list[str] = []

    async def start(session: Session) -> None:
        for _ in range(2):
            created = await session.request_once(methods.CREATE_MESSAGE, IN_TASK)
            ids.append(RequestedTask(session, created, m.CreateMessageResult).id)
        assert {task.task_id async for task in session.iter_tasks()} == set(ids)
        with pytest.raises(McpError, match="Too many tasks"):
            await session.request_once(methods.CREATE_MESSAGE, IN_TASK)

    async def look(session: Session) -> None:
        assert (await session.list_tasks()).tasks == []
        with pytest.raises(McpError, match="Unknown task"):
            await session.get_task(ids[0])

    await ask_from(start, host)
    assert host.cancelled.is_set(), "nothing goes on without a connection"
    await ask_from(look, host)


@pytest.mark.shows("TC-02", "TC-06")
async def test_a_client_that_runs_nothing_as_a_task_answers_at_once() -> None:
    class Plain(Client):
        """A client without tasks."""

        async def on_create_message(self, params: m.CreateMessageRequestParams) -> Any:
            return SAMPLED

    async def work(session: Session) -> None:
        answer = await session.request_once(methods.CREATE_MESSAGE, IN_TASK)
        assert answer == SAMPLED
        with pytest.raises(TypeError, match="CreateMessageResult is not a task"):
            RequestedTask(session, answer, m.CreateMessageResult)

    wire = Wire()
    await ask_from(work, Plain(), wire)
    (question,) = wire.calls("sampling/createMessage")
    assert "task" not in question, "it is not asked for in vain"
