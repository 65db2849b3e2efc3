"""The reports of `mcp-gen client` about written and checked modules."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mcp_protogen.base.canonical import as_document
from mcp_protogen.base.problems import Problem
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.change import Severity
from mcp_protogen.pipeline.reports.pages import as_text, github
from mcp_protogen.pipeline.reports.pages.as_json import as_json
from mcp_protogen.pipeline.reports.pages.workflow_commands import (
    Annotation,
    line_in_project,
    page_lines,
    problem_annotation,
)
from mcp_protogen.pipeline.reports.report import RunReport, RunStatus, render
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.pipeline.settings import Settings
from mcp_protogen.servers.clients.differences import differs
from mcp_protogen.servers.clients.run import CheckedModule, ClientJob, check, make


def write_clients(jobs: Iterable[ClientJob], settings: Settings, *, force: bool) -> RunReport:
    """Write a module for each job, and return a report of them."""
    found = [make(job, settings, force=force) for job in jobs]
    lines = tuple(
        f"{client.module}: {client.counts}, {'written' if client.changed else 'unchanged'}"
        for client in found
    )
    problems = tuple(problem for client in found for problem in client.problems)
    return RunReport("client", RunStatus.FINE, lines, problems=problems)


def check_page(jobs: Iterable[ClientJob], least: Severity | None, view: View) -> FindingsPage:
    """Compare modules with their locks and servers, and return the page of the differences.

    The command fails if a module differs from its lock, or a contract has a change of severity
    `least` or more; if `least` is None, for any difference. Clients of a project that cannot be
    checked do not keep others from it.
    """
    found = [check(job) for job in jobs]
    failed = [client for client in found if client.causes or _fails(client, least)]
    problems = tuple(problem for client in found for problem in client.problems)
    notes: tuple[Problem, ...] = ()
    if view.format == Format.JSON:
        text = as_document({"format": 1, "clients": [*map(_document, found)]})
    elif view.format == Format.GITHUB:
        annotations = *_worst(found, failed), *_changes(found)
        parts: list[Annotation | str] = [*annotations, *_lines(found, failed)]
        text = "".join(f"{line}\n" for line in page_lines(parts))
    else:
        compared = [client.comparison for client in found if client.comparison is not None]
        notes = (*problems, *(note for comparison in compared for note in comparison.notes))
        text = _text(found, failed, view)
    return FindingsPage(text, bool(failed), notes, incomplete=bool(problems))


def _text(found: Sequence[CheckedModule], failed: Sequence[CheckedModule], view: View) -> str:
    pages = [
        as_text.render(comparison.narrow(None), reader=None, colour=view.colour, width=view.width)
        for client in found
        if (comparison := client.comparison) is not None and comparison.changes
    ]
    causes = tuple(cause for client in found for cause in client.causes)
    status = RunStatus.DIFFERS if failed else RunStatus.FINE
    report = RunReport("client", status, tuple(_lines(found, failed)), drift=causes)
    return "".join((*pages, render(report, Format.TEXT, colour=view.colour)))


def _worst(found: Iterable[CheckedModule], failed: Iterable[CheckedModule]) -> Iterator[Annotation]:
    """Yield why each client fails, before all details: GitHub shows few annotations."""
    for client in found:
        yield from map(problem_annotation, client.problems)
    for client in failed:
        for cause in client.causes:
            yield _at(
                client, Annotation("error", cause.kind, f"{client.job.module}: {cause.message}")
            )
        if client.comparison is not None and client.comparison.changes:
            *_, counts = github.parts(client.comparison.narrow(None), None)
            yield _at(client, Annotation("error", "server-changed", str(counts)))


def _changes(found: Iterable[CheckedModule]) -> Iterator[Annotation]:
    for client in found:
        if client.comparison is not None and client.comparison.changes:
            *changes, _ = github.parts(client.comparison.narrow(None), None)
            yield from (_at(client, change) for change in changes if isinstance(change, Annotation))


def _at(client: CheckedModule, annotation: Annotation) -> Annotation:
    """Return an annotation where the project lists the client, or else of its module."""
    job = client.job
    line = line_in_project(job.place, job.pointer)
    return replace(annotation, file=job.place or str(job.module), line=line)


def _lines(found: Iterable[CheckedModule], failed: Container[CheckedModule]) -> Iterator[str]:
    """Yield a line for each client, those that fail last."""
    shown = [(bool(client.problems), client in failed, str(client.job.module)) for client in found]
    for unknown, fails, module in sorted(shown, key=lambda line: line[:2]):
        state = "could not be checked" if unknown else f"is {'not ' * fails}up to date"
        yield f"{module} {state}"


def _fails(checked: CheckedModule, least: Severity | None) -> bool:
    """Return whether a check fails for the changes of a contract."""
    comparison = checked.comparison
    if comparison is None or not differs(comparison):
        return False
    return least is None or comparison.reaches(None, least)


def _document(checked: CheckedModule) -> dict[str, Any]:
    comparison = checked.comparison
    return {
        "module": str(checked.job.module),
        "drift": [cause._asdict() for cause in checked.causes],
        "comparison": as_json(comparison, None) if comparison is not None else None,
        "problems": [problem._asdict() for problem in checked.problems],
    }
