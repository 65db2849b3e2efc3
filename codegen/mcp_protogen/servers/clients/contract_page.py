"""The page of a comparison of contracts: of a lock with another one, or with its server."""

from dataclasses import dataclass, replace

from mcp_protogen.pipeline.reports.change import Severity
from mcp_protogen.pipeline.reports.findings import FindingOptions
from mcp_protogen.pipeline.reports.view import FindingsPage, View
from mcp_protogen.servers.clients.run import against_server, between_locks
from mcp_protogen.servers.clients.severities import severities
from mcp_protogen.servers.connect.named_server import NamedServer


@dataclass(frozen=True, slots=True)
class ContractRequest:
    """The lock of a typed client, and another lock or a server to compare it with.

    `timeout` is for each answer, in seconds; `fail_on` is the least severity that fails.
    """

    lock: str
    other: str | NamedServer
    timeout: float
    fail_on: Severity | None = None


def contract_page(request: ContractRequest, findings: FindingOptions, view: View) -> FindingsPage:
    """Compare two contracts, and return the page of the changes; raise `ProblemError`."""
    findings.check(severities())
    if isinstance(request.other, str):
        found = between_locks(request.lock, request.other)
    else:
        found = against_server(request.lock, request.other, request.timeout)
    result = findings.sort(found)
    page = result.save() or result.page(view)
    return replace(page, failed=not page.saved and result.fails(request.fail_on))
