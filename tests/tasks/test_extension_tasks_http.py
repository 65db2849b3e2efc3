"""Tasks of the extension over HTTP: who may see which, and the fields of their requests."""

from typing import Any

import pytest
from mcp_revisions import Accepted, CallNext, MethodCall, TaskOptions, Toolkit, connect_http, tool
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient, TasksServer
from support.http.serving import serving


class Greeter(TasksServer, Toolkit, mcp.Server):
    """A server with a task that asks something, and that takes note of who names what."""

    def __init__(self) -> None:
        self.named: list[tuple[str, str | None, str | None]] = []

    @tool(task=True)
    async def greet(self, session: mcp.Session) -> str:
        answer = await session.ask("Who?", str)
        return f"Hello, {answer.value if isinstance(answer, Accepted) else 'nobody'}"

    async def around(self, call: MethodCall, next: CallNext, /) -> Any:
        request = None if call.is_sent or call.session is None else call.session.http_request
        if request is not None and call.method.startswith("tasks/"):
            id = call.params.task_id
            self.named.append((call.method, request.headers.get("mcp-name"), id))
        return await next(call)


class Caller(TasksClient, mcp.Client):
    """A client that says who it is when a task asks."""

    async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
        return m.ElicitResult(action="accept", content={"value": "Ann"})


@pytest.mark.shows("TX-19")
async def test_requests_about_a_task_name_it_in_a_field() -> None:
    server = Greeter()
    async with (
        serving(server, tasks=TaskOptions(poll_interval=0.01)) as site,
        connect_http(site.url, Caller()) as client,
    ):
        handle = await client.start_task("greet")
        await handle.result()
        await handle.cancel()
    assert {method for method, *_ in server.named} == {"tasks/get", "tasks/update", "tasks/cancel"}
    assert {name for _, *names in server.named for name in names} == {handle.id}
