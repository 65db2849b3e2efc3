"""What the pages about models and translation show works as it stands there."""

from typing import Any

import pytest
from mcp_revisions import REVISIONS, connect, in_memory, load
from mcp_revisions.v2025_11_25 import models as m
from support.docs.pages import defined
from support.revisions import NEWEST, OLD
from support.revisions import REVISIONS as NAMES
from support.sessions.talking import client
from support.tables import case


def test_the_programs_about_models_run() -> None:
    shown = defined("models.md")
    assert shown["tool"] == shown["same"] == m.Tool.from_json(shown["data"])
    assert shown["one"] == m.CallToolResult(content=[], is_error=True)
    assert (shown["result"].ttl_ms, shown["result"].cache_scope) == (0, "private")


async def test_the_programs_about_translation_run(capsys: pytest.CaptureFixture[str]) -> None:
    shown: dict[str, Any] = defined("translation.md")
    said = capsys.readouterr().out
    assert "structuredContent" in said
    assert said.splitlines()[-1] == "{'name': 'forecast', 'inputSchema': {'type': 'object'}}"
    for name in NAMES:
        with case(name):
            greeting = "Hello" if name < "2025-06-18" else f"Hello, {name}"
            greeter = in_memory(shown["Greeter"], revisions=REVISIONS)
            async with connect(greeter, load(name).Client()) as client:
                assert (await client.call_tool("greet")).text == greeting


class User:
    """Answers yes, in the types of a revision."""

    def __init__(self, models: Any) -> None:
        self.models = models
        self.asked: list[str] = []

    async def on_elicit(self, params: Any) -> object:
        self.asked.append(params.message)
        return self.models.ElicitResult(action="accept", content={"value": True})


async def test_what_is_done_once_is_done_once_in_every_era() -> None:
    shown: dict[str, Any] = defined("translation.md")
    for name in (OLD, NEWEST):
        with case(name):
            user = User(load(name).models)
            mine = client(name, on_elicit=user.on_elicit)
            async with connect(in_memory(shown["Shop"], revisions=REVISIONS), mine) as connected:
                bought = await connected.call_tool("buy", {"amount": 3})
            assert (bought.text, user.asked) == ("receipt for 3, wrapped", ["Gift wrap?"])
