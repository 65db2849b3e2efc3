"""The page about questions: a server as a process and over HTTP, and more."""

import sys
from pathlib import Path
from typing import Any

import pytest
from mcp_revisions import v2025_11_25
from pydantic import BaseModel
from support.docs.pages import beside_package, block_texts, page, run
from support.http.serving import run_app
from support.json_types import JsonObject
from support.revisions import OLD, STATELESS
from support.sessions.talking import client, content_of, models, pkg, tools
from support.tables import case

NAME = "asking.md"
FIRST = "2025-06-18"
BOOKED = "today: 3 for Ada, fish"


def user(revision: str, **entered: Any) -> Any:
    """A client whose user fills in the page's forms."""
    mine = models(revision)
    contents: JsonObject = {
        "Which table would you like?": {"name": "Ada", "guests": 3},
        "On which day?": {"value": "today"},
        "Book for 3?": {"value": True},
        **entered,
    }

    async def on_elicit(self: object, params: Any) -> object:
        content = contents[params.message]
        if isinstance(content, str):
            return mine.ElicitResult(action=content)
        return mine.ElicitResult(action="accept", content=content)

    return client(revision, on_elicit=on_elicit)


async def book_table(connecting: Any, revision: str) -> str:
    """Return the server's answer to a booking."""
    async with connecting as connected:
        result = await connected.call_tool("book")
        return str(content_of(result)[0].text)


def app_of_page() -> pkg.HttpApp:
    names = run(block_texts(NAME)[0])
    return pkg.http_app(names["Tables"](), revisions=names["REVISIONS"])


@pytest.mark.long
async def test_the_server_of_the_page_asks_in_every_era_over_every_transport(
    tmp_path: Path,
) -> None:
    beside_package(tmp_path, {"tables.py": block_texts(NAME)[0]})
    app = app_of_page()
    async with run_app(app) as port:
        for revision in (FIRST, OLD, STATELESS):
            opening = pkg.stdio_client([sys.executable, str(tmp_path / "tables.py")])
            ways = {
                "stdio": pkg.connect(opening, user(revision)),
                "http": pkg.connect_http(f"http://127.0.0.1:{port}/mcp", user(revision)),
            }
            for way, connecting in ways.items():
                with case((way, revision)):
                    assert await book_table(connecting, revision) == BOOKED
        await app.close()


async def test_the_server_of_the_page_takes_no_for_an_answer() -> None:
    rows = [
        ("Which table would you like?", "decline", "Then not."),
        ("Which table would you like?", "cancel", "Ask me again when you know."),
        ("On which day?", "cancel", "Nothing was booked."),
        ("Book for 3?", {"value": False}, "Nothing was booked."),
    ]
    app = app_of_page()
    async with run_app(app) as port:
        for question, answer, expected in rows:
            with case((question, answer)):
                asked = user(OLD, **{question: answer})
                connecting = pkg.connect_http(f"http://127.0.0.1:{port}/mcp", asked)
                assert await book_table(connecting, OLD) == expected
        await app.close()


async def test_the_other_blocks_of_the_page_work() -> None:
    _, *others = block_texts(NAME)
    found = run("".join(others))
    asked: list[str] = []

    async def on_elicit(self: object, params: Any) -> object:
        asked.append(params.message)
        return m.ElicitResult(action="accept", content={"value": "OSL" if asked[1:] else "Oslo"})

    async def call(session: Any, params: Any) -> str:
        return str((await found["airport"](session)).value)

    m: Any = models(OLD)
    async with pkg.connect_in_memory(client(OLD, on_elicit=on_elicit), tools(OLD, call)) as ours:
        assert content_of(await ours.call_tool("x"))[0].text == "OSL"
    wrong = "String should match pattern '^[A-Z]{3}$'. Which airport?"
    assert asked == ["Which airport?", wrong]
    form = found["SIZE"].schema_for(pkg.load(OLD).methods.ELICIT, OLD)["properties"]["value"]
    assert [choice["title"] for choice in form["oneOf"]] == ["Small", "Large"]


class Address(BaseModel):
    """A type that a form cannot contain."""

    town: str


class Booking(BaseModel):
    """A type without a form."""

    address: Address


async def book(session: v2025_11_25.Session) -> str:
    return str(await session.ask("Which table?", Booking))


def test_the_error_on_the_page_is_that_of_a_server_that_is_made() -> None:
    with pytest.raises(TypeError) as raised:
        v2025_11_25.App("tables").tool(book)
    assert f"    {raised.value}\n" in page(NAME)
