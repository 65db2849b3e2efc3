"""The page of an audit: the user's request in, the findings out."""

from dataclasses import asdict, dataclass
from typing import Any

from mcp_protogen.instep.audit.run_audit import Audit, AuditOptions, audit
from mcp_protogen.instep.audit.sdk import find
from mcp_protogen.instep.audit.severities import SEVERITIES
from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES as OF_VECTORS
from mcp_protogen.pipeline.reports.findings import FindingOptions
from mcp_protogen.pipeline.reports.pages import PageFormat
from mcp_protogen.pipeline.reports.view import FindingsPage, View

FORMAT = 1


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """The request for an audit, in the user's words; None where the user gave nothing.

    `python` is an interpreter that can import the SDK.
    """

    sdk: str
    python: str | None = None
    revision: str | None = None


def audit_page(
    request: AuditRequest, options: AuditOptions, findings: FindingOptions, view: View
) -> FindingsPage:
    """Audit an SDK, and return the page of the findings.

    Raise `ProblemError` as `audit` does, and for wrong options or a wrong baseline.
    """
    findings.check({*SEVERITIES, *OF_VECTORS})
    found = audit(find(request.sdk, request.python), request.revision, options)
    result = findings.sort(found.comparison)
    head = _head(found) if view.format == PageFormat.JSON else None
    return result.save(found.summary) or result.page(view, found.summary, head=head)


def _head(found: Audit) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "target": found.comparison.after,
        "revision": found.revision,
        **({"extension": found.extension} if found.extension else {}),
        "summary": found.summary,
        "matched": [asdict(row) for row in found.matched],
    }
