"""The client's side of stdio: starts a server as a process, talks to it, and ends it.

The process gets its own group, so that processes that it starts can be ended with it.
"""

import asyncio
import os
import signal
import sys
from asyncio import SubprocessTransport, get_running_loop
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, cast

from ..core.connection_errors import Disconnected
from .base import Opener, Received, StandardError, Transport, wait_within
from .streams import LONGEST, LineProtocol, LineTransport

SAFE_VARIABLES: Final = frozenset(
    {"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER"}
    if sys.platform != "win32"
    else {"APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT"}
    | {"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT"}
    | {"TEMP", "TMP", "USERNAME", "USERPROFILE"}
)
"""The variables that a server inherits by default, beside those that begin with `LC_`."""

_LAST_LINES: Final = 10
_LONGEST_LAST_LINE: Final = 2000

# Windows has no SIGKILL; there both mean the same.
_ESCALATION: Final = (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM))

# The time for a server's own child processes to end, in seconds.
_ORPHANS: Final = 1.0

# The time for the exit code after a process has closed its output, in seconds.
_EXIT_CODE: Final = 1.0


def stdio_client(
    argv: Sequence[str | os.PathLike[str]],
    *,
    cwd: str | os.PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
    inherit: bool | Collection[str] = SAFE_VARIABLES,
    stderr: StandardError = None,
    grace: float = 5.0,
    limit: int = LONGEST,
    framing: type[LineProtocol] = LineProtocol,
) -> Opener:
    """Return an opener that starts a server as a process; `argv` is the program and arguments.

    The server inherits the environment variables that `inherit` names, or all of them, or none;
    `env` is added. Its standard error goes to ours, to a function line by line, or to the end of a
    file. To end it, its input is closed; after `grace` seconds it gets SIGTERM, and after as many
    again SIGKILL (basic/lifecycle, "Shutdown"). `limit` is the longest line, in bytes; `framing`
    tells messages apart.

    Raise `ValueError` if `argv` is empty.
    """
    if not argv:
        raise ValueError("argv must name a program to start")
    variables = {**_inherited_variables(inherit), **(env or {})}
    program = [os.fspath(part) for part in argv]
    if sys.platform == "win32":
        # Finds `npx.cmd`, as a Windows shell does; the system itself only adds `.exe`.
        from shutil import which

        program[0] = which(program[0], path=variables.get("PATH")) or program[0]

    async def start() -> Transport:
        process = _Process(stderr, limit, framing)
        try:
            transport, _ = await get_running_loop().subprocess_exec(
                lambda: process, *program, cwd=cwd, env=variables, start_new_session=True
            )
        except OSError as error:
            process.errors.close()
            raise Disconnected(f"cannot start {program[0]}: {error.strerror}") from None
        return ProcessTransport(process, transport, grace)

    return start


def _inherited_variables(inherit: bool | Collection[str]) -> dict[str, str]:
    if inherit is True:
        return dict(os.environ)
    wanted = inherit or ()
    return {
        name: value
        for name, value in os.environ.items()
        if (name in wanted or (wanted is SAFE_VARIABLES and name.startswith("LC_")))
        # A shell function is code, whatever its name.
        and not value.startswith("()")
    }


