"""Requests with whole params: `request` returns a result, `request_once` any answer."""

from typing import Any, ClassVar

import pytest
from mcp_revisions import v2025_11_25 as handshake
from mcp_revisions import v2026_07_28 as stateless
from mcp_revisions.v2025_11_25 import models as old
from mcp_revisions.v2026_07_28.models import ElicitRequestParams
from support.revisions import STATELESS
from support.sessions.talking import client, content_of, models, pkg, stub, tools


async def accept(self: object, params: ElicitRequestParams) -> Any:
    """Accept the question."""
    return stateless.models.ElicitResult(action="accept", content={})


async def asks(session: Any, params: Any) -> object:
    """Ask the client, and return its answer."""
    m = models(session.TABLE.revision)
    form = m.ElicitRequestFormParamsRequestedSchema(properties={})
    answer = await session.elicit("Really?", form)
    return str(answer.action)


async def test_a_request_is_completed_and_one_that_is_sent_once_has_what_comes() -> None:
    spec, m = stateless.methods.CALL_TOOL, stateless.models
    ours: Any = client(STATELESS, on_elicit=accept)
    async with pkg.connect_in_memory(ours, tools(STATELESS, asks)) as one:
        params = m.CallToolRequestParams(name="x")
        assert content_of(await one.request(spec, params))[0].text == "accept"
        assert isinstance(await one.request_once(spec, params), m.InputRequiredResult)


class Working(handshake.Server):
    """Answers each call with a task, whether or not one was asked for."""

    DECLARES: ClassVar[Any] = {"tasks": {"requests": {"tools": {"call": {}}}}}

    async def on_call_tool(
        self, session: handshake.Session, params: old.CallToolRequestParams
    ) -> old.CreateTaskResult:
        """Begin a task."""
        at = "2025-11-25T10:30:00Z"
        task = old.Task(task_id="t", status="working", created_at=at, last_updated_at=at, ttl=None)
        return old.CreateTaskResult(task=task)


async def test_a_request_for_a_task_is_refused_unless_it_is_sent_once() -> None:
    spec = handshake.methods.CALL_TOOL
    params = old.CallToolRequestParams(name="x", task=old.TaskMetadata(ttl=5))
    async with pkg.connect_in_memory(stub(handshake.Client), Working()) as one:
        with pytest.raises(pkg.LocalError, match="returns a task: use request_once"):
            await one.request(spec, params)
        answer = await one.request_once(spec, params)
    assert isinstance(answer, old.CreateTaskResult) and answer.task.task_id == "t"


async def test_a_task_that_nobody_asked_for_is_no_result() -> None:
    spec = handshake.methods.CALL_TOOL
    async with pkg.connect_in_memory(stub(handshake.Client), Working()) as one:
        with pytest.raises(pkg.RemoteError, match="tools/call returned CreateTaskResult"):
            await one.request(spec, old.CallToolRequestParams(name="x"))
