"""The page on many machines: its programs run, and its statements about engines are true."""

import inspect
from contextlib import AsyncExitStack
from dataclasses import fields
from typing import Any

import mcp_revisions as package
import pytest
from support.docs.pages import example, page
from support.engines import PostgresServer, RedisServer
from support.http.serving import calling, run_app
from support.tasks.asking import DECLARED

NAME = "many-machines.md"


async def goes_on(one: Any, other: Any, host: str = "localhost") -> None:
    """A client begins a session at one application, and continues at the other."""
    async with AsyncExitStack() as stack:
        fields = {"host": host}
        sites = [
            await stack.enter_async_context(calling(await stack.enter_async_context(run_app(app))))
            for app in (one, other)
        ]
        client = {"name": "test", "version": "1"}
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        fields |= {"accept": "application/json, text/event-stream"}
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        began = await sites[0].http.post("/mcp", json=message, headers=fields)
        assert began.status_code == 200, began.text
        fields["mcp-session-id"] = began.headers["mcp-session-id"]
        for site in reversed(sites):
            message = {"jsonrpc": "2.0", "id": site.port, "method": "ping"}
            answer = await site.http.post("/mcp", json=message, headers=fields)
            assert answer.json()["result"] == {}


async def test_a_client_goes_on_at_another_worker_of_the_first_example(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("STATE_KEY", "k" * 32)
    one, other = example(NAME, "redis"), example(NAME, "redis")
    await goes_on(one["served"], other["served"], "mcp.example.com")


async def test_the_same_with_postgresql(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", postgres_server.url)
    program = example(NAME, "memory")
    http = package.HttpOptions(shared=example(NAME, "postgres")["shared"])
    await goes_on(program["app"].http(http=http), program["app"].http(http=http))


async def test_a_task_of_the_example_is_begun_at_one_worker_and_ends_at_another(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REDIS_URL", redis_server.url)
    monkeypatch.setenv("STATE_KEY", "k" * 32)
    host = {"host": "mcp.example.com"}
    async with AsyncExitStack() as stack:
        one, other = [
            await stack.enter_async_context(
                calling(await stack.enter_async_context(run_app(example(NAME, "tasks")["served"])))
            )
            for _ in range(2)
        ]
        known: Any = {"meta": DECLARED, "headers": host}
        begun = await one.modern("tools/call", name="report", arguments={"month": "May"}, **known)
        id = begun.json()["result"]["taskId"]
        found: Any = {"status": "working"}
        while found["status"] == "working":
            answer = await other.modern("tasks/get", taskId=id, **known)
            found = answer.json()["result"]
        assert found["result"]["content"][0]["text"] == "done: order of May"


async def test_the_same_in_memory() -> None:
    program = example(NAME, "memory")
    await goes_on(program["one"], program["other"])


async def test_an_engine_around_another_says_who_comes_and_goes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    served = example(NAME, "engine")["served"]
    async with run_app(served) as port, calling(port) as site:
        assert (await site.http.get("/ready")).status_code == 200
    begins, ended = capsys.readouterr().out.splitlines()
    assert begins.removeprefix("begins: ") == ended.removeprefix("has ended: ")


def test_the_arguments_of_engines_are_those_that_the_page_has() -> None:
    for name in ("RedisEngine", "PostgresEngine"):
        signature = inspect.signature(getattr(package, name))
        given = ", ".join(
            (
                parameter.name
                if parameter.default is parameter.empty
                else (
                    f'{parameter.name}="{parameter.default}"'
                    if isinstance(parameter.default, str)
                    else f"{parameter.name}={parameter.default}"
                )
            )
            for parameter in signature.parameters.values()
        )
        assert f"`{name}({given})`" in page(NAME)
    (lease,) = (field for field in fields(package.Shared) if field.name == "lease")
    assert f"`Shared(lease={lease.default})`" in page(NAME)
