"""A server in development: versions that replace each other, and lines for its author."""

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.servers.connect.named_server import NamedServer
from mcp_protogen.servers.dev import dev_server
from mcp_protogen.servers.dev.dev_server import DevServer
from mcp_protogen.servers.dev.watching import WatchedFiles
from mcp_protogen.servers.inspect.rule_faults import Fault
from mcp_protogen.servers.inspect.rules import RuleLevel, Violation, rules
from mcp_protogen.servers.inspect.transcript import Exchange, Transcript
from mcp_revisions import Bridge, McpError, Opener, Transport, bridge_app, connect, in_memory
from mcp_revisions import v2025_11_25 as mcp
from support.coroutines import run
from support.http.serving import calling_app, chosen_of_runs, text_in
from support.patience import PATIENCE
from support.running import Run
from support.tables import case

NAMED = NamedServer(name="server.py")
GONE = "the file server.py does not exist"
SYNTAX = "SyntaxError: invalid syntax"
ENDED = "the server ended with code 1; its last output on standard error:"


class Author:
    """The author of a server: saves versions, and reads what `dev` shows."""

    def __init__(self, *tools: str) -> None:
        self.version: mcp.App | None = None
        self.lines: list[str] = []
        self._edits = asyncio.Queue[Sequence[str]]()
        self.write(*tools)

    def write(self, *tools: str) -> None:
        """Write a version with these tools; without any, it cannot be started."""
        self.version = mcp.App("notes", version="1") if tools else None
        for name in tools:
            self._add_tool(name)

    def _add_tool(self, name: str) -> None:
        assert self.version is not None

        @self.version.tool(name=name)
        def of_this() -> str:
            return name

        del of_this

    async def save(self, *tools: str) -> None:
        """Save a version, and wait until the last line about it is shown."""
        self.write(*tools)
        await self.edit()
        end = "notes 1: ", "nothing serves", "clients keep"
        seen = len(self.lines)
        while not any(line.startswith(end) for line in self.lines[seen:]):
            await asyncio.sleep(0.01)

    async def edit(self, *names: str) -> None:
        await self._edits.put(names or ["server.py"])

    async def edits(self) -> AsyncIterator[Sequence[str]]:
        while True:
            yield await self._edits.get()

    def opener(self, server: NamedServer) -> Opener:
        async def open() -> Any:
            if self.version is None:
                assert callable(server.stderr)
                server.stderr("Traceback:")
                server.stderr(f"  {SYNTAX}")
                raise Disconnected(f"{ENDED}\nTraceback:\n  {SYNTAX}")
            return await in_memory(self.version)()

        return open

    @asynccontextmanager
    async def developing(self, *, inspects: bool = False) -> AsyncGenerator[DevServer, None]:
        server = DevServer(NAMED, self.lines.append, inspects=inspects)
        async with server.run(self.edits()):
            yield server


@pytest.fixture
def new_author(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Author]:
    """Makes the author of the only server that there is."""

    def make(*tools: str) -> Author:
        author = Author(*tools)

        def opener(server: NamedServer) -> Opener:
            return author.opener(server)

        monkeypatch.setattr(NamedServer, "opener", opener)
        return author

    return make


async def tools_of(client: Any) -> list[str]:
    return sorted([tool.name async for tool in client.iter_tools()])


async def test_client_of_the_bridge_sees_each_version(new_author: Callable[..., Author]) -> None:
    author = new_author("read")
    async with (
        author.developing() as server,
        connect(server.open, mcp.Client()) as client,
    ):
        assert await tools_of(client) == ["read"]
        await author.save("read", "write")
        assert await tools_of(client) == ["read", "write"]
        await author.save("write")
        assert await tools_of(client) == ["write"]
    assert author.lines == [
        *("notes 1: 1 tool", "server.py changed", "notes 1: 2 tools", "  tool write: added"),
        *("server.py changed", "notes 1: 1 tool", "  tool read: removed"),
    ]


async def test_many_changed_files_are_counted(new_author: Callable[..., Author]) -> None:
    author = new_author("read")
    async with author.developing():
        await author.edit(*"edcba")
        while "a, b, c and 2 more changed" not in author.lines:
            await asyncio.sleep(0.01)


