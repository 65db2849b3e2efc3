"""The code on the pages about apps and state works with the package alone."""

import json
import re
import sqlite3
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import pytest
from support.docs.pages import beside_package, block_texts, page, run
from support.revisions import REVISIONS
from support.tables import case
from support.toolkit.kits import mcp, pkg

PAGE = page("app.md")
(GREETER,), (NOTES, METHOD) = block_texts("app.md"), block_texts("state.md")
PROGRAMS = {"greeter.py": GREETER, "notes.py": NOTES}
OWN = REVISIONS[-2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the servers of the pages, the package, and nothing else."""
    return beside_package(tmp_path_factory.mktemp("app"), PROGRAMS)


def test_the_shortest_app_is_short() -> None:
    assert len(GREETER.splitlines()) <= 10


async def test_the_servers_of_the_pages_run(folder: Path) -> None:
    greeter, notes = (pkg.stdio_client([sys.executable, str(folder / n)]) for n in PROGRAMS)
    for revision in REVISIONS:
        async with pkg.connect(greeter, pkg.load(revision).Client()) as client:
            called = await client.call_tool("greet", {"name": "Ada"})
            assert called.content[0].text == "Hello, Ada"
    async with pkg.connect(notes, pkg.load(OWN).Client()) as client:
        for number, text in enumerate(("buy milk", "sell milk"), 1):
            added = await client.call_tool("add_note", {"text": text})
            assert json.loads(added.content[0].text) == {"result": number}
        read = await client.read_resource("notes://buy")
        assert json.loads(read.contents[0].text) == ["buy milk"]


async def test_the_functions_of_the_pages_can_be_called(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cast(Any, monkeypatch).syspath_prepend(str(folder))
    notes: Any = import_module("notes")
    db = sqlite3.connect(":memory:")
    db.execute("CREATE TABLE notes (text)")
    assert [await notes.add_note("milk", db), await notes.notes("il", db)] == [1, ["milk"]]


async def test_a_lifespan_may_be_a_method() -> None:
    async with pkg.connect(run(METHOD)["Notes"](), as_=mcp) as client:
        assert (await client.call_tool("version")).text == sqlite3.sqlite_version


def greet(name: str) -> str:
    return name


greet.__annotations__.clear()


def now() -> str:
    return ""


async def open_db(_: object) -> Any:
    yield


async def health(_: object) -> None: ...


def late() -> object:
    app = mcp.App("x")
    app.http()
    return app.route("/late")(health)


def build_app() -> object:
    app = mcp.App("x")
    app.route("/mcp")(health)
    return app.http()


MISTAKES: dict[str, Callable[[], object]] = {
    "health, the route /mcp": build_app,
    "health, the route /health": lambda: mcp.App("x").route("/health", methods=["GO"])(health),
    "health, the route /late": late,
    "each worker": lambda: mcp.App("x").run("http", workers=2),
    "greet: the parameter": lambda: mcp.App("x").tool(greet),
    "now: ": lambda: mcp.App("x").resource("a://{x}")(now),
    "the lifespan": lambda: mcp.App("x", lifespan=cast(Any, open_db)),
}


def test_the_page_quotes_the_errors_as_they_are() -> None:
    quoted = re.findall(r"\| `(\w+Error)`: `([^`]*)…` \|", PAGE)
    for start, mistake in MISTAKES.items():
        ((kind, expected),) = [block for block in quoted if block[1].startswith(start)]
        with case(start), pytest.raises(Exception, match=re.escape(expected)) as raised:
            mistake()
        assert raised.type.__name__ == kind
        assert str(raised.value).startswith(expected)
