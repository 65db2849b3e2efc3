"""Skills between our stubs and those of others: listed, got, read and verified."""

import json
from asyncio import create_subprocess_exec
from asyncio.subprocess import PIPE
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import REVISIONS, connect, http_app, read_skill, stdio_client
from support.conformance.everything_client import Everything as Client
from support.conformance.everything_server import Everything as Server
from support.http.serving import run_app
from support.peers.places import node_modules, python_with
from support.revisions import STATELESS
from support.skills.folders import skill, write_files

PROGRAMS = Path(__file__).parent / "programs"
GREETING = "skill://greeting"

pytestmark = pytest.mark.long


async def client_output(*command: str | Path) -> Any:
    """Run a foreign client with the URL of our server; return its output."""
    async with run_app(http_app(Server(), revisions=REVISIONS)) as port:
        url = f"http://127.0.0.1:{port}/mcp"
        process = await create_subprocess_exec(*command, url, stdout=PIPE, stderr=PIPE)
        said, failed = await process.communicate()
    assert process.returncode == 0, failed.decode()
    return json.loads(said)


FILES = {
    entry["uri"]: [file["uri"] for file in entry["resources"]] for entry in Server.skills.entries
}


async def test_the_typescript_sdk_verifies_every_file_of_ours() -> None:
    seen = await client_output("node", PROGRAMS / "skills_client.mjs", node_modules())
    directory = [f"{GREETING}/SKILL.md", f"{GREETING}/references"]
    assert seen == {"version": STATELESS, "files": FILES, "directory": directory}


async def test_fastmcp_finds_every_file_of_ours() -> None:
    seen = await client_output(python_with("mcp-2"), PROGRAMS / "fastmcp_skills.py", "client")
    assert seen == {"version": STATELESS, "files": FILES}


async def test_we_verify_every_file_of_fastmcp(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "git-workflow/SKILL.md": skill("git-workflow", "license: MIT\n"),
        "git-workflow/logo.png": b"\x89PNG\xff",
        "notes/SKILL.md": skill("notes"),
    }
    program = PROGRAMS / "fastmcp_skills.py"
    command = [python_with("mcp-2"), program, "server", write_files(tmp_path, files)]
    async with connect(stdio_client([str(part) for part in command]), Client()) as client:
        read = [
            await read_skill(client, directory, file.uri)
            async for directory in client.iter_skills()
            for file in directory.resources
            if not isinstance(file, str)
        ]
    assert all(file.verified for file in read)
    assert {file.uri.removeprefix("skill://"): file.data for file in read} == {
        path: content.encode() if isinstance(content, str) else content
        for path, content in files.items()
    }
