"""The differences that the reference list cannot express, and the files that record them.

As a program it records them anew; read the difference before committing it.
"""

from pathlib import Path

from mcp_protogen.instep.compare.compare_revisions import compare_revisions
from mcp_protogen.instep.compare.revisions import compared_pin
from mcp_protogen.pipeline.reports.change import ReportedChange
from support.folders import TESTS
from support.revisions import NEIGHBOURS

# Differences that the list cannot express. Each has its own tests.
UNLISTED = frozenset(
    {
        # It compares only types and requiredness of members.
        "bound-tightened",
        "field-schema-changed",
        # Bases and envelopes are not listed.
        "base-member-added",
        "base-member-changed",
        "base-member-removed",
        "field-deprecated",
        "field-undeprecated",
        "known-value-added",
        "known-value-removed",
        "type-closed",
        "type-deprecated",
        "type-opened",
        # A name that another type has taken is listed under the other name of the first.
        "type-redefined",
        # The list describes rules in prose, as behaviour.
        "era-changed",
        "rule-changed",
        "rule-relaxed",
        "rule-tightened",
        "error-data-changed",
        "error-sender-changed",
        "header-level-changed",
        "header-now-required",
        "meta-key-changed",
        "meta-key-now-required",
        "method-phase-changed",
        "transport-added",
        "transport-removed",
        "error-replaced",
    }
)

FOLDER = TESTS / "compare" / "unlisted"


def unlisted_lines(before: str, after: str) -> str:
    """Return a line for each change, in the order in which they are found."""
    changes = compare_revisions(compared_pin(before), compared_pin(after)).changes
    return "".join(map(_line, filter(_is_unlisted, changes)))


def _is_unlisted(change: ReportedChange) -> bool:
    # For gates the list has only names, and the keys of `_meta` in place of the member.
    by_itself = change.code.startswith("gate-") or ".params._meta" in change.item
    return change.code in UNLISTED or by_itself


def _line(change: ReportedChange) -> str:
    levels = " ".join(f"{reader}={level}" for reader, level in change.severity.items())
    texts = f"{change.before} -> {change.after}"
    return f"{change.code} | {change.item} | {texts} | {change.pointer} | {levels}\n"


def file_of(before: str, after: str) -> Path:
    return FOLDER / f"{before}-{after}.txt"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for pair in NEIGHBOURS:
        file_of(*pair).write_text(unlisted_lines(*pair), encoding="utf-8")
