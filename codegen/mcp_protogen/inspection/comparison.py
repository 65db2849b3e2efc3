"""Breaches as changes, for the pages and the baselines that all findings share."""

from collections.abc import Iterable

from mcp_protogen.findings.change import Change, Comparison
from mcp_protogen.inspection.profile import Profile, overview_of
from mcp_protogen.inspection.rules import SEVERITIES, Breach
from mcp_protogen.ir import Senders

SPECIFICATION = "the specification"
_SERVER: Senders = frozenset({"server"})


def comparison_of(target: str, profile: Profile, breaches: Iterable[Breach]) -> Comparison:
    """Return the breaches of a server as a comparison of the specification with it."""
    found = tuple(map(_change, breaches))
    return Comparison(SPECIFICATION, target, found, overview=overview_of(profile))


def _change(breach: Breach) -> Change:
    row, fault, rule = SEVERITIES[breach.rule.code], breach.example, breach.rule
    many = len(breach.sessions)
    where = breach.sessions[0] + (f" and {many - 1} more" if many > 1 else "")
    return Change(
        code=rule.code,
        category=row.category,
        item=fault.item,
        message=f"{rule.level}: {fault.message} ({where}; {rule.page(breach.revision)})",
        severity=row.levels(_SERVER),
        pointer=fault.pointer,
        before=rule.text,
        after=fault.got,
        why=row.why,
    )
