"""Files of a gateway that change while it serves."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from logging import INFO, getLogger
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import ProblemError
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.reload import GatewayFile, Reloading
from support.gateway.files import write_file
from support.gateway.gateways import (
    GATEWAY,
    behind,
    client_at,
    gateway_settings,
    http_side,
    serve_gateway,
    write_config,
)
from support.gateway.listing import Listing, tools_of
from support.peers.http_peers import serve_command
from support.peers.places import Command
from support.revisions import ERAS, OLD
from support.running import Run
from support.sessions.talking import pkg
from support.sessions.wiretap import until
from support.tables import case
from support.toolkit.mounting import Hearing, text_of

HTTP = http_side()


def gateway_of(file: GatewayFile) -> Gateway:
    return Gateway(file.settings, pkg)


def test_only_servers_whose_addresses_differ_are_changed(tmp_path: Path) -> None:
    program: Any = {"command": "a", "args": ["b"], "env": {"A": "1"}, "envFile": ".env"}
    address: Any = {"url": "https://a.example/mcp", "headers": {"X": "1"}}
    token: Any = {"url": "https://b.example/mcp", "x-gateway": {"auth": "bearer:${file:token}"}}
    files = {".env": "B=1", "token": "secret"}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    servers = {"p": program, "u": address, "t": token}
    source = GatewayFile(write_config(tmp_path, servers), None, telemetry=False)
    gateway = gateway_of(source)
    reload = Reloading(gateway, source, watches=False).reload

    def changed_by(change: Callable[[], object]) -> set[str]:
        before = gateway.upstreams
        change()
        reload()
        assert gateway.last_reload.problems == ()
        return {name for name in servers if gateway.upstreams[name] is not before[name]}

    def write(**changes: Any) -> None:
        write_config(tmp_path, {**servers, **changes})

    asyncio.run(_check_changes(changed_by, write, program, address, tmp_path))


async def _check_changes(
    changed_by: Callable[[Callable[[], object]], set[str]],
    write: Callable[..., None],
    program: Any,
    address: Any,
    folder: Path,
) -> None:
    assert changed_by(lambda: None) == set()
    changes: list[tuple[str, Any]] = [
        ("p", program | {"args": ["c"]}),
        ("p", program | {"env": {"A": "2"}}),
        ("p", program | {"cwd": "/"}),
        ("p", program | {"x-gateway": {"timeout": 5}}),
        ("u", address | {"url": "https://a.example/other"}),
        ("u", address | {"headers": {"X": "2"}}),
        ("u", address | {"x-gateway": {"deny": {"tools": ["x"]}}}),
    ]
    for name, entry in changes:
        with case((name, entry)):
            assert changed_by(partial(write, **{name: entry})) == {name}
            assert changed_by(write) == {name}
    assert changed_by(lambda: (folder / ".env").write_text("B=2")) == {"p"}
    assert changed_by(lambda: (folder / "token").write_text("another")) == {"t"}


def test_file_with_problems_changes_nothing_and_all_are_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    good: Any = {"servers": {"a": {"command": "a"}}, "gateway": {"name": "team"}}
    source = GatewayFile(write_file(tmp_path, good), None, telemetry=True)
    gateway = gateway_of(source)
    reload = Reloading(gateway, source, watches=False).reload
    settings, upstreams, first = gateway.settings, gateway.upstreams, gateway.last_reload
    assert first.problems == ()
    bad = {**good, "servers": {"a": {"command": 1}, "b": {"command": "b", "timeout": -1}}}
    write_file(tmp_path, bad)
    reload()
    assert (gateway.settings, gateway.upstreams) == (settings, upstreams)
    refused = gateway.last_reload
    assert refused.at >= first.at
    assert [problem.pointer for problem in refused.problems] == [
        "servers.a.command",
        "servers.b.timeout",
    ]
    *lines, last = (record.getMessage() for record in caplog.records)
    for problem, line in zip(refused.problems, lines, strict=True):
        assert problem.where in line and problem.message in line and problem.hint in line
    assert last.endswith("was not applied; nothing has changed")
    (tmp_path / "gateway.toml").unlink()
    reload()
    assert [problem.code for problem in gateway.last_reload.problems] == ["bad-gateway-config"]
    write_file(tmp_path, {**good, "servers": {"a": {"command": "a"}, "b": {"command": "b"}}})
    asyncio.run(_reload(reload))
    assert [*gateway.upstreams] == ["a", "b"] and gateway.upstreams["a"] is upstreams["a"]
    assert (gateway.last_reload.problems, gateway.settings.telemetry) == ((), True)


async def _reload(reload: Callable[[], None]) -> None:
    reload()


def test_login_of_one_user_is_not_shared_by_a_reload(tmp_path: Path) -> None:
    auth = {"issuer": "https://login.example", "audience": "https://mcp.example"}
    address = {"url": "https://a.example/mcp"}
    own = {"x-gateway": {"auth": "oauth"}}
    file = write_config(tmp_path, {"a": address}, {"auth": auth})
    source = GatewayFile(file, HTTP, telemetry=False)
    before = source.settings
    write_config(tmp_path, {"a": {**address, **own}})
    with pytest.raises(ProblemError, match="the gateway may have several"):
        source.read()
    assert source.settings is before


def test_log_hides_secrets_of_earlier_files(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("first-secret")
    server = {"url": "https://a.example/mcp", "headers": {"X": "${file:key}"}}
    source = GatewayFile(write_config(tmp_path, {"a": server}), None, telemetry=False)
    (tmp_path / "key").write_text("first-secret-and-more")
    source.read()
    hidden = source.hide("first-secret first-secret-and-more")
    assert hidden == "${file:key} ${file:key}"


def test_files_that_a_file_names_are_watched_also_while_one_is_missing(tmp_path: Path) -> None:
    config, inner = tmp_path / "config", tmp_path / "inner"
    config.mkdir()
    inner.mkdir()
    server = {"command": "a", "envFile": "../inner/.env", "env": {"A": "${file:../inner/key}"}}
    for name in (".env", "key"):
        (inner / name).write_text("A=1")
    source = GatewayFile(write_config(config, {"a": server}), None, telemetry=False)
    for file in (inner / ".env", inner / "key", config / "mcp.json"):
        with case(file.name):
            text = file.read_text()
            assert not source.has_changed
            file.unlink()
            assert source.has_changed
            with pytest.raises(ProblemError):
                source.read()
            assert not source.has_changed
            assert {folder.resolve() for folder in source.folders} == {config, inner}
            file.write_text(text)
            assert source.has_changed
            source.read()


def test_watching_needs_its_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = GatewayFile(write_config(tmp_path, {"a": {"command": "a"}}), None, telemetry=False)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ProblemError) as raised:
        Reloading(gateway_of(source), source, watches=True)
    (problem,) = raised.value.problems
    assert problem.code == "missing-package" and "extra watch" in problem.hint


def test_watcher_does_not_log_that_a_log_beside_the_file_has_grown(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(INFO)
    source = GatewayFile(write_config(tmp_path, numbering(tmp_path)), None, telemetry=False)
    Reloading(gateway_of(source), source, watches=True)
    assert not getLogger("watchfiles.main").isEnabledFor(INFO)


def test_watching_is_for_a_gateway_that_serves(tmp_path: Path, mcp_gen: Run) -> None:
    file = write_config(tmp_path, {"a": {"command": "a"}})
    for option in ("--dry-run", "--check"):
        with case(option):
            ran = mcp_gen("gateway", str(file), option, "--watch")
            assert ran.code == 2 and "--watch is for a gateway that serves" in ran.err


async def test_clients_over_http_hear_of_changes_and_keep_unchanged_servers() -> None:
    for revision in ERAS:
        with case(revision):
            kept, left, new = Listing("x"), Listing(), Listing()
            servers = behind("k", kept), behind("a", left)
            gateway, hearing = Gateway(gateway_settings(*servers), pkg), Hearing(revision)
            async with (
                serve_gateway(gateway) as site,
                pkg.connect_http(site.url, hearing.client) as one,
                hearing.hearing("data://a/x"),
            ):
                assert await tools_of(one) == ["k_x"]
                opened = kept.opened
                moved = behind("a", new, opener_digest="moved")
                gateway.apply(gateway_settings(servers[0], moved))
                expected = {"tool", "prompt", "resource", "data://a/x"}
                await until(partial(expected.issubset, hearing.heard))
                await text_of(one, "k_x")
                assert (kept.opened, left.open, new.named) == (opened, 0, ["data://x"])


PROGRAM = """
import os
from mcp_revisions import v2025_11_25 as mcp

