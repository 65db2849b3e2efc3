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
from mcp_protogen.servers.clients.run import Checked, ClientJob, check, make


def written_report(jobs: Iterable[ClientJob], settings: Settings, *, force: bool) -> RunReport:
    """Write a module for each job, and return a report of them."""
    found = [make(job, settings, force=force) for job in jobs]
    lines = tuple(
        f"{one.module}: {one.counts}, {'written' if one.changed else 'unchanged'}" for one in found
    )
    problems = tuple(problem for one in found for problem in one.problems)
    return RunReport("client", RunStatus.FINE, lines, problems=problems)


def check_page(jobs: Iterable[ClientJob], least: Severity | None, view: View) -> FindingsPage:
    """Compare modules with their locks and servers, and return the page of the differences.

    The command fails if a module differs from its lock, or a contract has a change of severity
    `least` or more; if `least` is None, for any difference.
    """
    found = [check(job) for job in jobs]
    failed = [one for one in found if one.causes or _fails(one, least)]
    if view.form == Format.JSON:
        document = {"format": 1, "clients": [*map(_document, found)]}
        return FindingsPage(as_document(document), bool(failed))
    compared = [one.comparison for one in found if one.comparison is not None]
    pages = [
        render_comparison(
            PageFormat(view.form), comparison.narrowed(None), colour=view.colour, width=view.width
        )
        for comparison in compared
        if comparison.changes
    ]
    is_text = view.form == Format.TEXT
    notes = tuple(note for comparison in compared for note in comparison.notes if is_text)
    report = render(_report(found, failed), Format(view.form), colour=view.colour)
    return FindingsPage("".join((*pages, report)), bool(failed), notes)


def _report(found: Sequence[Checked], failed: Sequence[Checked]) -> RunReport:
    lines = tuple(f"{one.module} is up to date" for one in found if one not in failed)
    lines += tuple(f"{one.module} is not up to date" for one in failed)
    causes = tuple(cause for one in found for cause in one.causes)
    status = RunStatus.DIFFERS if failed else RunStatus.FINE
    return RunReport("client", status, lines, drift=causes)


def _fails(checked: Checked, least: Severity | None) -> bool:
    """Return whether a check fails for the changes of a contract."""
    comparison = checked.comparison
    if comparison is None or not differs(comparison):
        return False
    return least is None or comparison.reaches(None, least)


def _document(checked: Checked) -> dict[str, Any]:
    comparison = checked.comparison
    return {
        "module": str(checked.module),
        "drift": [cause._asdict() for cause in checked.causes],
        "comparison": as_json(comparison, None) if comparison is not None else None,
    }
