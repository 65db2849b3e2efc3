"""The terminal during a conversation with a server."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from shutil import get_terminal_size
from threading import Thread
from typing import Any, Final

from mcp_protogen.base.printable import safe_line
from mcp_protogen.cli.console import replace_line, tell
from mcp_protogen.runtime.core.options import Progress
from mcp_protogen.servers.call.log_levels import LogLevel, is_as_severe
from mcp_protogen.servers.call.progress import log_line, progress_line

_READ: Final = 4096
_TABLE: Final = 100
_LAST_LINES: Final = 20


class Terminal:
    """The terminal of stderr and stdin: log entries, progress, and questions to the user.

    Log entries below `least` are not shown. A program's standard error counts as "debug".
    """

    def __init__(self, name: str, least: LogLevel = LogLevel.WARNING) -> None:
        self._name = name
        self._least = least
        self._line: str | None = None
        self._rest = b""
        self._held: list[str] | None = None
        self.unshown = deque[str](maxlen=_LAST_LINES)
        """The last lines of the server's standard error, if that level is not shown."""
        self._interactive = is_terminal(sys.stderr)

    @property
    def can_ask(self) -> bool:
        """Return whether a user can read questions and type answers."""
        return self._interactive and is_terminal(sys.stdin)

    def tell(self, text: str) -> None:
        """Show a text above the line of progress, if there is one."""
        self._erase()
        tell(text)
        self._draw()

    @contextmanager
    def hold_output(self) -> Generator[None, None, None]:
        """Delay progress and log entries between a question and its answer."""
        self._erase()
        lines: list[str] = []
        self._held = lines
        try:
            yield
        finally:
            self._held = None
            for text in lines:
                tell(text)
            self._draw()

    def show_progress(self, progress: Progress) -> None:
        width = get_terminal_size().columns - 1
        self._show(progress_line(self._name, progress, width))

    def show_status(self, text: str) -> None:
        """Show the status of a task."""
        self._show(f"{self._name}  {text}"[: get_terminal_size().columns - 1])

    def show_log(self, params: Mapping[str, Any]) -> None:
        """Show a log entry of the server if its level is high enough."""
        if is_as_severe(params.get("level"), self._least):
            self._note(safe_line(log_line(params)))

    def show_standard_error(self, line: str) -> None:
        """Show a line of the server's standard error, or keep it if that level is not shown."""
        if is_as_severe(LogLevel.DEBUG, self._least):
            self._note(f"[stderr] {safe_line(line)}")
        else:
            self.unshown.append(line)

    def show_last_lines(self) -> None:
        """Show the end of the server's standard error, which often says why it failed."""
        for line in self.unshown:
            self.tell(f"[stderr] {safe_line(line)}")

    async def read_line(self, prompt: str) -> str | None:
        """Return a line from the user; None at the end of input."""
        tell(prompt, end="")
        line = await _line(self._read_text)
        if line is None:
            tell("")
        return None if line is None else line.decode(errors="replace").strip()

    def close(self) -> None:
        """Remove the line of progress."""
        self._erase()
        self._line = None

    def _read_text(self) -> bytes | None:
        # By the system call: a thread in a buffered read would block the exit of Python.
        while b"\n" not in self._rest:
            chunk = os.read(sys.stdin.fileno(), _READ)
            if not chunk:
                rest, self._rest = self._rest, b""
                return rest or None
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        return line

    def _note(self, text: str) -> None:
        if self._held is None:
            self.tell(text)
        else:
            self._held.append(text)

    def _show(self, line: str) -> None:
        if self._interactive:
            self._line = line
            self._draw()

    def _draw(self) -> None:
        if self._line is not None and self._held is None:
            replace_line(self._line)

    def _erase(self) -> None:
        if self._line is not None and self._held is None:
            replace_line("")


def is_terminal(stream: Any) -> bool:
    """Return whether a stream is a capable terminal; it may be closed."""
    return bool(stream and stream.isatty()) and os.environ.get("TERM") != "dumb"


def page_width() -> int:
    """Return the width of a page: that of the terminal, or a readable default."""
    return get_terminal_size().columns if is_terminal(sys.stdout) else _TABLE


async def _line(read: Callable[[], bytes | None]) -> bytes | None:
    """Run a blocking read in a thread that may be left behind, and return its result."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[bytes | None] = loop.create_future()

    def finish(line: bytes | None) -> None:
        if not future.done():
            future.set_result(line)

    def run() -> None:
        try:
            line = read()
        except OSError:
            line = None
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, line)

    Thread(target=run, daemon=True).start()
    return await future
