"""The code on the page about the toolkit works with the package alone."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25.models import LoggingMessageNotificationParams
from support.docs.pages import beside_package, block_texts, page, run_page
from support.sessions.talking import client as client_of
from support.toolkit.kits import pkg

SERVER, CAMERA, *_ = block_texts("toolkit.md")


SERVED = """
from pkg import REVISIONS, run_stdio

run_stdio(Camera(), revisions=REVISIONS)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the server of the page, the package, and nothing else."""
    files = {"server.py": SERVER, "camera.py": CAMERA + SERVED}
    return beside_package(tmp_path_factory.mktemp("toolkit"), files)


async def test_the_server_of_the_page_runs(folder: Path) -> None:
    server = pkg.stdio_client([sys.executable, str(folder / "server.py")])
    async with pkg.connect(server, pkg.load("2025-11-25").Client()) as client:
        assert [tool.name async for tool in client.iter_tools()] == ["forecast", "add"]
        wrong = {"place": "Oslo", "days": 9, "plaec": "Oslo"}
        answer = await client.call_tool("forecast", wrong)
        lines = "\n".join(f"    {line}" for line in answer.content[0].text.splitlines())
        assert lines in page("toolkit.md")
        read = await client.read_resource("climate://Oslo")
        assert json.loads(read.contents[0].text) == {"place": "Oslo", "celsius": 6.5}


def test_the_functions_of_the_page_can_be_called(folder: Path) -> None:
    program = (
        "import asyncio, server; "
        "print(asyncio.run(server.Weather().forecast('Oslo', 1)), server.Weather().add(1, 2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[Forecast(place='Oslo', celsius=6.5)] 3\n"


async def test_the_functions_of_the_page_that_wait_do_so_in_threads(folder: Path) -> None:
    server = pkg.stdio_client([sys.executable, str(folder / "camera.py")])
    m = pkg.load("2025-11-25").models
    heard: list[object] = []

    async def on_logging_message(self: object, params: LoggingMessageNotificationParams) -> None:
        heard.append(params.data)

    ours = client_of("2025-11-25", on_logging_message=on_logging_message)
    async with pkg.connect(server, ours) as client:
        photo, _ = [tool async for tool in client.iter_tools()]
        described = photo.input_schema["properties"]["seconds"]["description"]
        assert (photo.description, described) == ("Take a photo.", "How long the light is let in.")
        arguments = {"seconds": 0.01}
        taken: Any = await client.call_tool("photo", arguments)
        assert [block.type for block in taken.content] == ["text", "image"]
        params = m.CallToolRequestParams(name="shutter", arguments=arguments)
        written: Any = await client.request(client.TABLE.requests["tools/call"], params)
        assert written.structured_content == {"result": "1/100 s"}
    assert heard == ["say cheese"]


async def test_the_other_programs_of_the_page_run() -> None:
    programs = run_page("toolkit.md")
    async with pkg.connect(programs["Raw"](), as_=mcp) as client:
        assert (await client.call_tool("double", {"x": 2})).data == {"x": 4}
        assert (await client.call_tool("double", {"x": "2"})).is_error
    async with pkg.connect(programs["app"], as_=mcp) as client:
        assert [tool.title async for tool in client.iter_tools()] == ["Greet somebody"]
        assert client.server_capabilities.resources is None
