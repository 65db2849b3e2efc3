"""The code on the page about calls works in the revisions that it names."""

import asyncio
import re
from typing import Any

import mcp_revisions as package
import pytest
from mcp_revisions import (
    REVISIONS,
    Cache,
    LocalError,
    Options,
    ProtocolError,
    RemoteError,
    RequestTimeout,
    ToolError,
    ToolFailed,
    Toolkit,
    connect,
    load,
    prompt,
    resource,
    tool,
)
from mcp_revisions import v2025_11_25 as mcp
from mcp_revisions import v2026_07_28 as newest
from mcp_revisions.v2025_11_25 import models as m
from support.docs.pages import page, run_page
from support.revisions import REVISIONS as NAMES
from support.tables import case

PAGE = page("client-calls.md")


class Server(Toolkit, mcp.Server):
    """Has what the programs of the page call."""

    REVISIONS = REVISIONS

    @tool
    def greet(self, name: str) -> str:
        return f"Hello, {name}"

    @tool
    def point(self) -> dict[str, int]:
        return {"x": 3}

    @tool
    def numbers(self) -> list[int]:
        return [1, 2]

    @tool
    async def dig(self, session: mcp.Session) -> str:
        await session.progress(1, 2, "half")
        return "treasure"

    @tool
    def fail(self) -> int:
        raise ToolError("out of luck")

    @tool
    async def ask(self, session: mcp.Session) -> str:
        form = m.ElicitRequestFormParamsRequestedSchema(properties={"name": m.StringSchema()})
        named = await session.elicit("Who?", form)
        question = m.SamplingMessage(role="user", content=m.TextContent(text="?"))
        said = await session.create_message([question], max_tokens=9)
        roots = await session.list_roots()
        return f"{named.content} {said.model} {roots.roots[0].uri}"

    @prompt
    def hello(self, name: str) -> str:
        return name

    @resource("memo://{name}")
    def memo(self, name: str) -> str:
        return f"memo of {name}"


@pytest.fixture(scope="module")
def page_names() -> dict[str, Any]:
    return run_page("client-calls.md")


async def test_the_programs_that_call_run(
    page_names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    async with connect(Server, as_=mcp) as client:
        await page_names["use"](client)
        await page_names["both"](client)
        assert await page_names["typed"](client) == [3, 1, 2]
        assert await page_names["patient"](client) == "treasure"
    said = capsys.readouterr().out
    assert said.startswith("Hello, Ada {'result': 'Hello, Ada'}")
    assert "memo of today" in said
    assert "numbers" in said
    assert "1 2 half\n" in said
    await page_names["main"](Server)


class Failing(Server):
    """A sibling that fails slowly."""

    @tool
    def numbers(self) -> list[int]:
        raise ToolError("out of luck")

    @tool
    async def dig(self, session: mcp.Session) -> str:
        await asyncio.Event().wait()
        return ""


async def test_the_program_with_types_is_told_of_a_failure(page_names: dict[str, Any]) -> None:
    async with connect(Failing, as_=mcp) as client:
        assert await page_names["typed"](client) == [len("out of luck")]


@pytest.mark.skips_time
async def test_the_program_with_a_limit_of_time_waits_no_longer(page_names: dict[str, Any]) -> None:
    async with connect(Failing, as_=mcp) as client:
        assert await page_names["patient"](client) == "It took too long."


async def test_the_client_that_answers_does_so_in_all_revisions(page_names: dict[str, Any]) -> None:
    expected = "{'name': 'Ada'} a-model file:///home/ada/notes"
    async with connect(Server, page_names["Desktop"](), revisions=REVISIONS) as client:
        assert (await client.call_tool("ask")).text == expected


async def test_clients_are_told_of_changes_as_shown(
    page_names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    server = Server()
    before, since = page_names["Before"](), page_names["Since"]()
    async with connect(server, before), connect(server, since, revisions=REVISIONS):
        following = asyncio.create_task(page_names["follow"](before, since))
        printed = ""
        while printed.count("memo of today") < 2:
            await server.resource_updated("memo://today")
            await asyncio.sleep(0.01)
            printed += capsys.readouterr().out
        server.remove_tool("greet")
        while "other tools" not in printed:
            await asyncio.sleep(0.01)
            printed += capsys.readouterr().out
        following.cancel()


async def test_failures_are_raised_where_the_table_says_so() -> None:
    rows: list[tuple[dict[str, Any], type[Exception] | None]] = [
        ({}, None),
        ({"check": True}, ToolFailed),
        ({"as_": int}, ToolFailed),
        ({"as_": int, "check": False}, None),
    ]
    async with connect(Server, as_=mcp) as client:
        for options, error in rows:
            with case(options):
                if error is None:
                    result: Any = await client.call_tool("fail", **options)
                    assert (result.is_error, result.text) == (True, "out of luck")
                else:
                    with pytest.raises(error):
                        await client.call_tool("fail", **options)
        with pytest.raises(RemoteError):
            await client.call_tool("point", as_=int)
        untyped: Any = client
        with pytest.raises(LocalError):
            await untyped.call_as_task("point", as_=int, task=m.TaskMetadata())


def test_the_errors_are_related_as_the_page_says() -> None:
    table = PAGE.split("## Errors")[1].split("\n## ")[0]
    named = set(re.findall(r"`([A-Z]\w+)`", table)) - {"TypeError", "TimeoutError"}
    errors = {getattr(package, name) for name in named if hasattr(package, name)}
    others = {error for error in errors if not issubclass(error, ProtocolError)}
    assert {error.__name__ for error in others} == {"Disconnected"}
    assert issubclass(RequestTimeout, TimeoutError)
    assert issubclass(package.HttpError, RemoteError)


def test_the_time_limits_are_those_that_the_page_names() -> None:
    usual = Options()
    for seconds in (usual.timeouts["tools/call"], usual.timeout, usual.max_timeout):
        assert f"({seconds:g} s" in PAGE, seconds
    assert f"{usual.max_pages:,} by default" in PAGE


def test_the_last_table_names_the_revisions_that_have_a_call() -> None:
    rows = re.findall(r"\| (`client\..*?) \| (.*?) \|", PAGE)
    assert rows
    for calls, revisions in rows:
        start, _, end = revisions.partition(" ")
        if end == "only":
            expected = [start]
        else:
            edge = re.findall(r"\d{4}-\d\d-\d\d", revisions)[0]
            later = revisions.startswith("from")
            expected = [name for name in NAMES if name == edge or (name > edge) == later]
        for call in re.findall(r"`client\.(\w+)`", calls):
            having = [name for name in NAMES if hasattr(load(name).Client, call)]
            assert having == expected, call


async def test_a_cache_keeps_what_the_page_says(
    page_names: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    app = newest.App("one")

    @app.tool
    def forecast() -> str:
        return "sun"

    await page_names["often"](app)
    assert capsys.readouterr().out == "forecast\n" * 10
    assert isinstance(page_names["Careful"](), newest.Client)
    with pytest.raises(LocalError):
        mcp.Client().cache = Cache()
