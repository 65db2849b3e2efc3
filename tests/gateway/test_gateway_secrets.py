"""Secrets of a gateway's servers go to these servers, and into no output."""

import json
import logging
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.servers.bridge.logs import begin_log
from mcp_protogen.servers.gateway.config import read_settings
from mcp_protogen.servers.gateway.gateway import Gateway
from mcp_protogen.servers.gateway.settings.settings import GatewaySettings
from mcp_protogen.servers.gateway.status import status_of
from support.auth.guarding import allowing, telling
from support.gateway.files import Json, write_file
from support.gateway.watching import ADMIN, scrape
from support.http.serving import run_app, serving, text_in
from support.revisions import ERAS, OLD
from support.running import Run
from support.sessions.talking import pkg
from support.tables import case
from support.toolkit.mounting import app

SECRET = "s3cret"
VARIABLES = {"TOKEN": f"{SECRET}-token", "KEY": f"{SECRET}-key", "ID": f"{SECRET}-id"}

# Programs that fail, and URLs where nothing listens or that are refused.
GONE = "http://127.0.0.1:9"
SERVERS: Json = {
    "arguments": {"command": "no-such-program", "args": [f"--key={SECRET}", "--token", "${TOKEN}"]},
    "launched": {"command": "npx-missing", "args": ["-y", "pkg", f"--key={SECRET}"]},
    "environment": {
        "command": sys.executable,
        "args": ["-c", "import sys; sys.exit('failed')"],
        "env": {"KEY": SECRET, "TOKEN": "${TOKEN}", "FILE": "${file:secret}"},
        "envFile": "secrets.env",
    },
    "user": {"url": f"http://ada:{SECRET}@127.0.0.1:9/mcp?key={SECRET}#{SECRET}"},
    "variables": {"url": f"{GONE}/${{KEY}}/mcp?key=${{file:secret}}&id=${{ID}}"},
    "default": {"url": f"{GONE}/mcp/${{NOT_SET:-{SECRET}-default}}"},
    "headers": {"url": f"{GONE}/mcp", "headers": {"Authorization": f"Bearer {SECRET}"}},
    "from a file": {"url": f"{GONE}/mcp", "headers": {"X-Key": "${file:secret}"}, "prefix": "file"},
    "bearer": {"url": f"{GONE}/mcp", "auth": "bearer:TOKEN"},
    "program": {"url": f"{GONE}/mcp", "auth": "client-credentials:ID,${file:secret}"},
}
WRONG: Json = {
    "literal": {"url": f"{GONE}/mcp", "auth": f"{SECRET}-token"},
    "literal bearer": {"url": f"{GONE}/mcp", "auth": f"bearer:{SECRET}-token", "prefix": "a"},
    "scheme": {"url": f"ftp://ada:{SECRET}@x/${{KEY}}?key={SECRET}"},
    "types": {"url": f"{GONE}/mcp", "headers": [SECRET], "timeout": SECRET, "env": SECRET},
    "values": {"command": "x", "rename": {"a": f"{SECRET} b"}, "questions": [SECRET]},
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files of secrets, and an environment with others."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "secret").write_text(f"{SECRET}-file\n")
    (tmp_path / "secrets.env").write_text(f"OTHER={SECRET}-env\n")
    return tmp_path


def write_servers(folder: Path, servers: Json) -> Path:
    return write_file(folder, {"gateway": {}, "servers": servers})


def test_no_output_has_a_secret(mcp_gen: Run, folder: Path) -> None:
    file = str(write_servers(folder, SERVERS))
    runs = {"plan": ("--dry-run",), "check": ("--check",)}
    for name, options in runs.items():
        for format in ("text", "json"):
            with case(f"{name} {format}"):
                ran = mcp_gen("gateway", file, *options, "--format", format)
                assert ran.code == (0 if name == "plan" else 1)
                assert all(server in ran.out for server in SERVERS)
                assert SECRET not in ran.out + ran.err


def test_no_problem_has_a_secret(mcp_gen: Run, folder: Path) -> None:
    for name, server in WRONG.items():
        with case(name):
            ran = mcp_gen("gateway", str(write_servers(folder, {name: server})), "--dry-run")
            assert (ran.code, ran.out) == (2, "")
            assert "error[bad-gateway-config]" in ran.err and SECRET not in ran.err


def test_settings_show_no_secret(folder: Path) -> None:
    settings = read_settings(write_servers(folder, SERVERS))
    assert len(settings.servers) == len(SERVERS) and SECRET not in repr(settings)
    assert settings.hide(f"at {SECRET}-key and {SECRET}-file") == "at ${KEY} and ${file:secret}"


async def test_log_of_a_server_that_is_gone_has_no_secret(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = read_settings(write_servers(folder, SERVERS))
    root = logging.getLogger()
    before, level = root.handlers[:], root.level
    for format in ("text", "json"):
        with case(format):
            begin_log("debug", "json" if format == "json" else "text", settings.hide)
            try:
                *_, front = Gateway(settings, pkg).fronts
                async with pkg.connect(front) as client:
                    assert [tool async for tool in client.iter_tools()] == []
            finally:
                root.handlers[:] = before
                root.setLevel(level)
            logged = capsys.readouterr().err
            assert "${KEY}" in logged and SECRET not in logged


async def test_no_page_of_the_admin_address_has_a_secret(folder: Path) -> None:
    settings = replace(read_settings(write_servers(folder, SERVERS)), admin=ADMIN)
    gateway = Gateway(settings, pkg)
    *_, front = gateway.fronts
    async with pkg.connect(front) as client:
        assert [tool async for tool in client.iter_tools()] == []
    status = status_of(gateway)
    assert all(server["failure"]["text"] for server in status["servers"])
    text = json.dumps(status) + await scrape(gateway)
    assert "${KEY}" in text and SECRET not in text


def test_credentials_are_named_in_the_settings(folder: Path) -> None:
    settings = read_settings(write_servers(folder, SERVERS))
    found = {server.name: server.auth for server in settings.servers}
    assert (found["bearer"], found["program"]) == ("bearer", "client-credentials")
    assert {kind for name, kind in found.items() if name not in ("bearer", "program")} == {"none"}


@pytest.mark.shows("TK-05")
async def test_server_gets_its_own_token_and_no_token_of_a_client(folder: Path) -> None:
    seen: list[str | None] = []
    for own in ERAS:
        below = app(own, "below")

        async def tell(session: Any) -> str:
            seen.append(session.http_request.headers.get("authorization"))
            return "told"

        tell.__annotations__["session"] = pkg.load(own).Session
        below.add_tool(tell)
        async with run_app(below.http()) as port:
            url = f"http://127.0.0.1:{port}/mcp"
            servers: Json = {
                "bearer": {"url": url, "auth": "bearer:TOKEN"},
                "header": {"url": url, "headers": {"Authorization": "Bearer ${KEY}"}},
                "none": {"url": url},
            }
            settings: GatewaySettings = read_settings(write_servers(folder, servers))
            guard = telling(scopes={"read"})
            async with serving(Gateway(settings, pkg).fronts, authentication=guard) as site:
                session = await site.initialize(OLD, allowing("read"))
                for name in servers:
                    answers = (
                        await session.call(f"{name}_tell"),
                        await site.modern(
                            "tools/call", name=f"{name}_tell", headers=allowing("read")
                        ),
                    )
                    with case((own, name)):
                        assert [text_in(answer) for answer in answers] == ["told", "told"]
    tokens = (f"Bearer {SECRET}-token", f"Bearer {SECRET}-key", None)
    assert seen == [token for token in tokens for _ in range(2)] * len(ERAS)