class _Errors:
    def __init__(self, sink: StandardError) -> None:
        self._callback = sink if callable(sink) else None
        self._file = sink.open("ab", buffering=0) if isinstance(sink, Path) else None
        self._rest = b""
        self.last: deque[str] = deque(maxlen=_LAST_LINES)

    def feed(self, chunk: bytes) -> None:
        if self._file is not None:
            self._file.write(chunk)
        elif self._callback is None:
            # Standard error may be closed or full.
            with suppress(OSError):
                os.write(2, chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        for line in lines:
            self._line(line)
        if len(self._rest) > _LONGEST_LAST_LINE:
            self._line(self._rest)
            self._rest = b""

    def _line(self, line: bytes) -> None:
        text = line.decode("utf-8", errors="replace").rstrip("\r")
        self.last.append(text[:_LONGEST_LAST_LINE])
        if self._callback is not None:
            self._callback(text)

    def close(self) -> None:
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        if self._file is not None:
            self._file.close()


class _Process(asyncio.SubprocessProtocol):
    def __init__(self, stderr: StandardError, limit: int, framing: type[LineProtocol]) -> None:
        self.incoming, self.outgoing = framing(limit), framing(limit)
        self.errors = _Errors(stderr)
        self.exited = asyncio.Event()
        self.finished = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        process = cast(SubprocessTransport, transport)
        for lines, fd in ((self.outgoing, 0), (self.incoming, 1)):
            lines.connection_made(cast(asyncio.BaseTransport, process.get_pipe_transport(fd)))

    def pipe_data_received(self, fd: int, data: bytes | str) -> None:
        chunk = cast(bytes, data)
        if fd == 1:
            self.incoming.data_received(chunk)
        else:
            self.errors.feed(chunk)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 0:
            self.outgoing.connection_lost(exc)
        elif fd == 1:
            self.incoming.eof_received()

    def process_exited(self) -> None:
        self.exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.finished.set()
        self.errors.close()

    def pause_writing(self) -> None:
        self.outgoing.pause_writing()

    def resume_writing(self) -> None:
        self.outgoing.resume_writing()


class ProcessTransport(LineTransport):
    """A transport to a server that runs as a separate process."""

    def __init__(self, process: _Process, transport: SubprocessTransport, grace: float) -> None:
        super().__init__(process.incoming, process.outgoing)
        self.receive, self.send = self._read, self._write
        self._process = process
        self._transport = transport
        self._grace = grace
        self.pid = transport.get_pid()
        """The id of the process, and of its group."""
        self._ending: asyncio.Task[None] | None = None

    async def _read(self) -> Sequence[Received]:
        received = await self._incoming.receive()
        if not received:
            await self._check_running()
        return received

    async def _write(self, messages: Sequence[bytes]) -> None:
        try:
            await self._outgoing.send(messages)
        except Disconnected:
            await self._check_running()
            raise

    async def _check_running(self) -> None:
        """Raise `Disconnected` if the process has ended by itself, or does within a second."""
        process = self._process
        if self._ending is not None or not await wait_within(_EXIT_CODE, process.exited.wait()):
            return
        # Standard error is another pipe: its last lines may arrive last.
        await wait_within(_EXIT_CODE / 10, process.finished.wait())
        code = self._transport.get_returncode()
        how = f"with code {code}"
        if code is not None and code < 0:
            how = f"by {signal.Signals(-code).name}"
        lines = "\n".join(process.errors.last)
        detail = f"; its last output on standard error:\n{lines}" if lines else ""
        raise Disconnected(f"the server ended {how}{detail}") from None

    async def close_within(self, grace: float) -> None:
        self._grace = min(self._grace, grace)
        await self.close()

    async def close(self) -> None:
        if self._ending is None:
            self._ending = asyncio.create_task(self._end())
        # A cancelled caller must not keep the process from being ended.
        await asyncio.shield(self._ending)

    async def _end(self) -> None:
        stdin = cast(Any, self._transport.get_pipe_transport(0))
        stdin.close()
        try:
            for number in _ESCALATION:
                if await wait_within(self._grace, self._process.exited.wait()):
                    break
                self._signal(number)
            await self._process.exited.wait()
            await self._end_group()
        except asyncio.CancelledError:
            # The event loop ends, perhaps by a signal.
            self._signal(_ESCALATION[-1])
            raise
        finally:
            self._transport.close()
        await wait_within(_EXIT_CODE, self._process.finished.wait())

    async def _end_group(self) -> None:
        for number in _ESCALATION:
            if not self._signal(number):
                return
            until = get_running_loop().time() + min(self._grace, _ORPHANS)
            # The end of a group is not announced.
            while self._signal(0) and get_running_loop().time() < until:
                await asyncio.sleep(0.01)

    def _signal(self, number: int) -> bool:
        try:
            if sys.platform != "win32":
                os.killpg(self.pid, number)
            elif number and not self._process.exited.is_set():
                self._transport.terminate()
            else:
                return False
        except (ProcessLookupError, PermissionError):
            return False
        return True
