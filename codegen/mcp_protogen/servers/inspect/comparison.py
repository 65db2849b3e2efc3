"""Breaches as changes, in the form that pages and baselines of all findings share."""

from collections.abc import Iterable

from mcp_protogen.pipeline.ir import Senders
from mcp_protogen.pipeline.reports.change import Comparison, ReportedChange
from mcp_protogen.servers.inspect.profile import Profile, overview_of
from mcp_protogen.servers.inspect.rules import SEVERITIES, Violation

SPECIFICATION = "the specification"
_SERVER: Senders = frozenset({"server"})


def comparison_of(target: str, profile: Profile, breaches: Iterable[Violation]) -> Comparison:
    """Return the breaches of a server as a comparison of the specification with it."""
    found = tuple(map(_change, breaches))
    return Comparison(SPECIFICATION, target, found, overview=overview_of(profile))


def _change(breach: Violation) -> ReportedChange:
    row, fault, rule = SEVERITIES[breach.rule.code], breach.example, breach.rule
    return ReportedChange(
        code=rule.code,
        category=row.category,
        item=fault.item,
        message=f"{breach.level}: {fault.message} ({breach.shown_by}; {breach.page})",
        severity=row.levels(_SERVER),
        pointer=fault.pointer,
        before=rule.text,
        after=fault.got,
        why=row.why,
    )
