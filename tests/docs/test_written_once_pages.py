"""The code on the pages about models and translation works."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest
from mcp_revisions import REVISIONS, connect, in_memory, load
from mcp_revisions import v2026_07_28 as newest
from mcp_revisions.v2025_11_25 import models as m
from support.docs.pages import beside_package, block_texts, example, run_page
from support.revisions import NEWEST, OLD
from support.revisions import REVISIONS as NAMES
from support.sessions.talking import client
from support.tables import case

OLDER: Final = """
from pkg import run_stdio, tool, Toolkit
from pkg import v2025_06_18 as mcp

class Greeter(Toolkit, mcp.Server):
    @tool
    def greet(self) -> str:
        return "Hello"

run_stdio(Greeter())
"""


def test_the_programs_about_models_run() -> None:
    models = run_page("models.md")
    assert models["tool"] == models["same"] == m.Tool.from_json(models["data"])
    assert models["one"] == m.CallToolResult(content=[], is_error=True)
    assert (models["result"].ttl_ms, models["result"].cache_scope) == (0, "private")


async def test_the_programs_about_translation_run(capsys: pytest.CaptureFixture[str]) -> None:
    programs: dict[str, Any] = run_page("translation.md")
    said = capsys.readouterr().out
    assert "structuredContent" in said
    assert said.splitlines()[-1] == "{'name': 'forecast', 'inputSchema': {'type': 'object'}}"
    for name in NAMES:
        with case(name):
            greeting = "Hello" if name < "2025-06-18" else f"Hello, {name}"
            greeter = in_memory(programs["Greeter"], revisions=REVISIONS)
            async with connect(greeter, load(name).Client()) as client:
                assert (await client.call_tool("greet")).text == greeting


@pytest.mark.long
def test_a_client_reaches_servers_of_others_also_behind_the_bridge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (bridge,) = block_texts("translation.md", label="bridge")
    bridge = bridge.replace('["server"]', '["python", "server.py"]')
    files = {
        "server.py": OLDER,
        "bridge.py": f"{bridge}\n\nimport asyncio\n\nasyncio.run(main())\n",
    }
    monkeypatch.chdir(beside_package(tmp_path, files))
    asyncio.run(example("translation.md", "client")["main"]("server.py"))
    assert capsys.readouterr().out.splitlines()[-1] == "2025-06-18"

    async def through() -> str:
        async with connect("bridge.py", newest.Client()) as client:
            return str((await client.call_tool("greet")).text)

    assert asyncio.run(through()) == "Hello"


class User:
    """Answers yes, in the types of a revision."""

    def __init__(self, models: Any) -> None:
        self.models = models
        self.asked: list[str] = []

    async def on_elicit(self, params: Any) -> object:
        self.asked.append(params.message)
        return self.models.ElicitResult(action="accept", content={"value": True})


async def test_single_effects_happen_once_in_every_era() -> None:
    programs: dict[str, Any] = run_page("translation.md")
    for name in (OLD, NEWEST):
        with case(name):
            user = User(load(name).models)
            mine = client(name, on_elicit=user.on_elicit)
            async with connect(in_memory(programs["Shop"], revisions=REVISIONS), mine) as connected:
                bought = await connected.call_tool("buy", {"amount": 3})
            assert (bought.text, user.asked) == ("receipt for 3, wrapped", ["Gift wrap?"])
