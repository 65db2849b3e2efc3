"""The output of the command line: streams, colours, and closed pipes.

All output goes through `_safe_page`, so that names from schemas, files, servers and other programs
reach a terminal or the log of a CI only as plain text.
"""

import codecs
import io
import json
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, TextIO, TypeVar

from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import page, safe_line
from mcp_protogen.base.problems import Level, Problem, ProblemError, summarize_problems
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.report import RunReport, render

if TYPE_CHECKING:
    from mcp_protogen.scaffold.start import AskUntilRead

_READER_GONE = 141  # 128 + SIGPIPE, as a shell reports for a program that this signal ends
_COLOURS = {Level.ERROR: Colour.BOLD_RED, Level.WARNING: Colour.BOLD_YELLOW}
_JSON_ESCAPES = "mcp-gen-json-escapes"
_ESCAPED_FORMATS = {"json": _JSON_ESCAPES, "jsonl": _JSON_ESCAPES, "html": "xmlcharrefreplace"}
"""The error handlers that write machine-readable formats in ASCII."""


def emit(report: RunReport, format: Format, *, quiet: bool = False) -> None:
    """Show a report on stdout; as text, its problems on stderr."""
    if format is Format.TEXT:
        show_problems(report.problems)
    say(render(report, format, colour=colourful(sys.stdout), quiet=quiet), format)


def say(text: str, format: str = Format.TEXT) -> None:
    """Write a page to stdout; end the process quietly if its reader has gone."""
    try:
        sys.stdout.write(_encodable(_safe_page(text, sys.stdout, format), sys.stdout, format))
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more on its way out, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_READER_GONE) from None


def tell(text: str, end: str = "\n") -> None:
    """Write a page to stderr."""
    print(_safe_page(text, sys.stderr), end=end, file=sys.stderr, flush=True)


def say_bytes(content: bytes) -> None:
    """Write bytes unchanged to stdout, which must not be a terminal; end as `say` does."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_READER_GONE) from None


def replace_line(text: str) -> None:
    """Show one line on the terminal of stderr, in place of the last one."""
    print(f"\r{safe_line(text)}\x1b[K", end="", file=sys.stderr, flush=True)


def _safe_page(text: str, stream: TextIO, format: str = Format.TEXT) -> str:
    return page(text, colour=colourful(stream), commands=format == Format.GITHUB)


def _encodable(text: str, stream: TextIO, format: str) -> str:
    """Return a page for programs in ASCII if the stream is not UTF-8, because they read UTF-8."""
    handler = _ESCAPED_FORMATS.get(format)
    if handler is None or codecs.lookup(stream.encoding or "utf-8").name == "utf-8":
        return text
    return text.encode("ascii", handler).decode("ascii")


def _as_json_escapes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return json.dumps(error.object[error.start : error.end])[1:-1], error.end


codecs.register_error(_JSON_ESCAPES, _as_json_escapes)


def show_problems(problems: Iterable[Problem]) -> None:
    """Write problems to stderr, with warnings of one kind together, and a hint for more."""
    problem_list = tuple(problems)
    for level, lines in summarize_problems(problem_list, {Level.WARNING}):
        tell(_colour_lines(level, lines) if colourful(sys.stderr) else "\n".join(_safe(lines)))
    if problem_list and _interactive(sys.stderr):
        tell(f"more: mcp-gen explain {min(problem.code for problem in problem_list)}")


def _safe(lines: Iterable[str]) -> Iterable[str]:
    return map(safe_line, lines)


def _colour_lines(level: Level, lines: Iterable[str]) -> str:
    line, *more = _safe(lines)
    head, end, tail = line.partition("]")
    first = paint(_COLOURS[level], head + end) + tail
    return "\n".join([first, *(paint(Colour.DIM, detail) for detail in more)])


def crash(error: Exception, *, debug: bool) -> None:
    """Report a fault of mcp-gen itself, as a problem or with the traceback."""
    if debug:
        import traceback

        tell("".join(traceback.format_exception(error)), end="")
        return
    message = f"{type(error).__name__}: {' '.join(str(error).split())}"
    hint = "run it again with --debug before the command to see where"
    show_problems([Problem("internal-fault", message, hint=hint)])


@contextmanager
def progress(doing: str) -> Generator[None, None, None]:
    """Show the current activity on a terminal, and remove it at the end; empty shows nothing."""
    is_visible = bool(doing) and _interactive(sys.stderr)
    if is_visible:
        print(f"{doing} ...", end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_visible:
            print("\x1b[K", end="", file=sys.stderr, flush=True)


def prepare_streams() -> None:
    """Replace closed streams, and escape characters that a stream cannot encode.

    They are escaped as in JSON, so that JSON stays valid. Output to a closed stream is lost.
    """
    for name in ("stdout", "stderr"):
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, os.fdopen(nowhere, "w", encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_JSON_ESCAPES)


def colourful(stream: TextIO) -> bool:
    """Return whether a stream shows colours and the user wants them.

    NO_COLOR goes before FORCE_COLOR, as in Python itself.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or _interactive(stream)


def _interactive(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"


T = TypeVar("T")


def asker() -> "AskUntilRead | None":
    """Return a function that asks on the terminal; None if a stream is not a terminal."""
    # A stream that was closed before the start is None.
    streams = (sys.stdin, sys.stdout, sys.stderr)
    return _ask if all(stream and stream.isatty() for stream in streams) else None


def _ask(question: str, default: str, read: Callable[[str], T], /) -> T:
    """Return `read(answer)`; ask again while it raises `ProblemError`.

    Raise `KeyboardInterrupt` when input ends.
    """
    while True:
        tell(f"{question} [{default}]: ", end="")
        # As bytes: input that is not text must be read before it can be refused.
        line = sys.stdin.buffer.readline().decode(errors="replace")
        if not line:
            tell("")
            raise KeyboardInterrupt
        try:
            return read(line.strip() or default)
        except ProblemError as error:
            show_problems(error.problems)
