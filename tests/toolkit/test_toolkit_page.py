"""What the page about the toolkit shows works as it stands there, and passes the strictest checks.

The server of the page runs as a process, in an empty folder beside the package.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from kits import pkg, run

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "toolkit.md").read_text(encoding="utf-8")
SERVER = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]

# What a checker has to object to is marked.
MORE = """
from typing import Any, assert_type

from pkg import CheckedResults, Options, Toolkit, UriTemplate, connect_in_memory, prompt, resource
from pkg import tool
from pkg import v2026_07_28 as mcp
from pkg.v2026_07_28 import models as m
from server import Forecast, Weather


class Loud(Toolkit):
    @tool(structured=False, thread=True)
    def shout(self, text: str) -> dict[str, str]:
        return {"loud": text.upper()}


def towns(typed: str) -> list[str]:
    return [typed]


class Both(Loud, mcp.Server):
    SENDS = frozenset({"notifications/tools/list_changed"})

    def __init__(self, name: str) -> None:
        self.info = m.Implementation(name=name, version="1")

    @tool(input_schema={"type": "object"}, output_schema={"type": "object"}, name="raw.tool")
    async def raw(self, session: mcp.Session, arguments: dict[str, Any]) -> m.CallToolResult:
        return m.CallToolResult(content=[], structured_content=arguments)

    @tool
    @staticmethod
    def twice(number: int) -> int:
        return 2 * number

    @resource("a:{x}", completions={"x": towns}, annotations=m.Annotations(priority=1))
    def read(self, x: str) -> bytes:
        return x.encode()

    @classmethod
    def names(cls, typed: str, others: dict[str, str]) -> list[str]:
        return [*others, typed]

    def villages(self, typed: str) -> list[str]:
        return [typed]

    @prompt(
        completions={
            "x": ["a", "b"],
            "y": lambda typed: [typed.upper()],
            "z": lambda typed, others: [typed, *others],
        },
        icons=[m.Icon(src="a:b")],
    )
    async def say(self, x: str, y: str, z: str) -> list[m.PromptMessage]:
        return []

    @prompt(completions={"x": names, "y": villages})
    def tell(self, x: str, y: str) -> str:
        return x + y

    async def on_call_tool(
        self, session: mcp.Session, params: m.CallToolRequestParams
    ) -> m.CallToolResult | m.InputRequiredResult:
        result: m.CallToolResult = await super().on_call_tool(session, params)
        return result


class Checking(CheckedResults, mcp.Client):
    pass


def plain(text: str) -> str:
    return text


async def use() -> None:
    weather = Weather()
    assert_type(await weather.forecast("Oslo", days=2), list[Forecast])
    assert_type(weather.add(1, 2), float)
    both = Both("x")
    assert_type(both.twice(2), int)
    assert_type(both.shout("a"), dict[str, str])
    assert_type(both.read("x"), bytes)
    both.add_tool(plain, title="Plain")
    both.add_resource(plain, uri="a:{text}", mime_type="text/plain")
    both.remove_tool("plain")
    async with connect_in_memory(Checking(), both, options=Options(timeout=3)) as client:
        await client.call_tool(m.CallToolRequestParams(name="shout"))
    assert_type(UriTemplate.parse("a:{x}").match("a:b"), dict[str, str] | None)
    await weather.forecast(3)  # wrong
    weather.add("a", 1)  # wrong
    Both()  # wrong
    both.add_tool(plain, titel="x")  # wrong


@tool(structure=False)  # wrong
def wrong(x: str) -> str:
    return x
"""
WRONG = {at for at, line in enumerate(MORE.splitlines(), 1) if line.endswith("# wrong")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the server of the page, the package, and nothing else."""
    place = tmp_path_factory.mktemp("toolkit")
    hidden = shutil.ignore_patterns("__pycache__", ".*")
    shutil.copytree(ROOT / "generated" / "mcp_revisions", place / "pkg", ignore=hidden)
    (place / "server.py").write_text(SERVER)
    (place / "more.py").write_text(MORE)
    return place


def test_the_server_of_the_page_runs(folder: Path) -> None:
    async def script() -> None:
        server = pkg.launch([sys.executable, str(folder / "server.py")])
        m = pkg.load("2025-11-25").models
        async with pkg.connect(server, pkg.load("2025-11-25").Client()) as client:
            assert [tool.name async for tool in client.iter_tools()] == ["forecast", "add"]
            wrong = {"place": "Oslo", "days": 9, "plaec": "Oslo"}
            answer = await client.call_tool(
                m.CallToolRequestParams(name="forecast", arguments=wrong)
            )
            shown = "\n".join(f"    {line}" for line in answer.content[0].text.splitlines())
            assert shown in PAGE
            read = await client.read_resource(m.ReadResourceRequestParams(uri="climate://Oslo"))
            assert json.loads(read.contents[0].text) == {"place": "Oslo", "celsius": 6.5}

    run(script(), within=30)


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return done.stdout


def test_pyright_strict_objects_to_what_is_wrong_only(folder: Path) -> None:
    settings = {
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "include": ["server.py", "more.py", "pkg/_runtime/toolkit"],
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    report = json.loads(_run(folder, "pyright", "--outputjson", "--pythonpath", sys.executable))
    found: dict[Any, str] = {
        (Path(one["file"]).name, one["range"]["start"]["line"] + 1): one["message"]
        for one in report["generalDiagnostics"]
    }
    assert found.keys() == {("more.py", at) for at in WRONG}, found


def test_mypy_strict_objects_to_what_is_wrong_only(folder: Path) -> None:
    options = ("--strict", "--config-file=", "--python-version=3.11", "--no-error-summary")
    cache = f"--cache-dir={folder / '.mypy_cache'}"
    output = _run(folder, "mypy", *options, cache, "server.py", "more.py")
    found = set(re.findall(r"^([a-z]+\.py):(\d+): error", output, re.MULTILINE))
    assert found == {("more.py", str(at)) for at in WRONG}, output


def test_the_functions_of_the_page_can_be_called(folder: Path) -> None:
    program = (
        "import asyncio, server; "
        "print(asyncio.run(server.Weather().forecast('Oslo', 1)), server.Weather().add(1, 2))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stdout == "[Forecast(place='Oslo', celsius=6.5)] 3\n"
