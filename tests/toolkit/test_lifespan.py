"""The lifespan of a server: its entry, its exit, and its failures."""

import asyncio
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, ClassVar

import pytest
from starlette.applications import Starlette
from starlette.routing import Mount
from support.folders import ROOT
from support.http.serving import Site, calling, calling_app, outcome, run_app, text_in
from support.ports import free_port
from support.revisions import ERAS, OLD, REVISIONS
from support.sessions.talking import hello
from support.tables import case
from support.toolkit.kits import LocalError, Toolkit, mcp, pkg, tool

LifespanError = pkg.LifespanError


class Noted:
    """A lifespan that records events and tasks."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.tasks: set[object] = set()

    @asynccontextmanager
    async def open(self, server: Any) -> AsyncGenerator[str, None]:
        self.events.append("open")
        self.tasks.add(asyncio.current_task())
        await asyncio.sleep(0)
        yield f"state of {server.info.name} {self.events.count('open')}"
        self.tasks.add(asyncio.current_task())
        self.events.append("close")

    def app(self, revision: str = OLD) -> Any:
        app = pkg.load(revision).App("me", lifespan=self.open)
        return with_tool(app, revision)


def with_tool(app: Any, revision: str = OLD) -> Any:
    async def state(session: Any) -> str:
        return str(session.state)

    state.__annotations__["session"] = pkg.load(revision).Session
    app.tool(state)
    return app


async def read_state(client: Any) -> str:
    return str((await client.call_tool("state")).text)


@asynccontextmanager
async def serve_mounted(app: Any, at: str = "") -> AsyncGenerator[Site, None]:
    """Serve an application in another one."""
    outer = Starlette(routes=[Mount(at, app=app)])
    async with run_app(outer) as port, calling(port, f"{at}/mcp") as site:
        yield site


async def test_in_memory_the_first_connection_enters_it_and_the_last_leaves_it() -> None:
    for own in REVISIONS:
        with case(own):
            noted = Noted()
            app = noted.app(own)
            assert noted.events == []
            async with pkg.connect_in_memory(mcp.Client(), app) as one:
                assert await read_state(one) == "state of me 1"
                async with pkg.connect_in_memory(mcp.Client(), app) as two:
                    assert await read_state(two) == "state of me 1"
                assert noted.events == ["open"]
            assert noted.events == ["open", "close"] and len(noted.tasks) == 1
            async with pkg.connect_in_memory(mcp.Client(), app) as again:
                assert await read_state(again) == "state of me 2"


class Own(Toolkit, mcp.Server):
    """A class with a server for each connection."""

    info = mcp.models.Implementation(name="own", version="0")
    opened: ClassVar[list["Own"]] = []
    closed: ClassVar[list["Own"]] = []

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[int, None]:
        self.opened.append(self)
        yield len(self.opened)
        self.closed.append(self)

    @tool
    async def state(self, session: mcp.Session) -> str:
        return str(session.state)


@pytest.fixture(autouse=True)
def _none_opened() -> None:
    Own.opened, Own.closed = [], []


async def test_over_http_each_session_of_a_class_has_its_own() -> None:
    async with calling_app(pkg.http_app(Own)) as site:
        assert Own.opened == []
        first, second = await site.initialize(), await site.initialize()
        for session, expected in ((first, "1"), (second, "2"), (first, "1")):
            assert text_in(await session.call("state")) == expected
        assert (await first.delete()).status_code == 204
        assert Own.closed == Own.opened[:1]
    assert Own.closed == Own.opened


async def test_requests_of_the_stateless_era_share_that_of_a_class() -> None:
    async with run_app(pkg.http_app(Own, revisions=pkg.REVISIONS)) as port, calling(port) as site:
        assert len(Own.opened) == 1
        assert text_in(await site.modern("tools/call", name="state")) == "1"
        session = await site.initialize()
        assert text_in(await session.call("state")) == "2"
        assert text_in(await site.modern("tools/call", name="state")) == "1"
    assert len(Own.closed) == len(Own.opened) == 2


async def test_an_asgi_server_enters_it_before_the_first_request() -> None:
    for own in ERAS:
        with case(own):
            noted = Noted()
            async with run_app(noted.app(own).http()) as port, calling(port) as site:
                assert noted.events == ["open"]
                for _ in range(2):
                    session = await site.initialize()
                    assert text_in(await session.call("state")) == "state of me 1"
                    assert text_in(await site.modern("tools/call", name="state")) == "state of me 1"
                assert noted.events == ["open"]
            assert noted.events == ["open", "close"] and len(noted.tasks) == 1


async def test_mounted_it_is_entered_with_the_first_request_and_left_by_close() -> None:
    noted = Noted()
    app = noted.app().http()
    async with serve_mounted(app, "/api") as site:
        assert noted.events == []
        asked = [site.modern("tools/call", name="state", id=number) for number in range(5)]
        found = await asyncio.gather(*asked)
        assert {text_in(answer) for answer in found} == {"state of me 1"}
        assert noted.events == ["open"]
        await app.close()
        assert noted.events == ["open", "close"] and len(noted.tasks) == 1
        # As before, a request begins anew.
        assert text_in(await site.modern("tools/call", name="state")) == "state of me 2"
        await app.close()


async def test_a_request_that_is_refused_enters_nothing() -> None:
    noted = Noted()
    app = noted.app().http()
    async with serve_mounted(app) as site:
        refused = await site.modern("tools/call", name="state", headers={"host": "example.org"})
        assert refused.status_code == 421
        assert noted.events == []


@asynccontextmanager
async def failing(_: object) -> AsyncGenerator[None, None]:
    raise OSError("no database")
    yield


@asynccontextmanager
async def failing_late(_: object) -> AsyncGenerator[None, None]:
    yield
    raise OSError("not closed")


WHY = "the lifespan of me failed: OSError: no database"


async def test_failing_lifespan_ends_start_with_single_error() -> None:
    app = with_tool(mcp.App("me", lifespan=failing))
    with pytest.raises(LifespanError, match=WHY) as raised:
        await pkg.serve(app, Nothing())
    assert isinstance(raised.value.__cause__, OSError)
    with pytest.raises(LifespanError, match=WHY):
        async with pkg.connect_in_memory(mcp.Client(), app):
            raise AssertionError
    with pytest.raises(LifespanError, match="failed: OSError: not closed"):
        async with pkg.connect_in_memory(mcp.Client(), mcp.App("me", lifespan=failing_late)):
            pass


class Nothing:
    """A transport over which nothing comes."""

    async def receive(self) -> list[bytes]:
        return []

    async def send(self, messages: object) -> None:
        raise AssertionError

    async def close(self) -> None:
        pass


async def test_mounted_a_failure_is_answered_and_tried_again() -> None:
    tries: list[object] = []

    @asynccontextmanager
    async def late(server: object) -> AsyncGenerator[str, None]:
        tries.append(server)
        if len(tries) == 1:
            raise OSError("not yet")
        yield "now"

    app = with_tool(mcp.App("me", lifespan=late)).http()
    async with serve_mounted(app) as site:
        assert outcome(await site.modern("tools/call", name="state"))[0] == 503
        assert text_in(await site.modern("tools/call", name="state")) == "now"
        await app.close()


async def test_a_session_whose_server_cannot_begin_is_refused() -> None:
    class Broken(Own):
        @asynccontextmanager
        async def lifespan(self) -> AsyncGenerator[int, None]:
            raise OSError("no database")
            yield

    async with run_app(pkg.http_app(Broken)) as port, calling(port) as site:
        response = await site.post(hello())
        assert response.status_code == 503


async def test_an_asgi_server_hears_of_a_failure() -> None:
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    for lifespan, phases in ((failing, ["failed"]), (failing_late, ["complete", "failed"])):
        with case(phases):
            sent.clear()
            come = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]

            async def receive(come: Any = come) -> Any:
                return come.pop(0)

            app = mcp.App("me", lifespan=lifespan).http()
            await app({"type": "lifespan"}, receive, send)
            told = zip(("startup", "shutdown"), phases, strict=False)
            said = [f"lifespan.{phase}.{how}" for phase, how in told]
            assert [event["type"] for event in sent] == said
            assert "the lifespan of me failed: OSError" in sent[-1]["message"]


async def test_without_a_lifespan_there_is_no_state() -> None:
    found: list[str] = []

    async def state(session: mcp.Session) -> str:
        with pytest.raises(LocalError) as raised:
            _ = session.state
        found.append(str(raised.value))
        return ""

    app = mcp.App("me")
    app.tool(state)
    async with pkg.connect_in_memory(mcp.Client(), app) as client:
        await read_state(client)
        assert app.__mcp_runtime__.lifespan is None
    assert found == ["session.state: me has no lifespan; define one that yields it"]


async def test_a_start_that_is_given_up_leaves_nothing_behind() -> None:
    begun, ended = asyncio.Event(), list[str]()

    @asynccontextmanager
    async def slow(_: object) -> AsyncGenerator[None, None]:
        begun.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("ended")
        yield

    serving = asyncio.create_task(pkg.serve(mcp.App("me", lifespan=slow), Nothing()))
    await begun.wait()
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert ended == ["ended"]


PROGRAM = """
import sys