app = mcp.App("process")

@app.tool
async def number() -> str:
    return str(os.getpid())

app.run()
"""


async def check_reloads(
    address: str | Command, folder: Path, servers: Any, reload: Callable[[str], Awaitable[None]]
) -> None:
    """Add a server to the file, and break the file; an unchanged server keeps its process."""
    hearing = Hearing(OLD)
    async with client_at(address, hearing.client) as one:
        number = await text_of(one, "a_number")
        write_config(folder, {**servers, "b": servers["a"]})
        await reload("b is new")
        await hearing.hears("tool", "prompt", "resource")
        assert await tools_of(one) == ["a_number", "b_number"]
        assert await text_of(one, "a_number") == number != await text_of(one, "b_number")
        (folder / "mcp.json").write_text("{")
        await reload("nothing has changed")
        assert await text_of(one, "a_number") == number
        write_config(folder, {"b": servers["a"]})
        await reload("a has left")
        await hearing.hears("tool", "prompt", "resource")
        assert await tools_of(one) == ["b_number"]


def numbering(folder: Path) -> Any:
    (folder / "number.py").write_text(PROGRAM)
    return {"a": {"command": sys.executable, "args": [str(folder / "number.py")]}}


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGHUP")
async def test_signal_reloads_a_gateway_over_http(tmp_path: Path) -> None:
    servers = numbering(tmp_path)
    config = write_config(tmp_path, servers)
    options = ("--http", "PORT", "--log-level", "info")
    async with serve_command(*GATEWAY, config, *options) as served:

        async def hang_up(wrote: str) -> None:
            os.kill(served.processes[0].pid, signal.SIGHUP)
            await served.wrote(wrote)

        await check_reloads(f"http://127.0.0.1:{served.port}/mcp", tmp_path, servers, hang_up)


@pytest.mark.long
async def test_watching_gateway_over_stdio_reads_its_file_again(tmp_path: Path) -> None:
    servers = numbering(tmp_path)
    command = (*GATEWAY, write_config(tmp_path, servers), "--watch")

    async def wait(_: str) -> None:
        """The gateway sees it by itself."""

    await check_reloads(command, tmp_path, servers, wait)
