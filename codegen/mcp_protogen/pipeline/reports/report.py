"""The report of a run: as text, as JSON, or as annotations of GitHub Actions.

The JSON format is public; `schema/formats/report.schema.json` describes it.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.colours import Colour, paint
from mcp_protogen.base.printable import safe_line
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.output.drift import OF_FILES, Cause

FORMAT = 1
_COLOURS = {"---": Colour.BOLD, "+++": Colour.BOLD, "@@ ": Colour.CYAN}


class RunStatus(StrEnum):
    """The outcome of a run; the exit codes are 0, 1 and 2."""

    FINE = "fine"
    DIFFERS = "differs"
    FAILED = "failed"

    @property
    def exit_code(self) -> int:
        """The exit code of a process with this outcome."""
        return {RunStatus.FINE: 0, RunStatus.DIFFERS: 1, RunStatus.FAILED: 2}[self]


class Action(StrEnum):
    """The change of a file."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"


class FileChange(NamedTuple):
    """One file that is written or removed, by its path in the output folder; `diff` is unified."""

    path: str
    action: Action
    diff: str = ""


class RunReport(NamedTuple):
    """The result of one command.

    `summary` has one or several lines; `folder` is the output folder as the user named it;
    `revisions`, `extensions` and `templates` have a JSON object for each item, in commands about
    them.
    """

    command: str
    status: RunStatus
    summary: str | tuple[str, ...] = ""
    folder: str = ""
    drift: tuple[Cause, ...] = ()
    files: tuple[FileChange, ...] = ()
    revisions: tuple[Mapping[str, Any], ...] = ()
    problems: tuple[Problem, ...] = ()
    extensions: tuple[Mapping[str, Any], ...] | None = None
    templates: tuple[Mapping[str, Any], ...] | None = None

    @property
    def summary_lines(self) -> tuple[str, ...]:
        """The lines of the summary; it may be empty."""
        lines = (self.summary,) if isinstance(self.summary, str) else self.summary
        return tuple(filter(None, lines))


def failure(command: str, problems: tuple[Problem, ...], folder: str = "") -> RunReport:
    """Return the report of a run that its input stopped."""
    return RunReport(command, RunStatus.FAILED, folder=folder, problems=problems)


def render(report: RunReport, format: Format, *, colour: bool = False, quiet: bool = False) -> str:
    """Return the report as text to print, with a final newline unless it is empty.

    The text format leaves out problems, because they go to stderr. `quiet` leaves out the summary.
    """
    if format is Format.JSON:
        return as_document(as_json(report))
    shown = report._replace(summary="") if quiet else report
    lines = _github(shown) if format is Format.GITHUB else _text(shown, colour)
    return "".join(f"{line}\n" for line in lines)


def as_json(report: RunReport) -> dict[str, Any]:
    """Return the report as a JSON value in the public format."""
    data = report._asdict()
    kinds = {name: data.pop(name) for name in ("extensions", "templates")}
    about = {name: [dict(row) for row in rows] for name, rows in kinds.items() if rows is not None}
    return {
        "format": FORMAT,
        **data,
        **about,
        "summary": "\n".join(report.summary_lines),
        "revisions": [dict(revision) for revision in report.revisions],
        "drift": [cause._asdict() for cause in report.drift],
        "files": [file._asdict() for file in report.files],
        "problems": [problem._asdict() for problem in report.problems],
    }


def _text(report: RunReport, colour: bool) -> Iterator[str]:
    for cause in report.drift:
        digests = f" ({cause.was} -> {cause.now})" if cause.was and cause.now else ""
        yield safe_line(f"{cause.kind}: {cause.subject}: {cause.message}{digests}")
    for file in report.files:
        if file.diff:
            shown = map(safe_line, file.diff.split("\n"))
            yield from (_colour_line(line) if colour else line for line in shown)
        else:
            yield safe_line(f"{file.action}: {file.path}")
    yield from map(safe_line, report.summary_lines)


def _colour_line(line: str) -> str:
    colour = _COLOURS.get(line[:3]) or {"-": Colour.RED, "+": Colour.GREEN}.get(line[:1])
    return paint(colour, line) if colour else line


def _github(report: RunReport) -> Iterator[str]:
    # Slow to import, and not needed for other formats.
    from mcp_protogen.pipeline.reports.pages.workflow_commands import (
        Annotation,
        page_lines,
        problem_annotation,
    )

    parts: list[Annotation | str] = []
    for cause in report.drift:
        file = f"{report.folder}/{cause.subject}" if cause.kind in OF_FILES else ""
        message = cause.message if file else f"{cause.subject}: {cause.message}"
        parts.append(Annotation("error", cause.kind, message, file))
    parts += (f"{change.action}: {change.path}" for change in report.files)
    parts += map(problem_annotation, report.problems)
    return page_lines((*parts, *report.summary_lines))
