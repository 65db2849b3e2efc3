"""The admin address of a gateway: health, readiness, status and metrics, for reading only."""

import asyncio
import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.runtime.testing import in_memory
from mcp_protogen.servers.bridge.http_side import Address
from mcp_protogen.servers.gateway.admin import AdminApp
from support import formats
from support.coroutines import until
from support.gateway.files import read
from support.gateway.gateways import (
    GATEWAY,
    behind,
    client_of,
    gateway_settings,
    serve_gateway,
    write_config,
)
from support.gateway.watching import admin_of, samples, status_by_name, watched_gateway
from support.http.serving import calling, run_own_app, serving
from support.patience import PATIENCE
from support.ports import free_port
from support.revisions import ERAS, OLD, STATELESS
from support.running import Run
from support.sessions.talking import client, hello, pkg
from support.tables import case
from support.toolkit.mounting import only, text_of, weather

PATHS = ("/health", "/ready", "/status", "/metrics")


async def test_pages_are_read_and_nothing_else() -> None:
    gateway = watched_gateway(behind("a", in_memory(only(weather(OLD)))))
    async with admin_of(gateway) as site:
        for path in PATHS:
            with case(path):
                page = await site.http.get(path)
                assert page.status_code == 200 and page.headers["cache-control"] == "no-store"
                head = await site.http.head(path)
                assert (head.status_code, head.content) == (200, b"")
                assert head.headers["content-length"] == str(len(page.content))
                refused = await site.http.post(path)
                assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD")
        for method in ("PUT", "PATCH", "DELETE", "OPTIONS"):
            with case(method):
                assert (await site.http.request(method, "/status")).status_code == 405
        for path in ("/", "/mcp", "/metrics/", "/status/a"):
            with case(path):
                assert (await site.http.get(path)).status_code == 404
        assert (await site.http.get("/metrics")).headers["content-type"].startswith("text/plain;")


async def test_names_of_other_hosts_are_refused_unless_the_file_allows_them() -> None:
    for hosts, allowed, refused in (
        ((), ("localhost", "127.0.0.1:1", "[::1]"), ("gateway", "evil.example:9464")),
        (("gateway",), ("gateway", "gateway:9464"), ("localhost", "127.0.0.1")),
        (("*",), ("gateway", "localhost"), ()),
    ):
        with case(hosts):
            gateway = watched_gateway(behind("a"), admin_hosts=frozenset(hosts))
            async with admin_of(gateway) as site:
                for path in ("/health", "/metrics"):
                    for status, names in ((200, allowed), (421, refused)):
                        for name in names:
                            page = await site.http.get(path, headers={"host": name})
                            assert page.status_code == status
    async with admin_of(watched_gateway(behind("a"))) as site:
        page = await site.http.get("/status", headers={"origin": "https://evil.example"})
        assert page.status_code == 403


async def test_status_has_the_state_of_each_server_as_its_format_says() -> None:
    gateway = watched_gateway(behind("a", in_memory(only(weather(OLD)))), behind("gone"))
    async with admin_of(gateway) as site, client_of(gateway.fronts) as one:
        await one.list_tools()
        page = await site.http.get("/status")
    assert formats.faults("gateway-status", page.text) == []
    document = page.json()
    first, gone = document["servers"]
    assert (first["state"], first["connections"], first["items"]) == ("up", {OLD: 1}, {"tools": 3})
    assert first["since"] and first["failure"] is None
    assert (gone["state"], gone["connections"], gone["items"]) == ("down", {}, {})
    assert gone["failure"]["reason"] == "unreachable"
    assert gone["failure"]["text"] == "nothing runs there"


async def test_server_is_unknown_until_it_is_used() -> None:
    gateway = watched_gateway(behind("a", in_memory(only(weather(OLD)))))
    server = status_by_name(gateway)["a"]
    assert (server["state"], server["since"], server["failure"]) == ("unknown", None, None)
    async with client_of(gateway.fronts):
        pass
    assert status_by_name(gateway)["a"]["state"] == "unknown"


