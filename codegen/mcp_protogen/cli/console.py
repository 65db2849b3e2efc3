"""How the command line speaks: which stream, colour or not, and what a closed pipe means."""

import io
import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import NoReturn, TextIO

from mcp_protogen.cli.report import Report, failure, render
from mcp_protogen.config import Format
from mcp_protogen.problems import Problem, ProblemError

_READER_GONE = 141  # 128 + SIGPIPE, what a shell reports for a program that minds it


def finish(work: Callable[[], Report], command: str, form: Format) -> NoReturn:
    """Do `work`, show its report, or that of its failure, and end the process."""
    try:
        report = work()
    except ProblemError as error:
        report = failure(command, error.problems)
    emit(report, form)
    raise SystemExit(report.status.exit_code)


def fail(error: ProblemError, command: str, form: str) -> NoReturn:
    """End the process with 2; problems take the form that was asked for where programs read it."""
    if form in (Format.JSON, Format.GITHUB):
        say(render(failure(command, error.problems), Format(form)))
    else:
        show_problems(error.problems)
    raise SystemExit(2)


def emit(report: Report, form: Format, *, quiet: bool = False) -> None:
    """Show a report on stdout and, in text form, its problems on stderr."""
    if form is Format.TEXT:
        show_problems(report.problems)
    say(render(report, form, colour=colourful(sys.stdout), quiet=quiet))


def say(text: str) -> None:
    """Write to stdout; ends the process quietly when nobody reads it any more."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        # The interpreter flushes once more on its way out, which must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(_READER_GONE) from None


def show_problems(problems: Iterable[Problem]) -> None:
    """Write problems to stderr, and how to learn more about them."""
    codes = sorted({problem.code for problem in problems})
    for problem in problems:
        print(problem, file=sys.stderr)
    if codes and _interactive(sys.stderr):
        print(f"more: mcp-gen explain {codes[0]}", file=sys.stderr)


def crash(error: Exception, *, debug: bool) -> None:
    """Report a fault of the tool itself: one line, or the traceback."""
    if debug:
        import traceback

        traceback.print_exception(error)
        return
    text = " ".join(str(error).split())
    print(f"internal fault: {type(error).__name__}: {text}", file=sys.stderr)
    print("  hint: run it again with --debug before the command to see where", file=sys.stderr)


@contextmanager
def progress(mode: str, *, shown: bool) -> Generator[None, None, None]:
    """Say on a terminal that something slow is going on, and wipe that out again."""
    shown = shown and mode != "check" and _interactive(sys.stderr)
    if shown:
        print("generating ...", end="\r", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print("\x1b[K", end="", file=sys.stderr, flush=True)


def tolerate_narrow_encodings() -> None:
    """Escape what a stream cannot encode: a path or a diff line must not stop the run."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def colourful(stream: TextIO) -> bool:
    """Whether a stream shows colours, and whoever reads it wants to see them."""
    return _interactive(stream) and not os.environ.get("NO_COLOR")


def _interactive(stream: TextIO) -> bool:
    return stream.isatty() and os.environ.get("TERM") != "dumb"
