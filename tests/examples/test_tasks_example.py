"""The programs of `examples/tasks`: a report that is ordered, and fetched after a restart."""

import asyncio
import json
import shutil
import sys
from pathlib import Path

import pytest
from mcp_revisions import connect, stdio_client
from mcp_revisions import v2026_07_28 as mcp
from mcp_revisions.v2026_07_28 import models as m
from mcp_revisions.v2026_07_28.ext.tasks import TasksClient
from support.folders import ROOT, environment
from support.generated.package_copy import copied_package
from support.peers.http_peers import serve_module

pytestmark = pytest.mark.long

EXAMPLE = ROOT / "examples" / "tasks"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the programs, the package, and nothing else."""
    made = tmp_path_factory.mktemp("reports")
    (made / "pkg").symlink_to(copied_package())
    for program in EXAMPLE.glob("*.py"):
        shutil.copy(program, made)
    return made


async def client(folder: Path, port: int, *arguments: str, given: str = "") -> str:
    """What the client of the example writes."""
    process = await asyncio.create_subprocess_exec(
        *(
            sys.executable,
            str(folder / "reports_client.py"),
            f"http://127.0.0.1:{port}/mcp",
            *arguments,
        ),
        env=environment(),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    written, problems = await process.communicate(given.encode())
    assert process.returncode == 0, problems.decode()
    return written.decode()


async def test_a_report_is_fetched_by_another_process_from_another_process(folder: Path) -> None:
    server = (str(folder / "reports_server.py"), "--http", "PORT", "--tasks", str(folder / "tasks"))
    async with serve_module(*server) as one:
        order = await client(folder, one.port, "order", "tea")
        assert json.loads(order)["tool"] == "write_report"
    async with serve_module(*server) as other:
        report = await client(folder, other.port, "fetch", given=order)
    assert report == "All about tea, in 2 chapters.\n"


async def test_a_report_is_fetched_from_a_server_on_stdio_that_is_started_anew(
    folder: Path,
) -> None:
    class Reader(TasksClient, mcp.Client):
        """A client that likes short reports."""

        async def on_elicit(self, params: m.ElicitRequestParams) -> m.ElicitResult:
            return m.ElicitResult(action="accept", content={"value": 2})

    program, kept = str(folder / "reports_server.py"), str(folder / "kept")
    server = [sys.executable, program, "--tasks", kept]
    topic = {"topic": "tea", "seconds": 0.01}
    async with connect(stdio_client(server), Reader()) as client:
        order = (await client.start_task("write_report", topic)).to_json()
    async with connect(stdio_client(server), Reader()) as client:
        report = await client.task(order).result(as_=str)
    assert report == "All about tea, in 2 chapters."
