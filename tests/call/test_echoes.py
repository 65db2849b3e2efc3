"""Programs and addresses in place of servers are refused, and named with what they did."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from mcp_protogen.runtime.core.connection_errors import Disconnected, RequestTimeout
from mcp_protogen.servers.call.connections import Abilities, Client, connect_client
from mcp_protogen.servers.connect.echoes import ECHO, refuse_echoes
from mcp_revisions import Opener, in_memory
from support.calling.servers import new_server
from support.running import Run
from support.tables import case


class Program:
    """A transport to a program that writes lines for each line that it reads."""

    def __init__(self, write: Callable[[bytes], Iterable[bytes]]) -> None:
        self._write = write
        self._written = asyncio.Queue[bytes]()

    async def send(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            for line in self._write(message):
                self._written.put_nowait(line)

    async def receive(self) -> Sequence[bytes]:
        return [await self._written.get()]

    async def close(self) -> None:
        """Free nothing."""


def starting(write: Callable[[bytes], Iterable[bytes]]) -> Opener:
    """Return an opener that starts the program anew each time."""

    async def open() -> Program:
        return Program(write)

    return open


def answer(message: bytes) -> list[bytes]:
    """Return the answers of a small server."""
    call = json.loads(message)
    if "id" not in call:
        return []
    result: dict[str, Any] = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "serverInfo": {"name": "small", "version": "1"},
    }
    if call["method"] == "initialize":
        return [json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()]
    error = {"code": -32601, "message": "unknown"}
    return [json.dumps({"jsonrpc": "2.0", "id": call["id"], "error": error}).encode()]


async def connect(opener: Opener) -> Client:
    async with connect_client(refuse_echoes(opener), Abilities(), timeout=30) as client:
        return client


@pytest.mark.skips_time
async def test_echoes_end_a_connection_before_its_time_limit() -> None:
    programs: dict[str, Callable[[bytes], Iterable[bytes]]] = {
        "cat": lambda message: [message],
        "jq": lambda message: [json.dumps(json.loads(message), indent=1).encode()],
        "behind a greeting": lambda message: [b"Welcome", message],
        "behind a number": lambda message: [b"1\t" + message],
        "in a sentence": lambda message: [b"you said: " + message + b"!"],
    }
    for name, write in programs.items():
        with case(name), pytest.raises(Disconnected, match=ECHO):
            await connect(starting(write))


@pytest.mark.skips_time
async def test_servers_may_write_requests_into_a_log_and_then_answer() -> None:
    opener = starting(lambda message: [b"Welcome", b"read: " + message, *answer(message)])
    client = await connect(opener)
    assert client.server_info is not None
    assert client.server_info.to_wire()["name"] == "small"


@pytest.mark.skips_time
async def test_a_program_that_writes_something_else_is_waited_for() -> None:
    with pytest.raises(RequestTimeout, match="the server wrote 'Welcome'"):
        await connect(starting(lambda message: [b"Welcome"]))


async def test_a_server_that_has_answered_may_repeat_itself() -> None:
    opener = refuse_echoes(in_memory(new_server()))
    async with connect_client(opener, Abilities()) as client:
        first = await client.call_tool("greet", {"name": "Ada"})
        assert await client.call_tool("greet", {"name": "Ada"}) == first
    assert first.to_wire()["content"] == [{"type": "text", "text": "Hello, Ada"}]


ADDRESSES = {
    "ftp://user:secret@host/x?secret": "ftp://host/x: no transport reaches addresses that begin",
    "ws://host/mcp": "ws://host/mcp: no transport reaches",
    "file:///etc/hosts": "file:///etc/hosts: no transport reaches",
}


def test_addresses_that_no_transport_reaches_are_refused_by_each_command(mcp_gen: Run) -> None:
    for address, said in ADDRESSES.items():
        for line in (
            ["list", address],
            ["call", address, "greet"],
            ["read", address, "memo://today"],
            ["prompt", address, "invite"],
            ["inspect", address],
            ["bridge", "--to", address],
            ["client", address, "--out", "client.py", "--package", "mcp_revisions"],
        ):
            with case(line):
                ran = mcp_gen(*line)
                assert (ran.code, f"error[no-server]: {said}" in ran.err) == (2, True), ran
                assert "hint: give a URL that begins with http:// or https://" in ran.err
                assert "secret" not in ran.err


def test_programs_in_place_of_servers_are_named_with_what_they_did(mcp_gen: Run) -> None:
    for program, said in {
        "cat": f"error[no-connection]: cat: {ECHO}\n  hint: name a program that is a server",
        "true": "true: the server ended with code 0\n  hint: run the program by itself",
        "echo usage": "echo: the server wrote 'usage' where messages are expected; the",
        "gone-away": "cannot start gone-away: No such file or directory\n  hint: install the",
    }.items():
        with case(program):
            ran = mcp_gen("list", program)
            assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 2), ran
            assert said in ran.err
