"""The terminal during a conversation with a server, and how the conversation ends."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine, Generator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from logging import Handler, LogRecord, getLogger
from shutil import get_terminal_size
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, NoReturn

from mcp_protogen.base.printable import one_line
from mcp_protogen.calling.progress import is_as_severe, log_line, progress_line
from mcp_protogen.cli.console import progress, replace_line, show_problems, tell
from mcp_protogen.connecting.failures import ERRORS, failure_of
from mcp_protogen.runtime.core.options import Progress

if TYPE_CHECKING:
    from mcp_protogen.calling.questions import Questions
    from mcp_protogen.connecting.server_target import ServerTarget

WARNING: Final = "warning"
_DEBUG: Final = "debug"
_READ: Final = 4096
_TABLE: Final = 100


class Terminal:
    """The terminal of stderr and stdin: log entries, progress, and a person to ask.

    Log entries below `least` are not shown. What a program writes to its standard error, which may
    be anything, counts as "debug".
    """

    def __init__(self, name: str, least: str = WARNING) -> None:
        self._name = name
        self._least = least
        self._line: str | None = None
        self._rest = b""
        self._held: list[str] | None = None
        self._interactive = is_terminal(sys.stderr)

    @property
    def can_ask(self) -> bool:
        """If there is somebody who reads questions and types answers."""
        return self._interactive and is_terminal(sys.stdin)

    def questions(self, given: Mapping[str, str]) -> "Questions":
        """Return what answers a server: with what was given, or by asking whoever is there."""
        from mcp_protogen.calling.questions import Questions

        person = self if self.can_ask else None
        return Questions(person=person, tell=self.tell, given=given, waiting=self.asking)

    def tell(self, text: str) -> None:
        """Show a text above the line of progress, if there is one."""
        self._erase()
        tell(text)
        self._draw()

    @contextmanager
    def asking(self) -> Generator[None, None, None]:
        """Keep back what would come between a question and its answer: progress, log entries."""
        self._erase()
        held: list[str] = []
        self._held = held
        try:
            yield
        finally:
            self._held = None
            for text in held:
                tell(text)
            self._draw()

    def show_progress(self, progress: Progress) -> None:
        """Show how far the call is."""
        width = get_terminal_size().columns - 1
        self._show(progress_line(self._name, progress, width))

    def show_status(self, text: str) -> None:
        """Show where a task stands."""
        self._show(f"{self._name}  {text}"[: get_terminal_size().columns - 1])

    def show_log(self, params: Mapping[str, Any]) -> None:
        """Show a log entry of the server, if it is severe enough."""
        if is_as_severe(params.get("level"), self._least):
            self._note(one_line(log_line(params)))

    def show_standard_error(self, line: str) -> None:
        """Show a line that the program of the server has written, if that level is shown."""
        if is_as_severe(_DEBUG, self._least):
            self._note(f"[stderr] {one_line(line)}")

    async def read_line(self, prompt: str) -> str | None:
        """Return a line that the person types; None at the end of input."""
        tell(prompt, end="")
        line = await _line(self._read)
        if line is None:
            tell("")
        return None if line is None else line.decode(errors="replace").strip()

    def close(self) -> None:
        """Take the line of progress away."""
        self._erase()
        self._line = None

    def _read(self) -> bytes | None:
        # By the system call: a thread that waits in a buffered read would block the end of Python.
        while b"\n" not in self._rest:
            found = os.read(sys.stdin.fileno(), _READ)
            if not found:
                left, self._rest = self._rest, b""
                return left or None
            self._rest += found
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


def converse(
    target: "ServerTarget",
    screen: Terminal,
    work: Callable[["ServerTarget"], Coroutine[Any, Any, int]],
) -> NoReturn:
    """Do `work` with a server, and end the process with the exit code that it returns.

    Raise `KeyboardInterrupt` when the user interrupts it, after the server was told.
    """
    from mcp_protogen.connecting.protocol import protocol

    with progress("protocol", shown=True):
        protocol()
    heard = replace(target, stderr=screen.show_standard_error)
    try:
        with _log_shown(screen):
            code = asyncio.run(work(heard))
    except ERRORS as error:
        screen.close()
        failure = failure_of(error, target.shown)
        show_problems([failure.problem])
        for line in failure.written:
            tell(f"  {one_line(line)}")
        raise SystemExit(failure.exit_code) from None
    finally:
        screen.close()
    raise SystemExit(code)


def is_terminal(stream: Any) -> bool:
    """Return whether a stream, which may be closed, is a terminal that can do more than print."""
    return bool(stream and stream.isatty()) and os.environ.get("TERM") != "dumb"


def page_width() -> int:
    """Return how wide a page for people is: as the terminal, or as is easy to read."""
    return get_terminal_size().columns if is_terminal(sys.stdout) else _TABLE


async def _line(read: Callable[[], bytes | None]) -> bytes | None:
    """Return what a blocking function reads, in a thread that may be left behind."""
    loop = asyncio.get_running_loop()
    found: asyncio.Future[bytes | None] = loop.create_future()

    def finish(line: bytes | None) -> None:
        if not found.done():
            found.set_result(line)

    def run() -> None:
        try:
            line = read()
        except OSError:
            line = None
        if not loop.is_closed():
            loop.call_soon_threadsafe(finish, line)

    Thread(target=run, daemon=True).start()
    return await found


class _Shown(Handler):
    """Shows what the runtime logs, which quotes servers."""

    def __init__(self, screen: Terminal) -> None:
        super().__init__()
        self._screen = screen

    def emit(self, record: LogRecord) -> None:
        params = {"level": record.levelname.lower(), "data": record.getMessage()}
        self._screen.show_log(params)


@contextmanager
def _log_shown(screen: Terminal) -> Generator[None, None, None]:
    logger, handler = getLogger("mcp_protogen.runtime"), _Shown(screen)
    logger.addHandler(handler)
    logger.propagate, before = False, logger.propagate
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = before
