"""Starts the servers that are measured over HTTP, each in its own process."""

import json
import os
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from time import clock_gettime, perf_counter, sleep
from typing import Any, Final, TypeAlias

from .http_load import Caller
from .places import REVISION, ROOT, environment, package, sdk_python

Command: TypeAlias = Sequence[str | Path]

# Seconds until a server must listen.
_PATIENCE: Final = 30.0


@dataclass(frozen=True, slots=True)
class Server:
    pid: int
    port: int

    def memory(self) -> int:
        """Return the memory of the process in bytes."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")


class Servers:
    """All servers of one run; `stack` ends them."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def ours(self, revision: str, tools: int = 1, *options: str) -> Server:
        """Start generated stubs of one revision; the options are those of `http_ours`."""
        return self._start("benchmarks.http_ours", revision, str(tools), *options)

    def sdk(self) -> Server:
        """Start the SDK's low-level server, for all revisions."""
        return self._start("benchmarks.http_sdk")

    def bare(self, like: Server, revision: str) -> Server:
        """Start an application that answers with the same bytes and headers as another server.

        Raise `RuntimeError` if the answer of the other server is not a result.
        """
        with closing(Caller(like.port)) as caller:
            caller.prepare(caller.open_session() if revision == REVISION else None)
            answer = caller.answer()
        if answer.status != 200 or b'"result"' not in answer.body:
            raise RuntimeError(f"a call of {revision} failed: {answer}")
        # These are uvicorn's own.
        headers = [pair for pair in answer.headers if pair[0].lower() not in ("date", "server")]
        said = {"headers": headers, "body": answer.body.decode()}
        return self._start("benchmarks.http_bare", json.dumps(said))

    def _start(self, *module: str) -> Server:
        return self.of([sdk_python(), "-m", *module])

    def of(self, line: Command) -> Server:
        """Start a command that prints its port."""
        process = subprocess.Popen(
            line,
            cwd=ROOT,
            env=environment(PYTHONPATH=str(package())),
            stdout=subprocess.PIPE,
            text=True,
        )
        self._stack.callback(_end(process))
        assert process.stdout is not None
        port = process.stdout.readline()
        if not port:
            raise RuntimeError(f"{line[2]} ended with {process.wait()} before it listened")
        return Server(process.pid, int(port))

    def listening(self, line: Command, port: int) -> Server:
        """Start a command, and wait until it listens."""
        quiet = subprocess.DEVNULL
        process = subprocess.Popen(line, cwd=ROOT, env=environment(), stdout=quiet, stderr=quiet)
        self._stack.callback(_end(process))
        _wait_for(port)
        return Server(process.pid, port)


def _end(process: "subprocess.Popen[Any]") -> Callable[[], None]:
    def end() -> None:
        process.kill()
        process.communicate()

    return end


def processor_seconds(pid: int) -> float:
    """Return the processor time of a process in seconds."""
    # The clock that clock_getcpuclockid(3) names; /proc counts only hundredths of a second.
    return clock_gettime(~pid << 3 | 2)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port: int = listening.getsockname()[1]
        return port


def _wait_for(port: int) -> None:
    """Wait until a process listens; raise `RuntimeError` if none does."""
    late = perf_counter() + _PATIENCE
    while perf_counter() < late:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            sleep(0.05)
        else:
            return
    raise RuntimeError(f"nothing listens at {port} after {_PATIENCE:.0f} seconds")