async def test_state_follows_the_attempts_to_connect() -> None:
    door, is_open = in_memory(only(weather(OLD))), False

    async def open_sometimes() -> Any:
        if not is_open:
            raise pkg.Disconnected("closed for now")
        return await door()

    for spoken in ERAS:
        with case(spoken):
            gateway = watched_gateway(behind("a", open_sometimes))
            async with client_of(gateway.fronts, client(spoken)) as one:
                for is_open in (False, True):
                    since = set[str]()
                    for _ in range(2):
                        try:
                            await text_of(one, "a_forecast", place="Rome")
                        except pkg.McpError:
                            assert not is_open
                        server = status_by_name(gateway)["a"]
                        assert server["state"] == ("up" if is_open else "down")
                        since.add(server["since"])
                    assert len(since) == 1
            failure = status_by_name(gateway)["a"]["failure"]
            assert (failure["reason"], failure["text"]) == ("unreachable", "closed for now")


@pytest.mark.skips_time
async def test_server_that_does_not_open_in_time_is_down() -> None:
    async def open_never() -> Any:
        await asyncio.Event().wait()

    gateway = watched_gateway(behind("a", open_never))
    async with client_of(gateway.fronts) as one:
        with pytest.raises(pkg.McpError):
            await text_of(one, "a_forecast", place="Rome")
        server = status_by_name(gateway)["a"]
        assert (server["state"], server["failure"]["reason"]) == ("down", "timeout")


async def test_client_that_leaves_while_a_server_opens_says_nothing_about_it() -> None:
    asked = asyncio.Event()

    async def open_never() -> Any:
        asked.set()
        await asyncio.Event().wait()

    gateway = watched_gateway(behind("a", open_never))
    async with client_of(gateway.fronts) as one:
        calling = asyncio.create_task(text_of(one, "a_forecast", place="Rome"))
        await asked.wait()
    await asyncio.wait([calling])
    assert status_by_name(gateway)["a"]["state"] == "unknown"


async def test_server_is_down_when_its_only_connection_breaks() -> None:
    door, transports = in_memory(only(weather(OLD))), list[Any]()

    async def open_and_keep() -> Any:
        transports.append(await door())
        return transports[-1]

    gateway = watched_gateway(behind("a", open_and_keep))
    async with client_of(gateway.fronts) as one, client_of(gateway.fronts) as other:
        for session in (one, other):
            await text_of(session, "a_forecast", place="Rome")
        for transport, connections, state in zip(transports, (1, 0), ("up", "down"), strict=True):
            await transport.close()
            await until(lambda: sum(gateway.upstreams["a"].health.connections.values()) < 2)
            await asyncio.sleep(0.01)
            server = status_by_name(gateway)["a"]
            assert (sum(server["connections"].values()), server["state"]) == (connections, state)
        assert status_by_name(gateway)["a"]["failure"]["reason"] == "interrupted"
        # A request opens another one.
        await text_of(one, "a_forecast", place="Rome")
        assert status_by_name(gateway)["a"]["state"] == "up"
    assert status_by_name(gateway)["a"]["state"] == "up"


async def test_server_over_http_is_down_once_requests_no_longer_reach_it() -> None:
    for spoken in ERAS:
        with case(spoken):
            async with serving(only(weather(spoken))) as upstream:
                gateway = watched_gateway(behind("a", pkg.open_http(upstream.url)))
                opened = client_of(gateway.fronts, client(spoken))
                one = await opened.__aenter__()
                await text_of(one, "a_forecast", place="Rome")
                assert status_by_name(gateway)["a"]["state"] == "up"
            with pytest.raises(pkg.McpError):
                await text_of(one, "a_forecast", place="a private place")
            server = status_by_name(gateway)["a"]
            assert server["state"] == "down" and "private" not in json.dumps(server)
            await opened.__aexit__(None, None, None)


async def test_required_servers_are_reached_without_a_client() -> None:
    gateway = watched_gateway(
        behind("a", in_memory(only(weather(OLD))), required=True), behind("gone", required=True)
    )
    readiness, app = gateway.readiness, AdminApp(gateway)
    async with readiness.reach_servers(), run_own_app(app) as port, calling(port) as site:
        await until(lambda: len(readiness.missing()) == 1)
        page = await site.http.get("/ready")
        assert (page.status_code, page.json()) == (503, {"status": "waiting for gone"})
        states = {name: server["state"] for name, server in status_by_name(gateway).items()}
        assert states == {"a": "up", "gone": "down"}
    async with admin_of(watched_gateway(behind("a"))) as site:
        assert (await site.http.get("/ready")).json() == {"status": "ready"}


