"""HTTP over standard input and output, and over a Unix socket, between a client and a process."""

import asyncio
import json
import os
import re
import stat
import sys
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGINT, SIGTERM
from subprocess import PIPE, Popen
from typing import Any

import pytest
from mcp_protogen.runtime.core.connection_errors import Disconnected
from mcp_protogen.runtime.transports.base import Opener
from mcp_protogen.servers.connect.traffic import tap_opener
from mcp_revisions import REVISIONS, connect, load, stdio_client
from support.coroutines import until
from support.json_types import JsonObject
from support.rehearsals.transports import program
from support.rehearsals.transports.http2 import Http2End, Stream
from support.rehearsals.transports.stdio_v2 import stdio_v2_client
from support.revisions import OLD, STATELESS
from support.sessions.talking import META, request

PROGRAM = (sys.executable, str(program.__file__))
ENV = {"PYTHONPATH": os.pathsep.join(sys.path)}
ERAS = (OLD, STATELESS)

# Over HTTP, the ids of a server's requests are random, as is the key of the state of a question.
RANDOM = re.compile(rb'"(requestState|id)":"[^"]*"')

Lines = list[str]


def open_program(opener: Callable[..., Opener], *words: str, lines: Lines | None = None) -> Opener:
    noted = [] if lines is None else lines
    return opener([*PROGRAM, *words], env=ENV, stderr=noted.append, grace=10.0)


@asynccontextmanager
async def talk_over(open: Opener, revision: str) -> AsyncGenerator[Any, None]:
    module, (spoken,) = load(revision), [found for found in REVISIONS if found.id == revision]

    class Client(module.Client):  # type: ignore[misc, name-defined]
        async def on_elicit(self, params: Any) -> Any:
            return module.models.ElicitResult(action="accept", content={"value": "Ada"})

    async with connect(open, Client(), revisions=[spoken]) as client:
        yield client


async def text_of(client: Any, tool: str, **arguments: Any) -> str:
    return str((await client.call_tool(tool, arguments)).text)


@pytest.mark.parametrize("revision", ERAS)
async def test_messages_are_those_of_stdio(revision: str) -> None:
    said: dict[str, list[tuple[str, bytes]]] = {}
    for way, opener in (("stdio", stdio_client), ("stdio-v2", stdio_v2_client)):
        passed = said[way] = []

        def note(sender: str, data: bytes, passed: list[tuple[str, bytes]] = passed) -> None:
            passed.append((sender, RANDOM.sub(rb'"\1":1', data)))

        async with talk_over(tap_opener(open_program(opener, way), note), revision) as client:
            assert [tool.name async for tool in client.iter_tools()]
            assert await text_of(client, "echo", text="ä\n") == "ä\n"
            assert await text_of(client, "name") == "Accepted(value='Ada')"
            assert (await client.call_tool("slow", {"seconds": "x"})).is_error
    assert said["stdio-v2"] == said["stdio"]


@pytest.mark.parametrize("revision", ERAS)
async def test_large_bodies_and_many_calls_go_on_together(revision: str) -> None:
    async with talk_over(open_program(stdio_v2_client, "stdio-v2"), revision) as client:
        texts = ["x" * size for size in (2_000_000, 500_000, *range(100))]
        waiting = asyncio.create_task(client.call_tool("slow", {"seconds": 60}))
        said = await asyncio.gather(*(text_of(client, "echo", text=text) for text in texts))
        assert said == texts
        waiting.cancel()


@pytest.mark.parametrize("revision", ERAS)
async def test_a_cancelled_call_ends_at_the_server(revision: str) -> None:
    lines: Lines = []
    open = open_program(stdio_v2_client, "stdio-v2", lines=lines)
    async with talk_over(open, revision) as client:
        call = asyncio.create_task(client.call_tool("slow", {"seconds": 60}))
        await until(lambda: "begun" in lines)
        call.cancel()
        await until(lambda: "cancelled" in lines)
        assert await text_of(client, "echo", text="on") == "on"


@pytest.mark.parametrize("revision", ERAS)
async def test_a_program_that_ends_early_ends_calls_with_its_code_and_last_lines(
    revision: str,
) -> None:
    async with talk_over(open_program(stdio_v2_client, "stdio-v2"), revision) as client:
        waiting = asyncio.create_task(client.call_tool("slow", {"seconds": 60}))
        for call in (client.call_tool("fail"), waiting, client.call_tool("echo", {"text": "x"})):
            with pytest.raises(Disconnected, match=r"ended with code 7; .*\n.*no more paper"):
                await call


@pytest.mark.parametrize(
    ("opener", "words", "shown"),
    [
        (stdio_v2_client, ["-c", "print('ready', flush=True); input()"], "wrote 'ready' where"),
        (stdio_v2_client, [program.__file__, "stdio"], 'wrote \'{"jsonrpc":"2.0","error"'),
        (stdio_v2_client, ["-c", "exit('no key')"], "ended with code 1; its last output.*\nno key"),
        (stdio_client, [program.__file__, "stdio-v2"], "transport stdio-v2 is HTTP/2: choose it"),
    ],
)
async def test_wrong_sides_are_told_apart_at_once(
    opener: Callable[..., Opener], words: Sequence[str], shown: str
) -> None:
    lines: Lines = []
    open = opener([sys.executable, *words], env=ENV, stderr=lines.append)
    with pytest.raises(Disconnected, match=re.escape(shown).replace(r"\.\*", "(?s:.*)")):
        async with asyncio.timeout(20), connect(open):
            raise AssertionError("it has connected")


