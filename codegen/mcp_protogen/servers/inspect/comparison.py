"""Violations as changes, in the form that pages and baselines of all findings share."""

from collections.abc import Iterable

from mcp_protogen.pipeline.ir import Senders
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange
from mcp_protogen.servers.inspect.profile import Profile, overview_of
from mcp_protogen.servers.inspect.rules import SEVERITIES, Violation

SPECIFICATION = "the specification"
_SERVER: Senders = frozenset({"server"})


def comparison_of(server: str, profile: Profile, violations: Iterable[Violation]) -> Comparison:
    """Return the violations of a server as a comparison of the specification with it."""
    found = tuple(map(_change, violations))
    return Comparison(SPECIFICATION, server, found, overview=overview_of(profile))


def _change(violation: Violation) -> ReportedChange:
    row, fault, rule = SEVERITIES[violation.rule.code], violation.example, violation.rule
    message = f"{violation.level}: {fault.message} ({violation.shown_by}; {violation.page})"
    sides = rule.text, fault.got
    return row.change(fault.item, row.levels(_SERVER), message, sides, fault.pointer)