def test_other_machines_may_read_only_if_the_file_names_the_host(tmp_path: Path) -> None:
    def read_admin(address: str, *hosts: str) -> Any:
        own = {"admin": address, "admin_hosts": [*hosts]}
        return read(tmp_path, {"mcpServers": {"a": {"command": "a"}}, "x-gateway": own}).admin

    for address in ("9464", "127.0.0.1:9464", "localhost:9464", "[::1]:9464"):
        assert read_admin(address).port == 9464
    for address in ("0.0.0.0:9464", "[::]:9464", "192.0.2.1:9464", "gateway:9464"):
        with case(address):
            assert str(read_admin(address, "gateway")) == address
            with pytest.raises(ProblemError) as raised:
                read_admin(address)
            (problem,) = raised.value.problems
            assert (problem.code, problem.pointer) == ("bad-gateway-config", "/x-gateway/admin")
            assert address in problem.message and "admin_hosts" in problem.hint


def test_address_that_is_taken_is_one_problem_before_anything_starts(
    mcp_gen: Run, tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        file = write_config(tmp_path, {"a": {"command": "no-such"}}, {"admin": address})
        for options in ((), ("--http", str(free_port()))):
            with case(options):
                ran = mcp_gen("gateway", str(file), *options)
                assert ran.code == 2 and ran.out == ""
                assert f"error[no-connection]: cannot listen on {address}, the admin" in ran.err


def test_missing_package_is_named_with_what_to_install(
    mcp_gen: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = str(write_config(tmp_path, {"a": {"command": "no-such"}}, {"admin": "0"}))
    for package in ("prometheus_client", "opentelemetry.metrics", "uvicorn"):
        with case(package), monkeypatch.context() as patch:
            patch.delitem(sys.modules, "mcp_protogen.servers.gateway.operating.metrics")
            patch.setitem(sys.modules, package, None)
            ran = mcp_gen("gateway", file)
            assert ran.code == 2 and "error[missing-package]" in ran.err
            assert package.partition(".")[0] in ran.err and "extra metrics" in ran.err


async def test_admin_address_is_served_beside_the_endpoint_but_not_at_it() -> None:
    admin = Address("127.0.0.1", free_port())
    settings = gateway_settings(behind("a", in_memory(only(weather(OLD)))), admin=admin)
    async with serve_gateway(settings) as site, calling(admin.port) as operator:
        async with pkg.connect_http(site.url, client(STATELESS)) as one:
            assert await text_of(one, "a_forecast", place="Rome") == "rain in Rome"
        page = await operator.http.get("/metrics")
        assert (await site.http.get("/metrics")).status_code == 404
        assert (await operator.http.post("/mcp", json=hello(OLD))).status_code == 404
    name = "mcp_server_operation_duration_seconds_count"
    found = samples(page.text, name, mcp_method_name="tools/call", network_transport="tcp")
    assert [number for _, number in found] == [1]


PROGRAM = """
from mcp_revisions import v2025_11_25 as mcp

app = mcp.App("process")

@app.tool
def say(text: str) -> str:
    return text

app.run()
"""


@pytest.mark.long
async def test_gateway_over_stdio_serves_the_admin_address_until_its_client_leaves(
    tmp_path: Path,
) -> None:
    (tmp_path / "say.py").write_text(PROGRAM)
    secret, port, pipe = "s3cret-argument", free_port(), asyncio.subprocess.PIPE
    server = {"command": sys.executable, "args": [str(tmp_path / "say.py")], "env": {"KEY": secret}}
    config = write_config(tmp_path, {"a": server}, {"admin": f"127.0.0.1:{port}"})
    process = await asyncio.create_subprocess_exec(
        *GATEWAY, str(config), stdin=pipe, stdout=pipe, stderr=pipe
    )
    assert process.stdin is not None and process.stdout is not None
    said = {"name": "a_say", "arguments": {"text": secret}}
    ask = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": said}
    done = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    try:
        async with asyncio.timeout(PATIENCE):
            for message in (hello(OLD), done, ask):
                process.stdin.write(json.dumps(message).encode() + b"\n")
            _, answer = [json.loads(await process.stdout.readline()) for _ in range(2)]
            assert answer["result"]["content"][0]["text"] == secret
            async with calling(port) as site:
                status = (await site.http.get("/status")).text
                text = (await site.http.get("/metrics")).text
                # The connection of a reader does not keep the gateway.
                process.stdin.close()
                rest, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert (process.returncode, rest) == (0, b""), errors.decode()
    assert json.loads(status)["servers"][0]["state"] == "up"
    name = "mcp_client_operation_duration_seconds_count"
    found = samples(text, name, mcp_method_name="tools/call", network_transport="pipe")
    assert [number for _, number in found] == [1]
    assert secret not in status + text
