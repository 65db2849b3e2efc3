"""Servers without a class: what an `App` offers, is called and speaks, and how it is run."""

import subprocess
import sys
from typing import Any, cast

import pytest
from support.folders import ROOT
from support.revisions import OLD, REVISIONS
from support.tables import case
from support.toolkit.kits import mcp, pkg, prompt, resource, tool


def greeter(revision: str = OLD) -> mcp.App:
    """An app with one item of each kind."""
    app = cast(type[mcp.App], pkg.load(revision).App)("greeter")

    @app.tool(title="Greet")
    def greet(name: str = "world") -> str:
        """Say hello."""
        return f"Hello, {name}"

    @app.resource("greeting://{name}", mime_type="text/plain")
    def greeting(name: str) -> str:
        """A greeting."""
        return greet(name)

    @app.prompt
    def ask(name: str) -> str:
        """Ask for a greeting."""
        return f"Greet {name}"

    return app


async def use(client: Any, revision: str) -> None:
    (listed,) = [tool async for tool in client.iter_tools()]
    assert (listed.name, listed.description) == ("greet", "Say hello.")
    called = await client.call_tool("greet", {"name": "Ada"})
    assert called.content[0].text == "Hello, Ada"
    read = await client.read_resource("greeting://Ada")
    assert read.contents[0].text == "Hello, Ada"
    asked = await client.get_prompt("ask", {"name": "x"})
    assert asked.messages[0].content.text == "Greet x"


async def test_an_app_of_each_revision_speaks_all_of_them() -> None:
    for own in REVISIONS:
        for spoken in REVISIONS:
            with case((own, spoken)):
                client = pkg.load(spoken).Client()
                async with pkg.connect_in_memory(client, greeter(own)):
                    await use(client, spoken)


async def test_an_app_speaks_the_revisions_that_are_named() -> None:
    newest = pkg.load(REVISIONS[-1]).Client()
    with pytest.raises(pkg.NegotiationError):
        async with pkg.connect_in_memory(newest, greeter(), revisions=pkg.REVISIONS[:2]):
            pass


async def test_members_unknown_to_revision_are_left_out() -> None:
    icon = mcp.models.Icon(src="a:b")
    for own in REVISIONS:
        with case(own):
            app = pkg.load(own).App(
                *("greeter",),
                version="2",
                title="Greeter",
                instructions="Greet.",
                icons=[icon],
                website_url="https://example.org",
            )
            known = pkg.load(own).models.Implementation.model_fields
            said = {"title": "Greeter", "icons": [{"src": "a:b"}]}
            said |= {"website_url": "https://example.org"}
            kept = {name: value for name, value in said.items() if name in known}
            if "website_url" in kept:
                kept["websiteUrl"] = kept.pop("website_url")
            assert app.info.to_wire() == {"name": "greeter", "version": "2", **kept}
            assert app.instructions == "Greet."


def test_a_decorator_returns_the_function_and_takes_the_marks_that_it_has() -> None:
    def plain(x: int) -> int:
        return x

    @tool(name="marked")
    @prompt
    @resource("m:{x}")
    def marked(x: int) -> str:
        return str(x)

    app = mcp.App("any")
    assert app.tool(plain) is plain and app.tool(name="again")(plain) is plain
    assert app.tool(marked) is marked
    assert app.resource("p:{x}")(plain) is plain
    assert app.prompt(plain) is plain
    lists = app.__mcp_runtime__.catalogue.lists
    assert {field: [*items] for field, items in lists.items()} == {
        "tools": ["plain", "again", "marked"],
        "prompts": ["plain"],
        "resources": [],
        "resource_templates": ["p:{x}"],
    }
    # Another one has nothing of it.
    assert not mcp.App("other").__mcp_runtime__.catalogue.lists["tools"]


def test_names_of_the_app_are_not_those_of_methods() -> None:
    @tool
    def taken(self: object) -> str:
        return ""

    for name in ("lifespan", "run", "http", "tool", "info"):
        with case(name), pytest.raises(TypeError, match=f"{name} hides a member of the runtime"):
            type("Wrong", (mcp.App,), {name: taken})


PROGRAM = """
import sys
from mcp_revisions import v2025_11_25 as mcp

def print_loaded(*words):
    print([name for name in sys.modules for word in words if word in name])

class Plain(mcp.Server): ...

Plain().capabilities()
print_loaded("toolkit")
from mcp_revisions import tool
print_loaded("jsonschema")
mcp.App("x")
print_loaded("stdio", ".http.")
"""


def test_unused_parts_of_a_server_are_not_loaded() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT / "generated",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == ["[]"] * 3
