"""A gateway as a process whose servers fail: the others and the session go on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.gateway.gateways import at_url, client_at, odd_program, write_config
from support.gateway.odd_program import odd
from support.gateway.processes import gateway_at
from support.http.serving import run_app
from support.json_types import JsonObject
from support.patience import PATIENCE
from support.ports import free_port
from support.revisions import ERAS, OLD, STATELESS
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import text_of

pytestmark = pytest.mark.long


def refuse(status: int) -> Any:
    """Return an application that answers every request with a status."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": status, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    return answer


def without_stream(served: Any) -> Any:
    """Return a server that has no stream of its sessions."""

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        inner = refuse(405) if scope.get("method") == "GET" else served
        await inner(scope, receive, send)

    return answer


@asynccontextmanager
async def servers_at_urls() -> AsyncGenerator[dict[str, JsonObject], None]:
    """Serve all that need no process of their own; yield them for a configuration."""
    inner = pkg.http_app(odd(OLD, "well"))
    applications = {f"refuses{status}": refuse(status) for status in (401, 404, 500)}
    applications["streamless"] = without_stream(inner)
    async with AsyncExitStack() as stack:
        ports = {
            name: await stack.enter_async_context(run_app(application, lifespan="off"))
            for name, application in applications.items()
        }
        ports["absent"] = free_port()
        found = {name: {"url": f"http://127.0.0.1:{port}/mcp"} for name, port in ports.items()}
        for name, served in {
            **{kind: odd(OLD, kind) for kind in ("endless", "many")},
            "old": odd(OLD, "well"),
            "new": odd(STATELESS, "well"),
        }.items():
            found[name] = await stack.enter_async_context(at_url(served))
        yield found
        await inner.close()


REASONS = {
    "missing": "unreachable",
    "absent": "unreachable",
    "refuses404": "unreachable",
    "refuses500": "unreachable",
    "refuses401": "unauthorized",
    "dying": "interrupted",
    "silent": "timeout",
}
"""Why a call of each server fails."""
GONE = ("missing", "absent")
WELL = ("old", "new", "endless", "many", "streamless")


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["stdio", "http"])
async def test_failing_servers_take_down_neither_others_nor_the_session(
    form: str, tmp_path: Path
) -> None:
    async with servers_at_urls() as at_urls:
        servers = {
            **at_urls,
            **{kind: odd_program(kind) for kind in ("dying", "silent")},
            "missing": {"command": "/nowhere/server"},
        }
        config = write_config(tmp_path, servers, {"list_timeout": 3})
        async with gateway_at(form, config) as address:
            for spoken in ERAS:
                async with (
                    asyncio.timeout(PATIENCE),
                    client_at(address, pkg.load(spoken).Client()) as one,
                ):
                    await check_servers(one, spoken)


async def check_servers(one: Any, spoken: str) -> None:
    """Require that a client has the servers that are well, before and after others fail."""
    names = [tool.name async for tool in one.iter_tools()]
    while missing := [name for name in WELL if f"{name}_echo" not in names]:
        # Many pages, on a busy machine, may take longer than the time for lists.
        assert "endless" in missing or "many" in missing, missing
        names = [tool.name async for tool in one.iter_tools()]
    # The most items of a server.
    assert sum(name.startswith("many_") for name in names) == 2000
    for name in (*REASONS, *WELL):
        with case((spoken, name)):
            if name in WELL:
                assert await text_of(one, f"{name}_echo", text="hi") == "hi"
                continue
            with pytest.raises(pkg.McpError) as failed:
                await text_of(one, f"{name}_echo", text="hi")
            assert failed.value.code == -32603
            reason = failed.value.data["reason"]
            assert failed.value.data == {"server": name, "reason": reason}
            # After five failures to connect, also of lists, a server is not tried for a while.
            assert reason == REASONS[name] or (reason == "open" and name in GONE)
