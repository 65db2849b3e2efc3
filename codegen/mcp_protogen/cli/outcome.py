"""The end of every command: its report or page, its problems, and its exit code."""

from collections.abc import Callable
from typing import NoReturn, TypeVar

from mcp_protogen.base.problems import Problem, ProblemError
from mcp_protogen.cli.console import emit, progress, say, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.report import RunReport, failure
from mcp_protogen.pipeline.reports.view import FindingsPage, View

T = TypeVar("T")


def finish(
    work: Callable[[], RunReport],
    command: str,
    format: Format | None = None,
    *,
    place: str = "",
    quiet: bool = False,
    doing: str = "",
) -> NoReturn:
    """Do `work`, show its report or that of its failure, and end the process.

    `place` is the folder in the report of a failure; a terminal shows `doing` meanwhile.
    """
    with progress("" if quiet else doing):
        report = attempt(work, command, format, place=place)
    _end(report, format, quiet=quiet)


def attempt(
    step: Callable[[], T], command: str, format: Format | None = None, *, place: str = ""
) -> T:
    """Return `step()`; end the process with a report if it raises `ProblemError`."""
    try:
        return step()
    except ProblemError as error:
        _end(failure(command, error.problems, place), format)


def show(
    work: Callable[[View], FindingsPage],
    command: str,
    place: Destination,
    *,
    doing: str = "",
    failed: Callable[[tuple[Problem, ...]], str] | None = None,
) -> NoReturn:
    """Do `work`, show its page, and end the process: with 1 if the page is a failure.

    If the page is incomplete, end with 2. If `work` raises, show the problems in the same format,
    and end with 2. `failed` makes their JSON document for commands with another JSON format than
    reports.
    """
    format = Format(place.format) if place.format in [*Format] else Format.TEXT
    try:
        with progress(doing):
            page = work(place.view)
        show_problems(page.notes)
        if page.saved:
            say(page.text)
        else:
            place.deliver(page.text)
    except ProblemError as error:
        if failed is None or format is not Format.JSON:
            _end(failure(command, error.problems), format)
        say(failed(error.problems), format)
        raise SystemExit(2) from None
    raise SystemExit(2 if page.incomplete else int(page.failed))


def _end(report: RunReport, format: Format | None, *, quiet: bool = False) -> NoReturn:
    emit(report, format or Format.TEXT, quiet=quiet)
    raise SystemExit(report.status.exit_code)