async def test_client_keeps_the_last_version_if_the_next_cannot_be_started(
    new_author: Callable[..., Author],
) -> None:
    author = new_author("read")
    async with author.developing() as server, connect(server.open, mcp.Client()) as client:
        await author.save()
        assert await tools_of(client) == ["read"]
        assert author.lines[2:] == [
            f"error[no-connection]: server.py: {ENDED}",
            *("  Traceback:", f"    {SYNTAX}"),
            "clients keep the last version; the server is started again after an edit",
        ]
        async with connect(server.open, mcp.Client()) as another:
            with pytest.raises(McpError, match=f"server.py cannot be started: {SYNTAX}"):
                await tools_of(another)
            await author.save("read", "write")
            assert await tools_of(client) == await tools_of(another) == ["read", "write"]


async def test_server_that_cannot_be_started_at_first_is_served_after_an_edit(
    new_author: Callable[..., Author],
) -> None:
    author = new_author()
    async with author.developing() as server, connect(server.open, mcp.Client()) as client:
        with pytest.raises(McpError, match=f"server.py cannot be started: {SYNTAX}; it is"):
            await client.call_tool("read", {})
        assert author.lines[-1].startswith("nothing serves yet")
        await author.save("read")
        assert await tools_of(client) == ["read"]


async def test_deleted_server_is_served_again_when_its_file_is_back(
    new_author: Callable[..., Author], monkeypatch: pytest.MonkeyPatch
) -> None:
    author = new_author("read")
    async with author.developing() as server, connect(server.open, mcp.Client()) as client:
        with monkeypatch.context() as patch:
            patch.setattr(author, "opener", _refuse)
            await author.save("write")
        assert await tools_of(client) == ["read"]
        assert f"error[no-server]: server.py: {GONE}" in author.lines
        await author.save("write")
        assert await tools_of(client) == ["write"]


def _refuse(server: NamedServer) -> Opener:
    raise ProblemError(Problem("no-server", GONE, server.safe_text))


async def test_edit_replaces_a_version_that_hangs_at_its_start(
    new_author: Callable[..., Author], monkeypatch: pytest.MonkeyPatch
) -> None:
    author, is_started, is_ended = new_author("read"), asyncio.Event(), asyncio.Event()

    def hangs(server: NamedServer) -> Opener:
        async def hang() -> Transport:
            is_started.set()
            try:
                await asyncio.Event().wait()
            finally:
                is_ended.set()
            raise AssertionError

        return hang

    async with author.developing() as server, connect(server.open, mcp.Client()) as client:
        with monkeypatch.context() as patch:
            patch.setattr(author, "opener", hangs)
            await author.edit()
            await is_started.wait()
            assert await tools_of(client) == ["read"]
        await author.save("write")
        assert await tools_of(client) == ["write"]
        await is_ended.wait()
        assert not [line for line in author.lines if "error" in line]


async def test_client_that_leaves_during_a_start_gets_no_further_process(
    new_author: Callable[..., Author], monkeypatch: pytest.MonkeyPatch
) -> None:
    author = new_author("read")
    started: list[None] = []
    open_memory = author.opener(NAMED)

    def opener(server: NamedServer) -> Opener:
        async def hang() -> Transport:
            started.append(None)
            await asyncio.Event().wait()
            raise AssertionError

        # The process that is only tried answers.
        return hang if server.stderr is None else open_memory

    monkeypatch.setattr(NamedServer, "opener", opener)
    async with author.developing() as server:
        opening = asyncio.create_task(server.open())
        while not started:
            await asyncio.sleep(0.01)
        opening.cancel()
        await author.save("read", "write")
        assert len(started) == 1 and opening.cancelled()


async def test_http_session_goes_on_with_each_version(new_author: Callable[..., Author]) -> None:
    author = new_author("read")
    async with (
        author.developing() as server,
        calling_app(bridge_app(Bridge, server.open)) as site,
    ):
        session = await site.initialize()
        assert text_in(await session.call("read", 1)) == "read"
        assert text_in(await site.modern("tools/call", name="read")) == "read"
        await author.save("write")
        assert text_in(await session.call("write", 2)) == "write"
        assert text_in(await site.modern("tools/call", name="write")) == "write"
    assert "a session was ended" not in "".join(author.lines)


