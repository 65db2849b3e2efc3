"""`mcp-gen inspect` of a gateway: it keeps the rules of every revision, whatever is behind it."""

import asyncio
import json
import shlex
import sys
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import pytest
from support import tables
from support.gateway.gateways import GATEWAY, at_url, write_config
from support.gateway.odd_program import odd
from support.json_types import JsonObject
from support.peers.http_peers import serve_command
from support.revisions import ERAS, REVISIONS
from support.toolkit.mounting import only, weather

SERVERS = {
    f"{kind}{number}": (make, revision)
    for kind, make in (("weather", weather), ("tools", partial(odd, kind="well")))
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
    async with AsyncExitStack() as stack:
        servers: dict[str, JsonObject] = {"missing": {"command": "/nowhere/server"}}
        for name, (make, revision) in tables.some([*SERVERS.items()], 2, "servers to inspect"):
            # A process would start for each session.
            servers[name] = await stack.enter_async_context(at_url(only(make(revision))))
        command = (*GATEWAY, str(write_config(tmp_path, servers)))
        if form == "stdio":
            report = await inspect(shlex.join(command))
        else:
            gateway = serve_command(*command, "--http", "PORT")
            port = (await stack.enter_async_context(gateway)).port
            report = await inspect(f"http://127.0.0.1:{port}/mcp")
    assert report["findings"] == []
    spoken = {entry["revision"] for entry in report["server"]["spoken"] if entry["spoken"]}
    assert spoken == set(REVISIONS)
