"""The gateway of the page does what the page says, as processes and over HTTP."""

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
import yaml
from support.docs.pages import beside_package, block_texts, indented_block
from support.patience import PATIENCE
from support.peers.http_peers import Served, serve_command
from support.programs import run_program

PAGE: Final = "first-gateway.md"
GREETER, TABLES = block_texts(PAGE)
FILE, HOST = block_texts(PAGE, "json")
(TOML,) = block_texts(PAGE, "toml")
SERVICES: Final[dict[str, Any]] = yaml.safe_load(block_texts(PAGE, "yaml")[0])["services"]
UPSTREAM: Final = SERVICES.keys() - {"gateway"}
PATH: Final = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
EVERYWHERE: Final = "0.0.0.0:8000"


@pytest.fixture(scope="module")
def page_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the servers of the page, their file, and the package."""
    # On a busy machine, Python starts too slowly for the usual list_timeout.
    file = json.dumps({**json.loads(FILE), "x-gateway": {"list_timeout": PATIENCE}})
    files = {"greeter.py": GREETER, "tables.py": TABLES, "mcp.json": file}
    return beside_package(tmp_path_factory.mktemp("gateway"), files)


@pytest.fixture(autouse=True)
def folder(page_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with the commands of the page on `PATH`."""
    monkeypatch.chdir(page_folder)
    monkeypatch.setenv("PATH", PATH)
    return page_folder


def run_command(*words: str) -> str:
    output = run_program(*words)
    return output.rstrip()


def test_check_ends_with_what_the_page_shows() -> None:
    shown = indented_block(PAGE, "tables: tables 0")
    assert run_command("mcp-gen", "gateway", "mcp.json", "--check").endswith(shown.rstrip())
    assert "tables_NAME" in run_command("mcp-gen", "gateway", "mcp.json", "--dry-run")


def test_clients_of_either_era_reach_both_servers() -> None:
    shown = indented_block(PAGE, "$ mcp-gen call").removeprefix("$ ").split("\n$ ")
    assert len(shown) == 2
    for command, _, output in (lines.partition("\n") for lines in shown):
        assert run_command(*shlex.split(command)) == output.rstrip()


def test_the_gateway_is_one_server_of_a_host(folder: Path) -> None:
    (folder / "host.json").write_text(HOST.replace("/path/to", str(folder)))
    (name,) = json.loads(HOST)["mcpServers"]
    called = run_command("mcp-gen", "call", "--config", "host.json", name, "greeter_greet")
    assert called == "Hello, world."


async def test_the_gateway_serves_http() -> None:
    async with serve_command("mcp-gen", "gateway", "mcp.json", "--http", "PORT") as served:
        url = f"http://127.0.0.1:{served.port}/mcp"
        called = await asyncio.to_thread(run_command, "mcp-gen", "call", url, "greeter_greet")
        assert called == "Hello, world."
        async with httpx2.AsyncClient() as http:
            for path in ("/health", "/ready"):
                assert (await http.get(url.replace("/mcp", path))).status_code == 200


async def serve_service(stack: AsyncExitStack, name: str) -> Served:
    """Start the command of a service on this machine."""
    words = shlex.split(SERVICES[name]["command"])
    assert EVERYWHERE in words
    here = {EVERYWHERE: "PORT", **dict.fromkeys(UPSTREAM, "127.0.0.1")}
    command = (here.get(word, word) for word in words)
    return await stack.enter_async_context(serve_command(*command))


async def test_the_containers_are_healthy_and_ask_clients_for_tokens(folder: Path) -> None:
    toml, (_, *health) = TOML, SERVICES["gateway"]["healthcheck"]["test"]
    async with AsyncExitStack() as stack:
        for name in UPSTREAM:
            port = (await serve_service(stack, name)).port
            toml = toml.replace(f"//{name}:8000", f"//127.0.0.1:{port}")
        assert len(re.findall(r"//127\.0\.0\.1:", toml)) == 2
        (folder / "gateway.toml").write_text(toml)
        port = (await serve_service(stack, "gateway")).port
        local = [word.replace(":8000", f":{port}") for word in health]
        async with asyncio.timeout(PATIENCE):
            while await asyncio.to_thread(subprocess.call, local, stderr=subprocess.DEVNULL):
                await asyncio.sleep(0.1)
        fields = {"host": "mcp.example.com", "accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(headers=fields) as http:
            answer = await http.post(f"http://127.0.0.1:{port}/mcp", json={})
        assert answer.status_code == 401
        assert "https://mcp.example.com/" in answer.headers["www-authenticate"]
