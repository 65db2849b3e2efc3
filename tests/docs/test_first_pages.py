"""The first server and the first client run as their pages say, and the hosts' settings work."""

import asyncio
import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import connect
from mcp_revisions import v2025_11_25 as mcp
from support.docs.pages import beside_package, block_texts, page, run
from support.folders import ROOT
from support.http.serving import run_app
from support.programs import run_program
from support.sessions.talking import pkg
from support.tables import case

SERVER, TRY_IT = block_texts("first-server.md")
CLIENT, GREETER = block_texts("first-client.md")
(PRINTED,) = block_texts("first-client.md", "text")
START, _ = block_texts("README.md")
PYTHON, FILE, URL = "/path/to/.venv/bin/python", "/path/to/server.py", "http://127.0.0.1:8000/mcp"
NOTES = {"command": PYTHON, "args": [FILE]}
STDIO_ONLY = {"Claude Desktop", "JetBrains AI Assistant"}
"""Hosts whose documentation has no servers over HTTP in a file."""
HTTP_TOO = {"notes": NOTES, "notes-http": {"type": "http", "url": URL}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs of both pages, and the package."""
    files = {
        "server.py": SERVER,
        "try_it.py": TRY_IT,
        "client.py": CLIENT,
        "greeter.py": GREETER,
        "start.py": START,
    }
    return beside_package(tmp_path_factory.mktemp("first"), files)


def run_command(folder: Path, *command: str) -> str:
    return run_program(sys.executable, *command, cwd=folder)


def test_the_programs_print_what_the_pages_say(folder: Path) -> None:
    last = run_command(folder, "try_it.py").splitlines()[-1]
    assert f"the last line is `{last}`" in page("first-server.md")
    assert run_command(folder, "client.py", "greeter.py") == PRINTED
    assert run_command(folder, "client.py", "start.py") == PRINTED


def hosts() -> dict[str, tuple[str, str]]:
    """Return the members for servers and for a URL of each host in the table."""
    cell = r"[^|]*"
    rows = re.findall(
        rf"^\| \[({cell})\]\({cell} \|{cell}\| `(\w+)` \| (`\w+`)?{cell} \|$",
        page("first-server.md"),
        re.MULTILINE,
    )
    return {host: (servers, url.strip("`")) for host, servers, url in rows}


async def test_hosts_reach_the_server_by_their_files(folder: Path) -> None:
    (text,), (toml,) = block_texts("first-server.md", "json"), block_texts(
        "first-server.md", "toml"
    )
    assert json.loads(text) == {"mcpServers": HTTP_TOO}
    assert tomllib.loads(toml) == {"mcp_servers": {"notes": NOTES, "notes-http": {"url": URL}}}
    told = hosts()
    assert len(told) == 9
    assert {host for host, (_, url) in told.items() if not url} == STDIO_ONLY
    async with run_app(run(SERVER)["app"].http()) as port:
        places = {PYTHON: sys.executable, FILE: str(folder / "server.py")}
        for old, new in {**places, URL: f"http://127.0.0.1:{port}/mcp"}.items():
            text = text.replace(old, new)
        for servers, url in {(servers, url or "url") for servers, url in told.values()}:
            own = text.replace("mcpServers", servers).replace('"url"', f'"{url}"')
            (folder / "mcp.json").write_text(own)
            with case((servers, url)):
                async with pkg.connect_config(str(folder / "mcp.json")) as several:
                    kept = {"name": "milk", "text": "Buy milk."}
                    for name in ("notes", "notes-http"):
                        assert (await several[name].call_tool("write_note", kept)).text is not None
                        answer = await several[name].call_tool("read_note", {"name": "tea"})
                        assert answer.text == "Unknown note tea. Known notes: milk."


def test_page_states_real_requirements() -> None:
    said = page("install.md")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or later" in said
    runtime = (ROOT / "codegen/mcp_protogen/runtime/pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(runtime)["project"]["optional-dependencies"]
    for requirement in (requirement for wanted in extras.values() for requirement in wanted):
        assert requirement.partition(">")[0] in said
    # This sentence changes when a registry has it.
    assert "It is not in any package registry yet" in said


async def test_a_note_is_read_by_its_uri() -> None:
    app = run(SERVER)["app"]
    async with connect(app, as_=mcp) as client:
        await client.call_tool("write_note", {"name": "milk", "text": "Buy milk."})
        read: Any = await client.read_resource("notes://milk")
        assert read.contents[0].text == "Buy milk."
        assert [prompt.name async for prompt in client.iter_prompts()] == ["tidy"]


@pytest.mark.long
def test_a_client_finds_the_revision_of_the_servers_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again, server = block_texts("negotiation.md")
    monkeypatch.chdir(beside_package(tmp_path, {"server.py": server}))
    asyncio.run(run(first)["main"]())
    asyncio.run(run(again)["again"]())
    said = capsys.readouterr().out.splitlines()
    assert [line.partition(" ")[0] for line in said] == ["2026-07-28", "2025-11-25"]
