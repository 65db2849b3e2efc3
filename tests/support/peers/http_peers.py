"""Servers and clients over HTTP as processes, with a relay between them that sees what passes."""

import asyncio
import json
import os
import random
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from support.folders import TESTS, environment
from support.json_types import JsonObject
from support.peers.http_wire import Wire, wire_to
from support.peers.places import PROGRAMS

pkg: Final[Any] = import_module("mcp_revisions")

# Seconds after which a peer is given up.
_PATIENCE: Final = 60

# Of a port that is asked for a moment later; others get theirs from above this.
_PORTS: Final = range(20_000, 32_000)

ONLY_LOOPBACK: Final = TESTS / "conformance" / "only_loopback.cjs"


def free_port() -> int:
    """A port that nobody listens on, and that the system gives to nobody by itself."""
    while True:
        port = random.choice(_PORTS)
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@dataclass
class Served:
    """A server that is running."""

    port: int
    process: Process
    errors: str = ""
    """What it has written to standard error so far."""

    async def wrote(self, text: str) -> None:
        """Wait until it has written something to standard error."""
        async with asyncio.timeout(10):
            while text not in self.errors:
                await asyncio.sleep(0.01)

    async def listen(self) -> None:
        """Keep what it writes to standard error."""
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.errors += line.decode()


@asynccontextmanager
async def served(
    *command: str | Path, more: Mapping[str, str] | None = None
) -> AsyncGenerator[Served, None]:
    """Run a server; `PORT` in its arguments, and in the environment, is its port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(str(port) if one == "PORT" else one for one in command),
        env={**os.environ, "PORT": str(port), **(more or {})},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    one = Served(port, process)
    errors = asyncio.create_task(one.listen())
    try:
        async with asyncio.timeout(_PATIENCE):
            await _listens(one, errors)
        yield one
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(10):
                await errors
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"{command} did not end when it was told to") from None


async def _listens(one: Served, errors: asyncio.Task[None]) -> None:
    while one.process.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", one.port)
        except ConnectionRefusedError:
            # There is nothing to wait for but that.
            await asyncio.sleep(0.02)
        else:
            writer.close()
            await writer.wait_closed()
            return
    await errors
    raise AssertionError(f"it ended before it listened: {one.errors}")


def our_server(*arguments: str) -> tuple[str | Path, ...]:
    """The command of a server made of our stubs; arguments as `our_server.py` takes them."""
    return (sys.executable, PROGRAMS / "http_our_server.py", "PORT", *arguments)


async def ended(command: Sequence[str | Path]) -> tuple[int | None, str, str]:
    """How a client has ended, and what it wrote to standard output and standard error."""
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=PIPE)
    try:
        async with asyncio.timeout(_PATIENCE):
            output, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        _, errors = await process.communicate()
        raise AssertionError(f"{command} did not end: {errors.decode()}") from None
    return process.returncode, output.decode(), errors.decode()


@dataclass
class Visit:
    """What a client saw of our server, what passed between them, and what the server wrote.

    A client that has failed has seen nothing; `why` is what it wrote.
    """

    seen: JsonObject
    wire: Wire
    errors: str
    why: str = ""


def visit(
    client: Sequence[str | Path],
    *arguments: str,
    path: str = "/mcp",
    cut_after: bytes | None = None,
    fails: bool = False,
) -> Visit:
    """Let a client, which is given the URL as its last argument, use our server."""

    async def main() -> Visit:
        async with (
            served(*our_server(*arguments), more=environment()) as server,
            wire_to(server.port, cut_after=cut_after) as wire,
        ):
            url = f"http://127.0.0.1:{wire.port}{path}"
            code, output, why = await ended([*client, url])
        assert (code != 0) == fails, why
        seen: JsonObject = {} if fails else json.loads(output)
        return Visit(seen, wire, server.errors, why)

    return asyncio.run(main())
