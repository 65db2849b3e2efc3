"""The bridge as a process, between foreign clients and servers."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support.auth import browsing
from support.patience import PATIENCE
from support.peers import visits
from support.peers.oauth_visits import start_guarded
from support.peers.places import PROGRAMS, Command, node_modules, python_with
from support.peers.visits import Expected, Peers, Step
from support.sessions.talking import hello, pkg

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("foreign clients")]

BRIDGE = (sys.executable, "-m", "mcp_protogen", "bridge")
ADA = {"action": "accept", "content": {"name": "ada"}}
NAMES = ["ask", "change", "count", "echo", "log", "roots", "sample", "sleep"]
ROWS: list[tuple[Step, Expected]] = [
    (("tools",), NAMES),
    (("call", "echo", {"text": "hi"}), "hi"),
    (("call", "count", {"to": 3}, (), True), {"progress": list}),
    (("call", "log", {}), str),
    (("call", "sample", {}), str),
    (("call", "roots", {}), "file:///root"),
    (("call", "ask", {}, [ADA]), {"text": "accept ada"}),
    (("watch", "file:///a", 2, "change", {}), {"heard": list}),
    (("cancel", "sleep"), "cancelled"),
    (("call", "echo", {"text": "hi"}), "hi"),
]


def line(*words: str | Path) -> str:
    return " ".join(f"'{word}'" for word in words)


def visit_by(peers: Peers, client: str, server: str | Command) -> Any:
    async def visit() -> Any:
        visitor = await peers.visitor(client)
        return (await visitor.visit(server, [step for step, _ in ROWS]))[0]

    return peers.run(visit())


def test_a_client_of_a_program_reaches_a_server_over_http_and_again_without_it(
    peers: Peers, tmp_path: Path
) -> None:
    file = tmp_path / "traffic.jsonl"
    server = python_with("mcp-2"), PROGRAMS / "mcp2_server.py", "PORT"
    port = peers.run(peers.server(*server)).port
    url = f"http://127.0.0.1:{port}/mcp"
    live = (*BRIDGE, "--to", url, "--record", file, "--revision", "2025-11-25")
    seen = visit_by(peers, "TypeScript 1", live)
    # It forgets a request with its answer, and then hears of progress that came with that.
    late = "Received a progress notification for an unknown token"
    seen["errors"] = [error for error in seen["errors"] if late not in error]
    visits.check("TypeScript 1", seen, ROWS, errors=[])
    at_once = [(step, ... if "count" in step else expected) for step, expected in ROWS]
    again = visit_by(peers, "TypeScript 1", (*BRIDGE, "--replay", file))
    visits.check("TypeScript 1", again, at_once)
    said = [json.loads(line) for line in file.read_text().splitlines()]
    assert {entry.get("side") for entry in said} == {None, "client", "server"}
    assert "authorization" not in file.read_text().lower()


def test_a_client_over_http_reaches_the_reference_server_as_a_program(
    peers: Peers, tmp_path: Path
) -> None:
    file = tmp_path / "traffic.jsonl"
    everything = node_modules() / "@modelcontextprotocol" / "server-everything"
    command = line("node", everything / "dist" / "index.js")
    arguments = "--to", command, "--http", "PORT", "--log-format", "json", "--log-level", "info"

    async def script() -> None:
        server = await peers.server(*BRIDGE, *arguments, "--record", str(file))
        await server.wrote("serving http")
        url = f"http://127.0.0.1:{server.port}/mcp"
        for revision in ("2025-11-25", "2026-07-28"):
            chosen = [candidate for candidate in pkg.REVISIONS if candidate.id == revision]
            own: Any = chosen[0].load()
            connecting: Any = pkg.connect_http(url, own.Client())
            async with connecting as client:
                assert client.revision == revision
                assert (await client.call_tool("echo", {"message": "hi"})).text == "Echo: hi"
        async with httpx2.AsyncClient() as http:
            assert (await http.get(f"{url[:-3]}health")).json() == {"status": "ok"}
        assert all(
            json.loads(line)["level"] for line in server.errors.splitlines() if line[:1] == "{"
        )
        visitor = await peers.visitor("TypeScript 2")
        step = "call", "echo", {"message": "hi"}
        seen, _ = await visitor.visit(url, [step])
        visits.check("TypeScript 2", seen, [(step, "Echo: hi")])

    peers.run(script())
    said = [json.loads(line) for line in file.read_text().splitlines()[1:]]
    passed = [entry for entry in said if entry["side"] == "client"]
    calls = [
        entry
        for entry in passed
        if entry["message"].get("method") == "tools/call"
        # The server asks for roots some time after the handshake, perhaps within a call.
        and "inputResponses" not in entry["message"]["params"]
    ]
    answers = [entry for entry in passed if "Echo: hi" in str(entry["message"].get("result"))]
    assert [entry["sender"] for entry in calls] == ["client"] * 3
    assert [entry["sender"] for entry in answers] == ["server"] * 3


def test_the_user_logs_in_once_for_a_client_that_cannot(peers: Peers, tmp_path: Path) -> None:
    async def script() -> None:
        site = await start_guarded(peers)
        told = {"BROWSER": browsing.COMMAND, "MCP_GEN_CONFIG": str(tmp_path)}
        command = (*BRIDGE, "--to", site.url)
        for asked in (1, 0):
            site.issuer.requests.clear()
            opener = pkg.stdio_client(command, env=told, inherit=True, stderr=str)
            async with pkg.connect(opener) as client:
                assert (await client.call_tool("whoami")).text == "ada"
            assert len(site.issuer.requests_to("token")) == asked

    peers.run(script())
    assert (tmp_path / "tokens.json").stat().st_mode & 0o077 == 0


# A shell starts background jobs like this.
IN_BACKGROUND = ("sh", "-c", 'trap "" INT; exec "$@"', "sh")


@asynccontextmanager
async def start_bridge(
    *arguments: str, by: Sequence[str] = ()
) -> AsyncGenerator[asyncio.subprocess.Process, None]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *by, *BRIDGE, *arguments, stdin=pipe, stdout=pipe, stderr=pipe, env={**os.environ}
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


@pytest.mark.parametrize("by", [(), IN_BACKGROUND], ids=["foreground", "background"])
async def test_bridge_ends_in_order_on_signal(by: Sequence[str]) -> None:
    server = line(sys.executable, "-c", "input()")
    async with start_bridge("--to", server, "--log-level", "info", by=by) as one:
        assert one.stderr is not None
        while b"waiting" not in await one.stderr.readline():
            pass
        one.send_signal(signal.SIGTERM)
        out, err = await asyncio.wait_for(one.communicate(), PATIENCE)
        assert (one.returncode, out) == (0, b""), err.decode()


async def test_a_host_sees_that_there_is_no_server_and_its_user_sees_why() -> None:
    async with start_bridge("--to", "/nowhere/server") as one:
        out, errors = await asyncio.wait_for(
            one.communicate(json.dumps(hello()).encode()), PATIENCE
        )
    answer = json.loads(out)
    assert answer["error"] == {"code": -32603, "message": "The server cannot be reached"}
    assert one.returncode == 2
    assert b"error[no-connection]: server" in errors
