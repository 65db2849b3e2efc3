"""Servers over HTTP as processes."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from support.folders import TESTS, environment
from support.peers.places import PROGRAMS, Command
from support.ports import free_port

pkg: Final[Any] = import_module("mcp_revisions")

# Seconds after which a peer is given up.
PATIENCE: Final = 60

ONLY_LOOPBACK: Final = TESTS / "conformance" / "only_loopback.cjs"


@dataclass
class Served:
    """A server that is running."""

    port: int
    process: Process
    errors: str = ""
    """What it has written to standard error so far."""

    async def wrote(self, text: str, since: int = 0) -> None:
        """Wait until it has written something to standard error, after that many characters."""
        async with asyncio.timeout(10):
            while text not in self.errors[since:]:
                await asyncio.sleep(0.01)

    async def listen(self) -> None:
        """Keep what it writes to standard error."""
        assert self.process.stderr is not None
        async for line in self.process.stderr:
            self.errors += line.decode()


@asynccontextmanager
async def served(*command: str | Path) -> AsyncGenerator[Served, None]:
    """Run a server; `PORT` in its arguments, and in the environment, is its port."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(str(port) if one == "PORT" else one for one in command),
        env={**os.environ, "PORT": str(port)},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    one = Served(port, process)
    errors = asyncio.create_task(one.listen())
    try:
        async with asyncio.timeout(PATIENCE):
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


def with_packages() -> Command:
    """What comes before the command of a process that imports our packages."""
    return ("env", f"PYTHONPATH={environment()['PYTHONPATH']}")


def our_server(*arguments: str) -> Command:
    """The command of a server made of our stubs; arguments as `our_server.py` takes them."""
    program = PROGRAMS / "http_our_server.py"
    return (*with_packages(), sys.executable, program, "PORT", *arguments)
