"""Tasks of the extension over HTTP: the fields of their requests."""

from typing import Any

import pytest
from mcp_revisions import CallNext, MethodCall, TaskOptions, connect_http
from support.http.serving import serving
from support.revisions import STATELESS
from support.tasks.gateway import CLIENTS, OfStateless


class Noting(OfStateless):
    """A server that takes note of who names what."""

    def __init__(self) -> None:
        super().__init__()
        self.named: list[tuple[str, str | None, str | None]] = []

    async def around(self, call: MethodCall, next: CallNext, /) -> Any:
        request = None if call.is_sent or call.session is None else call.session.http_request
        if request is not None and call.method.startswith("tasks/"):
            name = request.headers.get("mcp-name")
            self.named.append((call.method, name, call.params.task_id))
        return await next(call)


@pytest.mark.shows("TX-19")
async def test_requests_about_a_task_name_it_in_a_field() -> None:
    server = Noting()
    async with (
        serving(server, tasks=TaskOptions(poll_interval=0.01)) as site,
        connect_http(site.url, CLIENTS[STATELESS]()) as client,
    ):
        handle = await client.start_task("sure")
        await handle.result()
        await handle.cancel()
    assert {method for method, *_ in server.named} == {"tasks/get", "tasks/update", "tasks/cancel"}
    assert {name for _, *names in server.named for name in names} == {handle.id}