sys.path.insert(0, {path!r})

from contextlib import asynccontextmanager

from mcp_revisions import HttpOptions, run_http
from mcp_revisions import v2025_11_25 as mcp


@asynccontextmanager
async def lifespan(app):
    print("open", file=sys.stderr, flush=True)
    {fault}
    yield "ready"
    print("close", file=sys.stderr, flush=True)


app = mcp.App("me", lifespan=lifespan)


@app.tool
async def state(session: mcp.Session) -> str:
    return session.state


asgi = app.http(http=HttpOptions(sessions=False))

if __name__ == "__main__":
    {run}
"""


async def start_program(folder: Path, run: str, fault: str = "") -> asyncio.subprocess.Process:
    program = folder / "served.py"
    program.write_text(PROGRAM.format(path=str(ROOT / "generated"), run=run, fault=fault))
    pipe, command = asyncio.subprocess.PIPE, (sys.executable, str(program))
    return await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)


async def test_a_program_that_cannot_begin_ends_with_the_reason(tmp_path: Path) -> None:
    reason = f"LifespanError: {WHY}"
    for run, last in (
        ("app.run()", reason),
        (f"app.run('http', port={free_port()})", reason),
        # They are not replaced for ever.
        (f"run_http('served:asgi', workers=2, port={free_port()})", "before it could begin"),
    ):
        with case(run):
            process = await start_program(tmp_path, run, "raise OSError('no database')")
            async with asyncio.timeout(60):
                _, errors = await process.communicate()
            said = errors.decode()
            assert reason in said and last in said.splitlines()[-1]
            assert process.returncode == 1


async def test_a_program_over_http_enters_and_leaves_it(tmp_path: Path) -> None:
    port = free_port()
    process = await start_program(tmp_path, f"app.run('http', port={port})")
    assert process.stderr is not None
    assert await process.stderr.readline() == b"open\n"
    async with calling(port) as site:
        async with asyncio.timeout(20):
            while True:
                try:
                    found = await site.modern("tools/call", name="state")
                    break
                except Exception:
                    await asyncio.sleep(0.05)
        assert text_in(found) == "ready"
    process.send_signal(signal.SIGTERM)
    _, errors = await process.communicate()
    assert errors == b"close\n"