class ByHand:
    """A client of a program that is played by hand."""

    def __init__(self, *words: str) -> None:
        environment = {**os.environ, **ENV}
        command = [*PROGRAM, *words]
        self.process = Popen(command, env=environment, stdin=PIPE, stdout=PIPE, stderr=PIPE)
        self.end = Http2End("client")

    def post(self, id: int, method: str, params: JsonObject) -> Stream:
        """Send a request of the stateless era."""
        body = request(method, id, **params, _meta=META)
        fields = {":method": "POST", ":scheme": "http", ":authority": "a.test", ":path": "/mcp"}
        fields |= {"content-type": "application/json", "mcp-protocol-version": STATELESS}
        fields |= {"mcp-method": method, "mcp-name": params["name"]}
        stream = self.end.open([(name.encode(), text.encode()) for name, text in fields.items()])
        assert stream is not None
        self.end.send(stream, memoryview(json.dumps(body).encode()), end=True)
        assert self.process.stdin is not None
        self.process.stdin.write(self.end.take_output())
        self.process.stdin.flush()
        return stream

    def wait_line(self) -> None:
        """Wait for a line on standard error."""
        assert self.process.stderr is not None
        self.process.stderr.readline()

    def finish(self, last: bytes = b"") -> bytes:
        """Write its last input, read all its output, and return the rest of its standard error."""
        out, err = self.process.communicate(last, timeout=60)
        self.end.receive(out)
        return err


@pytest.mark.parametrize(
    ("seconds", "drain", "signals", "shown"),
    [
        (0.2, "3", [], "slept"),
        (60, "0.1", [], "-32603"),
        (60, "0.5", [SIGTERM], "-32603"),
        (60, "0.5", [SIGINT], "-32603"),
    ],
)
def test_requests_at_the_end_are_answered_within_the_drain(
    seconds: float, drain: str, signals: Sequence[int], shown: str
) -> None:
    hand = ByHand("stdio-v2", drain)
    call = {"name": "slow", "arguments": {"seconds": seconds}}
    stream = hand.post(1, "tools/call", call)
    hand.wait_line()
    for number in signals:
        hand.process.send_signal(number)
        # The client goes while handlers still have time.
        time.sleep(0.1)
    errors = hand.finish()
    assert shown in stream.body.decode()
    assert stream.is_complete
    assert hand.process.returncode == 0
    assert b"Traceback" not in errors


def test_a_client_that_breaks_the_rules_is_told_so_by_both_ways() -> None:
    hand = ByHand("stdio-v2")
    hand.post(1, "tools/call", {"name": "slow", "arguments": {"seconds": 60}})
    hand.wait_line()
    errors = hand.finish(bytes(9))
    assert hand.end.over == "the server ended the connection: PROTOCOL_ERROR"
    assert b"the client broke the rules of HTTP/2" in errors.splitlines()[-1]
    assert hand.process.returncode == 1


FAILING = """
from contextlib import asynccontextmanager
from mcp_revisions import run_stdio
from mcp_revisions.v2026_07_28 import Server
from support.rehearsals.transports.stdio_v2 import serve_stdio_v2

class Failing(Server):
    @asynccontextmanager
    async def lifespan(self):
        raise ValueError("no database")
        yield

run_stdio(Failing(), serve=serve_stdio_v2)
"""


async def test_a_lifespan_that_fails_ends_the_program() -> None:
    lines: Lines = []
    open = stdio_v2_client([sys.executable, "-c", FAILING], env=ENV, stderr=lines.append)
    with pytest.raises(Disconnected, match="ended with code 1"):
        async with connect(open):
            raise AssertionError("it has connected")
    assert lines[-1].endswith(
        "LifespanError: the lifespan of Failing failed: ValueError: no database"
    )


async def test_clients_of_the_same_user_share_a_server_at_a_socket(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    command = [*PROGRAM, f"unix:{path}", "0.1"]
    process = Popen(command, env={**os.environ, **ENV}, stdout=PIPE)
    try:
        await until(path.exists)
        mode = path.stat().st_mode
        assert (stat.S_ISSOCK(mode), stat.S_IMODE(mode)) == (True, 0o600)
        opener = stdio_v2_client([f"unix:{path}"])
        async with talk_over(opener, OLD) as one, talk_over(opener, STATELESS) as other:
            assert await text_of(one, "echo", text="one") == "one"
            assert await text_of(other, "name") == "Accepted(value='Ada')"
    finally:
        process.terminate()
        process.communicate(timeout=60)
    for place, why in ((path, "No such file"), (tmp_path / ("x" * 200), "AF_UNIX path too long")):
        with pytest.raises(Disconnected, match=f"cannot connect to unix:{place}: {why}"):
            async with talk_over(stdio_v2_client([f"unix:{place}"]), OLD):
                pass