def test_command_notices_a_saved_file_while_it_serves_http(
    new_author: Callable[..., Author],
    mcp_gen: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    author, file, chosen = new_author("read"), Path("server.py"), chosen_of_runs(monkeypatch)
    file.touch()
    assert mcp_gen("dev", "server.py", "--http", "8000", "--no-inspect").code == 0

    async def save_and_call() -> None:
        async with calling_app(chosen[0].app) as site:
            session = await site.initialize()
            assert text_in(await session.call("read", 1)) == "read"
            author.write("write")
            file.write_text("# saved")
            shown = ""
            while "tool read: renamed (read → write)" not in shown:
                await asyncio.sleep(0.01)
                shown += capsys.readouterr().err
            assert "dev: server.py changed\n" in shown
            assert text_in(await session.call("write", 2)) == "write"

    run(save_and_call(), PATIENCE)


async def test_only_new_findings_are_shown(
    new_author: Callable[..., Author], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [["title", "name"], ["name", "uri"], []]
    transcripts = Transcript(revision="2025-11-25", transport="stdio")

    async def record(*_: object) -> list[Transcript]:
        return [transcripts]

    def judge(_: object) -> list[Violation]:
        return [_violation(item) for item in found.pop(0)]

    monkeypatch.setattr(dev_server, "server_of", repr)
    monkeypatch.setattr(dev_server, "record_transcripts", record)
    monkeypatch.setattr(dev_server, "judge", judge)
    monkeypatch.setattr(transcripts, "exchanges", [Exchange(probe="open")])
    author = new_author("read")
    async with author.developing(inspects=True):
        for number in range(1, 4):
            while sum("inspect: " in line for line in author.lines) < number:
                await asyncio.sleep(0.01)
            await asyncio.sleep(0.01)
            if number < 3:
                await author.save("read")
    shown = [line for line in author.lines if "inspect" in line or "[" in line]
    rule = next(iter(rules().values())).code
    assert shown == [
        "inspect: It speaks none of the revisions: 2 findings, 2 MUST.",
        *(f"  MUST [{rule}] title: it is wrong", f"  MUST [{rule}] name: it is wrong"),
        "inspect: It speaks none of the revisions: 2 findings, 2 MUST.",
        f"  MUST [{rule}] uri: it is wrong",
        "inspect: It speaks none of the revisions.",
    ]


def _violation(item: str) -> Violation:
    rule = next(iter(rules().values()))
    fault = Fault(code=rule.code, item=item, message="it is wrong")
    about: dict[str, Any] = {"level": RuleLevel.MUST, "revision": "", "number": 1}
    return Violation(rule=rule, example=fault, transcripts=(), **about)


def test_files_to_watch_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for name in ("src/server.py", "src/server.js", "mcp.json"):
        (tmp_path / name).touch()
    servers = {"mine": {"command": "node", "args": ["src/server.js"]}}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    more = [Path("mcp.json")]
    found: dict[str, tuple[NamedServer, Sequence[Path], list[str]]] = {
        "a file": (NamedServer(name="src/server.py"), (), ["src"]),
        "a command": (NamedServer(name="node server.js", cwd=Path("src")), (), ["src"]),
        "a name": (NamedServer(name="mine", config=Path("mcp.json")), (), ["src"]),
        "a package": (NamedServer(name="uvx server"), more, ["mcp.json"]),
        "more": (NamedServer(name="src/server.py"), more, ["mcp.json", "src"]),
    }
    for name, (server, given, paths) in found.items():
        with case(name):
            watched = WatchedFiles(server, given).paths
            assert [*watched] == [(tmp_path / path).resolve() for path in paths]


def test_server_that_cannot_be_watched_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    here = NamedServer(name=f"{sys.executable} {__file__}")
    refused: dict[str, tuple[NamedServer, Sequence[Path], str]] = {
        "a URL": (NamedServer(name="https://x.example/mcp"), (), "dev starts programs"),
        "a package": (NamedServer(name="uvx server"), (), "--watch PATH"),
        "no such path": (here, [Path("nowhere")], "nowhere, which does not exist"),
    }
    for name, (server, more, text) in refused.items():
        with case(name), pytest.raises(ProblemError, match=text):
            WatchedFiles(server, more)
    monkeypatch.setitem(sys.modules, "watchfiles", None)
    with pytest.raises(ProblemError, match=r"missing-package.*\n.*extra watch"):
        WatchedFiles(here, ())
