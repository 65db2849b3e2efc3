"""Gateways as processes that share sessions in Redis, and the settings for it."""

import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from support.engines import RedisServer
from support.gateway.files import OF_GATEWAY, OF_HOST, as_json, as_toml, write_file
from support.gateway.gateways import GATEWAY, at_url, write_config
from support.gateway.sharing import STATE_KEY
from support.http.behind import together
from support.http.serving import calling, outcome
from support.peers.http_peers import serve_command
from support.revisions import OLD
from support.running import Run
from support.sessions.talking import request
from support.sharing.faults import at
from support.tables import case
from support.toolkit.mounting import only, weather


async def test_processes_share_sessions_in_redis(tmp_path: Path, redis_server: RedisServer) -> None:
    own = {"share": redis_server.url, "state_keys": [STATE_KEY]}
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(at_url(only(weather(OLD))))
        command = *GATEWAY, write_config(tmp_path, {"w": server}, own), "--http", "PORT"
        both = together([serve_command(*command) for _ in range(2)])
        served = await stack.enter_async_context(both)
        one, two = [await stack.enter_async_context(calling(process.port)) for process in served]
        session = await one.initialize()
        there = at(session, two)
        followed = await session.post(request("resources/subscribe", uri="data://w/now"))
        assert outcome(followed) == (200, None)
        async with there.get() as events:
            for place in (session, there):
                listed = (await place.post(request("tools/list"))).json()["result"]["tools"]
                assert {"w_forecast", "w_touch"} <= {tool["name"] for tool in listed}
            (process,) = served[0].processes
            process.kill()
            await process.wait()
            assert outcome(await there.call("w_touch", arguments={})) == (200, None)
            while (await events.take()).get("params") != {"uri": "data://w/now"}:
                pass


SHARED = {"share": "redis://user:s3cret-word@cache:7000/2", "state_keys": [STATE_KEY]}


def test_plan_names_the_engine_without_its_password(mcp_gen: Run, tmp_path: Path) -> None:
    for form in ("text", "json"):
        file = write_file(tmp_path, as_toml({**OF_GATEWAY, **SHARED}, (OF_HOST, {})))
        shown = mcp_gen("gateway", str(file), "--dry-run", "--format", form)
        assert shown.code == 0 and "redis://cache:7000/2" in shown.out
        assert "s3cret" not in shown.out and STATE_KEY not in shown.out


def test_sharing_is_refused_where_there_are_no_sessions_to_share(
    mcp_gen: Run, tmp_path: Path
) -> None:
    for form, place in (
        (as_json, "mcp.json#/x-gateway/share"),
        (as_toml, "gateway.toml#gateway.share"),
    ):
        file = write_file(tmp_path, form(SHARED, (OF_HOST, {})))
        for options, why in (
            ((), "a client on stdio has no session"),
            (("--http", "0", "--sse"), "belong to one process"),
        ):
            with case((form.__name__, options)):
                ran = mcp_gen("gateway", str(file), *options)
                assert ran.code == 2 and ran.out == ""
                assert f"{place}: " in ran.err and why in ran.err


def test_sharing_needs_keys_and_the_library_of_its_engine(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_keys = {"share": SHARED["share"]}
    ran = mcp_gen("gateway", str(write_file(tmp_path, as_toml(without_keys, (OF_HOST, {})))))
    assert ran.code == 2 and "gateway.state_keys" in ran.err and "${STATE_KEY}" in ran.err
    for module, url in (("redis", "redis://x"), ("psycopg", "postgresql://x/y")):
        content = as_toml({**SHARED, "share": url}, (OF_HOST, {}))
        with case(module), monkeypatch.context() as patch:
            for name in [*sys.modules]:
                if name.partition(".")[0] == module:
                    patch.delitem(sys.modules, name)
            patch.setitem(sys.modules, module, None)
            ran = mcp_gen("gateway", str(write_file(tmp_path, content)), "--dry-run")
            assert ran.code == 2 and "error[missing-package]" in ran.err and module in ran.err
