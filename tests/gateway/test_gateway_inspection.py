"""`mcp-gen inspect` of a gateway: it keeps the rules of every revision, whatever is behind it."""

import asyncio
import json
import shlex
import sys
from pathlib import Path

import pytest
from support import tables
from support.gateway.gateways import GATEWAY, odd_program, write_config
from support.json_types import JsonObject
from support.peers.http_peers import serve_command
from support.revisions import ERAS, REVISIONS

SERVERS = {
    f"{kind}{number}": (kind, revision)
    for kind in ("well", "bare")
    for number, revision in enumerate(ERAS)
}

pytestmark = pytest.mark.long


async def inspect(server: str) -> JsonObject:
    """Return the report of an inspection."""
    command = (sys.executable, "-m", "mcp_protogen", "inspect", server, "--call-read-only")
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command, "--format", "json", stdout=pipe, stderr=pipe
    )
    out, errors = await process.communicate()
    assert process.returncode in (0, 1), errors.decode()
    report: JsonObject = json.loads(out)
    return report


@pytest.mark.sampled(1)
@pytest.mark.parametrize("form", ["stdio", "http"])
async def test_inspection_of_a_gateway_finds_nothing(form: str, tmp_path: Path) -> None:
    servers = {
        name: odd_program(kind, revision)
        for name, (kind, revision) in tables.some([*SERVERS.items()], 2, "servers to inspect")
    }
    config = write_config(tmp_path, {**servers, "missing": {"command": "/nowhere/server"}})
    if form == "stdio":
        report = await inspect(shlex.join([*GATEWAY, str(config)]))
    else:
        async with serve_command(*GATEWAY, config, "--http", "PORT") as gateway:
            report = await inspect(f"http://127.0.0.1:{gateway.port}/mcp")
    assert report["findings"] == []
    spoken = {entry["revision"] for entry in report["server"]["spoken"] if entry["spoken"]}
    assert spoken == set(REVISIONS)
