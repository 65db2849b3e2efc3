"""The findings of an audit, and the severities of each kind, by the table in `severities.md`.

The findings from vectors have a separate table.
"""

from dataclasses import dataclass
from pathlib import Path

from mcp_protogen.pipeline.ir import BOTH, NOBODY, Senders
from mcp_protogen.pipeline.reports.change import ReportedChange
from mcp_protogen.pipeline.reports.severities import severity_table

SEVERITIES = severity_table(Path(__file__).with_suffix(".md"))


@dataclass(frozen=True, slots=True)
class AuditFinding:
    """One difference between the schema and an SDK, without severities.

    `place` is the place of a part of a type: the type and the steps from there, `*` for any item or
    key. `senders` are the roles that send values of its type.
    """

    code: str
    item: str
    message: str
    pointer: str = ""
    before: str = ""
    after: str = ""
    senders: Senders = NOBODY
    place: tuple[str, ...] = ()


def rate(finding: AuditFinding) -> ReportedChange:
    """Return the finding with its severities."""
    row = SEVERITIES[finding.code]
    levels = row.levels(finding.senders or BOTH)
    sides = finding.before, finding.after
    return row.change(finding.item, levels, finding.message, sides, finding.pointer)
