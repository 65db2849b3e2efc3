"""The reports of `mcp-gen client` about written and checked modules."""

from collections.abc import Iterable, Sequence
from typing import Any

from mcp_protogen.base.canonical import as_document
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.change import Severity
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.pages import render as render_comparison
from mcp_protogen.pipeline.reports.pages.as_json import as_json
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
    `least` or more; if `least` is None, for any difference.
    """
    found = [check(job) for job in jobs]
    failed = [client for client in found if client.causes or _fails(client, least)]
    if view.format == Format.JSON:
        document = {"format": 1, "clients": [*map(_document, found)]}
        return FindingsPage(as_document(document), bool(failed))
    compared = [client.comparison for client in found if client.comparison is not None]
    pages = [
        render_comparison(
            PageFormat(view.format), comparison.narrow(None), colour=view.colour, width=view.width
        )
        for comparison in compared
        if comparison.changes
    ]
    is_text = view.format == Format.TEXT
    notes = tuple(note for comparison in compared for note in comparison.notes if is_text)
    report = render(_report(found, failed), Format(view.format), colour=view.colour)
    return FindingsPage("".join((*pages, report)), bool(failed), notes)


def _report(found: Sequence[CheckedModule], failed: Sequence[CheckedModule]) -> RunReport:
    lines = tuple(f"{client.module} is up to date" for client in found if client not in failed)
    lines += tuple(f"{client.module} is not up to date" for client in failed)
    causes = tuple(cause for client in found for cause in client.causes)
    status = RunStatus.DIFFERS if failed else RunStatus.FINE
    return RunReport("client", status, lines, drift=causes)


def _fails(checked: CheckedModule, least: Severity | None) -> bool:
    """Return whether a check fails for the changes of a contract."""
    comparison = checked.comparison
    if comparison is None or not differs(comparison):
        return False
    return least is None or comparison.reaches(None, least)


def _document(checked: CheckedModule) -> dict[str, Any]:
    comparison = checked.comparison
    return {
        "module": str(checked.module),
        "drift": [cause._asdict() for cause in checked.causes],
        "comparison": as_json(comparison, None) if comparison is not None else None,
    }
