"""Clients of servers in this process, and their view without one."""

import json
import logging
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp_revisions import v2025_11_25 as old
from mcp_revisions import v2026_07_28 as mcp
from pydantic import BaseModel
from support.revisions import OLD, REVISIONS
from support.sessions.talking import pkg
from support.tables import case

NEWEST = REVISIONS[-1]
Plain: Any = pkg.load(NEWEST).Client
"""What a client is that nobody gives."""


class Point(BaseModel):
    """A point."""

    x: int


class Shapes(pkg.Toolkit, old.Server):
    """A server of one revision, with a tool that most revisions show in another way."""

    @pkg.tool(title="Move")
    def move(self, point: Point, by: int = 1) -> Point:
        """Move a point."""
        return Point(x=point.x + by)

    @pkg.tool
    def count(self) -> list[int]:
        """Count."""
        return [1, 2]


class Newer(pkg.Toolkit, mcp.Server):
    """A server of the other era."""

    @pkg.tool
    def count(self) -> list[int]:
        """Count."""
        return [1, 2]


class Mine(mcp.Client):
    """A client with handlers, perhaps."""


def app() -> old.App:
    made = old.App("counter")
    made.tool(name="count")(lambda: 3)
    return made


async def test_any_server_has_a_client_in_one_line() -> None:
    own = mcp.Client.TABLE.revision
    rows: list[tuple[Any, tuple[Any, ...], dict[str, Any], type, str]] = [
        (app(), (), {}, Plain, NEWEST),
        (app(), (old.Client(),), {}, old.Client, OLD),
        (app(), (Mine(),), {}, Mine, own),
        (app(), (), {"as_": old}, old.Client, NEWEST),
        (app(), (), {"revisions": pkg.REVISIONS[:2]}, Plain, REVISIONS[1]),
        (Shapes(), (), {}, Plain, OLD),
        (Shapes, (), {"revisions": pkg.REVISIONS}, Plain, NEWEST),
        ([Shapes(), Newer], (), {}, Plain, own),
        ([Shapes(), Newer], (old.Client(),), {}, old.Client, OLD),
    ]
    messages: list[tuple[str, bytes]] = []

    def keep(sender: str, message: bytes) -> None:
        messages.append((sender, message))

    for connect in (pkg.client_of, pkg.connect_in_memory):
        for server, client, settings, kind, revision in rows:
            with case((server, client, settings)):
                messages.clear()
                connecting = connect(
                    *(server, *client), **settings, tap=keep, options=pkg.Options(timeout=5)
                )
                async with connecting as made:
                    assert (type(made), made.revision) == (kind, revision)
                    assert not (await made.call_tool("count")).is_error
                assert {sender for sender, _ in messages} == {"client", "server"}
                assert all(isinstance(json.loads(sent), dict) for _, sent in messages)


def test_invalid_server_or_client_is_refused() -> None:
    wrong: list[Any] = [
        (Shapes, Newer),
        (mcp.Client(), mcp.Client()),
        (mcp.Client(),),
        (Shapes, Mine),
        (3,),
        ([Shapes, mcp.Client],),
    ]
    for given in wrong:
        with case(given), pytest.raises(TypeError, match="pass a server first, then a client"):
            pkg.client_of(*given)


async def test_a_lifespan_that_fails_is_what_a_test_gets() -> None:
    @asynccontextmanager
    async def open_db(_: object) -> AsyncGenerator[None, None]:
        raise OSError("no database")
        yield

    with pytest.raises(RuntimeError, match="no database"):
        async with pkg.client_of(old.App("x", lifespan=open_db)):
            pass


async def test_a_fixture_gives_each_test_a_client_of_its_own() -> None:
    def keep_function(function: Any) -> Any:
        return asynccontextmanager(function)

    rows: list[tuple[tuple[Any, ...], type]] = [((Shapes,), Plain), ((Newer, Mine), Mine)]
    for arguments, kind in rows:
        made = pkg.client_of.fixture(*arguments, decorator=keep_function)
        async with made() as one, made() as other:
            assert {type(one), type(other)} == {kind}
            assert one is not other
            assert (await one.call_tool("count", as_=list[int])) == [1, 2]
    # Without a plug-in with its own fixtures, they are those of pytest.
    assert type(pkg.client_of.fixture(Shapes)) is type(pytest.fixture(lambda: None))


async def test_schemas_of_tools_are_what_clients_of_a_revision_see(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.CRITICAL)
    for server in (Shapes(), Newer(), app()):
        for revision in REVISIONS:
            with case((server, revision)):
                client = pkg.load(revision).Client()
                async with pkg.client_of(server, client, revisions=pkg.REVISIONS) as seeing:
                    seen = [tool.to_wire() async for tool in seeing.iter_tools()]
                schemas = server.tool_schemas(revision)
                assert schemas == sorted(seen, key=lambda one: str(one["name"]))
                assert json.loads(json.dumps(schemas)) == schemas
        assert server.tool_schemas() == server.tool_schemas(server.TABLE.revision)
    with pytest.raises(LookupError, match="no revision '2020-01-01' in this package"):
        Shapes().tool_schemas("2020-01-01")


def test_schemas_are_those_of_what_is_offered_now_in_the_order_of_names() -> None:
    server = Shapes()
    assert [tool["name"] for tool in server.tool_schemas()] == ["count", "move"]
    server.add_tool(lambda: 1, name="a")
    server.remove_tool("move")
    assert [tool["name"] for tool in server.tool_schemas()] == ["a", "count"]
