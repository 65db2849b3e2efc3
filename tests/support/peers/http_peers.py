"""Servers over HTTP as processes."""

import asyncio
import os
import re
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from support.folders import TESTS, environment
from support.http.behind import Forwarder, together
from support.patience import PATIENCE
from support.peers.http_wire import run_proxy, wire_app
from support.peers.places import PROGRAMS, Command
from support.ports import free_port

ONLY_LOOPBACK: Final = TESTS / "conformance" / "only_loopback.cjs"


class Served:
    """A running server, perhaps of several processes."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.processes: list[Process] = []
        self.errors = ""
        """What it has written to standard error so far."""
        self._reading: list[asyncio.Task[None]] = []

    async def wrote(self, text: str, since: int = 0) -> None:
        """Wait until it has written something to standard error, after that many characters."""
        async with asyncio.timeout(PATIENCE):
            while text not in self.errors[since:]:
                await asyncio.sleep(0.01)

    def take(self, process: Process) -> None:
        """Record the standard error of a process of it."""
        self.processes.append(process)
        self._reading.append(asyncio.create_task(self._read(process)))

    async def _read(self, process: Process) -> None:
        assert process.stderr is not None
        async for line in process.stderr:
            self.errors += line.decode()

    async def stop(self) -> tuple[int, str]:
        """Terminate it; return an exit code and its standard error."""
        for process in self.processes:
            if process.returncode is None:
                process.terminate()
        codes = [await process.wait() for process in self.processes]
        await asyncio.gather(*self._reading)
        return codes[0], self.errors


@asynccontextmanager
async def serve_command(
    *command: str | Path, workers: int = 1, port: int | None = None
) -> AsyncGenerator[Served, None]:
    """Run a server, or several workers behind a forwarder.

    `PORT` in its arguments, and in the environment, is its port: the given one, or a free one. All
    can write into the folder `MARKS` in the environment.
    """
    ports = [port or free_port() for _ in range(workers)]
    one = Served(ports[0])
    async with AsyncExitStack() as stack:
        marks = stack.enter_context(TemporaryDirectory(prefix="marks-"))
        running = [_process(one, command, port, marks) for port in ports]
        async with together(running):
            if workers > 1:
                apps = [await stack.enter_async_context(wire_app(port)) for port in ports]
                one.port = await stack.enter_async_context(run_proxy(Forwarder(apps)))
            yield one


@asynccontextmanager
async def _process(
    one: Served, command: Command, port: int, marks: str
) -> AsyncGenerator[None, None]:
    process = await asyncio.create_subprocess_exec(
        *(re.sub(r"^PORT$|(?<=:)PORT$", str(port), str(word)) for word in command),
        env={**os.environ, "PORT": str(port), "MARKS": marks},
        stdin=DEVNULL,
        stdout=DEVNULL,
        stderr=PIPE,
    )
    one.take(process)
    try:
        async with asyncio.timeout(PATIENCE):
            if not await _listens(process, port):
                raise AssertionError(f"it ended before it listened: {await one.stop()}")
        yield
    finally:
        try:
            async with asyncio.timeout(PATIENCE):
                await one.stop()
        except TimeoutError:
            process.kill()
            await process.wait()
            raise AssertionError(f"{command} did not end when it was told to") from None


async def _listens(process: Process, port: int) -> bool:
    """Wait until a process listens on a port; return False if it ends before."""
    while process.returncode is None:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            # Nothing else tells that it is ready.
            await asyncio.sleep(0.02)
        else:
            writer.close()
            await writer.wait_closed()
            return True
    return False


def serve_module(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> AbstractAsyncContextManager[Served]:
    """Run a Python module or file as a server; arguments as for `serve_command`."""
    variables = (f"{name}={value}" for name, value in (environment or {}).items())
    python = (sys.executable, *([] if module.endswith(".py") else ["-m"]))
    return serve_command(*with_packages(), *variables, *python, module, *arguments)


def with_packages() -> Command:
    """Return the prefix of a command that imports our packages."""
    return ("env", f"PYTHONPATH={environment()['PYTHONPATH']}")


def our_server(*arguments: str) -> Command:
    """Return the command of a server with our stubs; arguments as for `our_server.py`."""
    program = PROGRAMS / "http_our_server.py"
    return (*with_packages(), sys.executable, program, "PORT", *arguments)
