"""A program that reads lines and answers them: starting it, waiting for it, and ending it.

The end of its standard error is kept. However its use ends, it is stopped afterwards with
everything that it started in its session. A process in another session may keep the pipes open, and
is not waited for. The same happens before a signal ends this process: Ctrl-C raises an exception,
so that `finally` blocks run; SIGTERM (from supervisors and CI) and SIGHUP (from a closed terminal)
do not.
"""

import asyncio
import os
import shlex
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, cast

from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Problem, ProblemError

_GRACE = 2.0  # seconds to end after the last question, and to print the last output
_KEPT = 8192  # bytes of standard error, from the end
_SHOWN = 300
_LONGEST = 200  # characters of a command line


@dataclass(frozen=True, slots=True)
class Start:
    """The start of a program; `limit` is the longest line it may write, in bytes."""

    command: tuple[str, ...]
    cwd: Path | None
    limit: int

    @property
    def place(self) -> str:
        """The name of the program in problems, shortened if the command line is long."""
        line = shlex.join(self.command)
        return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"


class Program(asyncio.SubprocessProtocol):
    """A running program, driven by asyncio."""

    def __init__(self, limit: int) -> None:
        self._lines = asyncio.StreamReader(limit=limit)
        self._noise = bytearray()
        self._said_all = asyncio.Event()
        self._exited = asyncio.Event()
        self._transport: asyncio.SubprocessTransport | None = None

    async def answer(self, line: bytes) -> bytes:
        """Write `line`, and return the next line of the program.

        Raise `asyncio.IncompleteReadError` if there are no more lines, and
        `asyncio.LimitOverrunError` for one that is too long.
        """
        self._input.write(line)  # a failure here also shows as a missing answer
        return await self._lines.readuntil(b"\n")

    async def ending(self) -> str:
        """Return how it ended, in words, after it has closed its output."""
        for event in (self._said_all, self._exited):
            await _wait_briefly(event)
        code = self._live_transport.get_returncode()
        if code is None:
            return "closed its output"
        if code < 0:
            return f"was ended by signal {-code}"
        return f"ended with exit code {code}"

    def last_line(self) -> str:
        """Return the last line it wrote to standard error; empty without one."""
        lines = self._noise.decode(errors="replace").split("\n")
        said = [line.strip() for line in lines if line.strip()]
        return safe_line(said[-1])[:_SHOWN] if said else ""

    async def leave(self) -> None:
        """Close its input, and wait a moment for it to end by itself."""
        self._input.close()
        await _wait_briefly(self._exited)

    async def kill(self) -> None:
        """End the program with everything that it started and that is still running."""
        kill_group(self._live_transport.get_pid(), self._live_transport)
        await self._exited.wait()
        self._live_transport.close()

    @property
    def _live_transport(self) -> asyncio.SubprocessTransport:
        assert self._transport is not None
        return self._transport

    @property
    def _input(self) -> asyncio.WriteTransport:
        return cast(asyncio.WriteTransport, self._live_transport.get_pipe_transport(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport, which is passed when the program runs."""
        self._transport = cast(asyncio.SubprocessTransport, transport)
        # With its transport, the reader can pause a program that writes too fast.
        self._lines.set_transport(
            cast(asyncio.ReadTransport, self._transport.get_pipe_transport(1))
        )

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        """Keep output and the end of standard error."""
        chunk = cast(bytes, data)
        if fd == 1:
            self._lines.feed_data(chunk)
        else:
            self._noise += chunk
            del self._noise[:-_KEPT]

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        """Note the end of output or of standard error."""
        if fd == 1:
            self._lines.feed_eof()
        elif fd == 2:
            self._said_all.set()

    def process_exited(self) -> None:
        """Note the end of the process."""
        self._exited.set()


def kill_group(pid: int, process: asyncio.subprocess.Process | asyncio.SubprocessTransport) -> None:
    """End a process with everything that it started in its session and that is still running."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(pid, signal.SIGKILL)
        else:
            process.kill()


@asynccontextmanager
async def start_program(start: Start) -> AsyncGenerator[Program, None]:
    """Start a program for the time of the block; raise `ProblemError` (`responder-not-started`)."""
    try:
        _, program = await asyncio.get_running_loop().subprocess_exec(
            lambda: Program(start.limit),
            *start.command,
            cwd=start.cwd,
            start_new_session=True,  # its own process group, to end it as a whole
        )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        message = f"the program cannot be started: {reason}"
        raise ProblemError(Problem("responder-not-started", message, start.place)) from None
    try:
        yield program
        await program.leave()
    finally:
        await program.kill()


async def _wait_briefly(event: asyncio.Event) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(_GRACE):
            await event.wait()


_Value = TypeVar("_Value")


def run(main: Coroutine[Any, Any, _Value]) -> _Value:
    """Run `main` as `asyncio.run` does; on these signals, cancel it and then end the process."""
    received: list[signal.Signals] = []
    try:
        return asyncio.run(_cancel_on(received, main))
    finally:
        if received:  # the loop is closed: now the signal has its default effect
            signal.raise_signal(received[0])


async def _cancel_on(received: list[signal.Signals], main: Coroutine[Any, Any, _Value]) -> _Value:
    task = asyncio.current_task()
    assert task is not None

    def end(number: signal.Signals) -> None:
        received.append(number)
        task.cancel()

    # Handlers live in the main thread, and Windows has none of these signals.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            # A program that ignores or handles a signal, such as nohup, has a reason.
            if signal.getsignal(number) is signal.SIG_DFL:
                asyncio.get_running_loop().add_signal_handler(number, end, number)
    return await main
