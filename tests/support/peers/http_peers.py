"""Servers over HTTP as processes."""

import asyncio
import os
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from support.folders import TESTS, environment
from support.http.behind import NUMBER, together
from support.http.forwarding import Forwarder
from support.http.serving import listens
from support.patience import PATIENCE
from support.peers.http_wire import run_proxy, wire_app
from support.peers.places import PROGRAMS, Command
from support.ports import free_port

ONLY_LOOPBACK: Final = TESTS / "conformance" / "only_loopback.cjs"


@dataclass
class Served:
    """A running server, perhaps of several processes."""

    port: int
    errors: str = ""
    """What it has written to standard error so far."""

    async def wrote(self, text: str, since: int = 0) -> None:
        """Wait until it has written something to standard error, after that many characters."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.errors[since:]:
                await asyncio.sleep(0.01)

    async def listen(self, process: Process) -> None:
        """Record the standard error of a process."""
        assert process.stderr is not None
        async for line in process.stderr:
            self.errors += line.decode()


@asynccontextmanager
async def serve_command(
    *command: str | Path, behind: str = "", port: int | None = None
) -> AsyncGenerator[Served, None]:
    """Run a server, or several `behind` a forwarder with that policy.

    `PORT` in its arguments, and in the environment, is its port: the given one, or a free one. All
    can write into the folder `MARKS` in the environment.
    """
    ports = [port or free_port() for _ in range(NUMBER if behind else 1)]
    one = Served(ports[0])
    async with AsyncExitStack() as stack:
        marks = stack.enter_context(TemporaryDirectory(prefix="marks-"))
        running = [_process(one, command, port, marks) for port in ports]
        async with together(running):
            if behind:
                apps = [await stack.enter_async_context(wire_app(port)) for port in ports]
                one.port = await stack.enter_async_context(run_proxy(Forwarder(apps, behind)))
            yield one


@asynccontextmanager
async def _process(
    one: Served, command: Command, port: int, marks: str
) -> AsyncGenerator[None, None]:
    process = await asyncio.create_subprocess_exec(
        *(str(port) if argument == "PORT" else argument for argument in command),
        env={**os.environ, "PORT": str(port), "MARKS": marks},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    errors = asyncio.create_task(one.listen(process))
    try:
        async with asyncio.timeout(PATIENCE):
            if not await listens(process, port):
                await errors
                raise AssertionError(f"it ended before it listened: {one.errors}")
        yield
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(PATIENCE):
                await errors
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"{command} did not end when it was told to") from None


def with_packages() -> Command:
    """Return the prefix of a command that imports our packages."""
    return ("env", f"PYTHONPATH={environment()['PYTHONPATH']}")


def our_server(*arguments: str) -> Command:
    """Return the command of a server with our stubs; arguments as for `our_server.py`."""
    program = PROGRAMS / "http_our_server.py"
    return (*with_packages(), sys.executable, program, "PORT", *arguments)
