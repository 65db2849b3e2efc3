"""The page on sessions: its examples of calls run as they stand."""

import re
from typing import Any

import pytest
from mcp_revisions import Toolkit, connect_in_memory, prompt, resource, tool
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions.v2025_11_25 import models as m
from pydantic import BaseModel
from support.folders import ROOT

PAGE = (ROOT / "docs" / "sessions.md").read_text(encoding="utf-8")
CALLING = PAGE.partition("## Calling\n")[2].partition("\n## ")[0]


class Server(Toolkit, mcp.Server):
    """Has what the examples call."""

    @tool
    def greet(self, name: str) -> str:
        """Say hello."""
        return f"Hello, {name}"

    @tool
    def point(self) -> dict[str, int]:
        """Return an object."""
        return {"x": 3}

    @tool
    def numbers(self) -> list[int]:
        """Return a list."""
        return [1, 2]

    @prompt
    def hello(self, name: str) -> str:
        """Greet."""
        return name

    @resource("memo://{name}")
    def memo(self, name: str) -> str:
        """Return a memo."""
        return name


async def test_the_examples_of_calls_work(capsys: pytest.CaptureFixture[str]) -> None:
    lines = "\n".join(re.findall(r"```python\n(.*?)```", CALLING, re.DOTALL)).splitlines()
    body = "\n".join(f"    {line}" for line in lines)
    program: dict[str, Any] = {"m": m, "BaseModel": BaseModel}
    exec(f"async def main(client):\n{body}\n    return result, point, numbers", program)
    async with connect_in_memory(mcp.Client(), Server()) as client:
        result, point, numbers = await program["main"](client)
    assert (result.text, point.x, numbers) == ("Hello, Ada", 3, [1, 2])
    assert "greet Hello, Ada" in capsys.readouterr().out
