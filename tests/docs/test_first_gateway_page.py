"""The gateway of the page does what the page says, as processes and over HTTP."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import httpx2
import pytest
from support.docs.pages import beside_package, block_texts, indented_block
from support.peers.http_peers import serve_command

PAGE: Final = "first-gateway.md"
GREETER, TABLES = block_texts(PAGE)
FILE, HOST = block_texts(PAGE, "json")
PATH: Final = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the servers of the page, their file, and the package."""
    files = {"greeter.py": GREETER, "tables.py": TABLES, "mcp.json": FILE}
    return beside_package(tmp_path_factory.mktemp("gateway"), files)


def shown_commands(begin: str) -> list[tuple[str, str]]:
    """The commands of a block with their output."""
    found = indented_block(PAGE, begin).removeprefix("$ ").split("\n$ ")
    return [
        (command, output.rstrip()) for command, _, output in (one.partition("\n") for one in found)
    ]


def run_command(command: str, folder: Path) -> str:
    done = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={**os.environ, "PATH": PATH},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.rstrip()


def test_clients_of_either_era_reach_both_servers(folder: Path) -> None:
    shown = shown_commands('$ mcp-gen call "mcp-gen gateway')
    assert len(shown) == 2
    for command, output in shown:
        assert run_command(command, folder) == output


def test_the_gateway_is_one_server_of_a_host(folder: Path) -> None:
    config = folder / "host.json"
    config.write_text(HOST.replace("/path/to", str(folder)))
    (name,) = json.loads(HOST)["mcpServers"]
    command = f"mcp-gen call --config {config} {name} greeter_greet"
    assert run_command(command, folder) == "Hello, world."


async def test_the_gateway_serves_http_and_its_health(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PATH", PATH)
    ((command, output),) = shown_commands("$ mcp-gen call http")
    async with serve_command("mcp-gen", "gateway", "mcp.json", "--http", "PORT") as served:
        local = command.replace(":8000", f":{served.port}")
        assert await asyncio.to_thread(run_command, local, folder) == output
        async with httpx2.AsyncClient() as http:
            for path in ("health", "ready"):
                answer = await http.get(f"http://127.0.0.1:{served.port}/{path}")
                assert answer.status_code == 200
