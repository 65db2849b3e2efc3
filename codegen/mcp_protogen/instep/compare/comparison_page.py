"""The page of a comparison of two revisions, from their names to the differences."""

from dataclasses import dataclass, replace

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.matrix import matrix_of
from mcp_protogen.instep.compare.moved_parts import moved_part
from mcp_protogen.instep.compare.naming import load_sides
from mcp_protogen.instep.compare.revisions import ComparedRevision, compared_pin
from mcp_protogen.pipeline.inputs.pins import load_pins
from mcp_protogen.pipeline.reports.change import Matrix, Severity
from mcp_protogen.pipeline.reports.findings import FindingOptions
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.severities import severities
from mcp_protogen.pipeline.reports.view import FindingsPage, View


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    """Two sides as the user names them, and the place of earlier publications, if one is named.

    `as_published` compares types without our patches; `fail_on` is the least severity that fails.
    """

    before: str
    after: str
    source: str | None = None
    as_published: bool = False
    fail_on: Severity | None = None


def comparison_page(
    request: ComparisonRequest, findings: FindingOptions, view: View
) -> FindingsPage:
    """Compare two revisions, and return the page of the differences; raise `ProblemError`."""
    findings.check(severities())
    names = request.before, request.after
    before, after = load_sides(names, request.source, as_published=request.as_published)
    result = findings.sort(compare_revisions(before, after))
    matrix = _matrix(before, after) if view.format == PageFormat.HTML else None
    page = result.save() or result.page(view, matrix=matrix)
    return replace(page, failed=not page.saved and result.fails(request.fail_on))


def _matrix(before: ComparedRevision, after: ComparedRevision) -> Matrix:
    """Return all pinned revisions, with the two sides if these are something else."""
    revisions = {revision.title: revision for revision in (before, after)}
    pinned = [
        revisions[name] if name in revisions else compared_pin(name) for name in sorted(load_pins())
    ]
    matrix = matrix_of(
        [*pinned, *(revision for revision in revisions.values() if revision not in pinned)]
    )
    part = moved_part((before, after))
    return part.rows(matrix) if part else matrix
