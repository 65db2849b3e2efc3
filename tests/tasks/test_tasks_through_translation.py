"""A server and a client of different revisions: calls become tasks of the kind on the wire."""

from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest
from mcp_protogen.runtime.testing import in_memory
from support.revisions import OLD, STATELESS
from support.sessions.talking import content_of, pkg
from support.sessions.wiretap import Wire
from support.tasks.gateway import CLIENTS, SERVERS

METHODS = {OLD: "tasks/result", STATELESS: "tasks/get"}


def connect_over(own: str, wire: str, client: str, tap: Wire) -> AbstractAsyncContextManager[Any]:
    """A server and a client, each of its revision, which speak that of `wire`."""
    spoken = [revision for revision in pkg.REVISIONS if revision.id == wire]
    opener = in_memory(SERVERS[own](), revisions=spoken, tap=tap)
    return pkg.connect(opener, CLIENTS[client](), revisions=spoken)


@pytest.mark.parametrize(("own", "wire", "client"), [(STATELESS, OLD, OLD), (OLD, STATELESS, OLD)])
async def test_a_task_asks_what_its_handler_asks(own: str, wire: str, client: str) -> None:
    async with connect_over(own, wire, client, Wire()) as one:
        handle = await one.start_task("sure")
        assert content_of(await handle.result())[0].text == "True True"
