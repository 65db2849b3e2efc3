"""docs/audit-examples.md lists exactly the findings of audits of those packages."""

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest
from mcp_protogen.instep.audit.run_audit import audit
from mcp_protogen.instep.audit.sdk import find
from mcp_protogen.pipeline.reports.change import Severity
from support import tables
from support.audit.auditing import python_with

pytestmark = pytest.mark.usefixtures("vectors_made_once")

PAGE = Path(__file__).resolve().parents[2] / "docs" / "audit-examples.md"
_TABLE = re.compile(
    r"^(?P<summary>\d+ of \d+ types matched[^.]*)\. (?P<counts>[^.]*)\.\n\n"
    r"<!-- audit: (?P<packages>\S+) (?P<sdk>\S+) (?P<revision>\S+) -->\n"
    r"(?P<rows>.*?)^<!-- end -->$",
    re.MULTILINE | re.DOTALL,
)
_CELLS = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True)
class Example:
    """One audit as the page has it."""

    packages: str
    sdk: str
    revision: str
    summary: str
    counts: str
    rows: tuple[tuple[str, str, str, str], ...]


def examples() -> list[Example]:
    found: list[Example] = []
    for match in _TABLE.finditer(PAGE.read_text(encoding="utf-8")):
        parts = match.groupdict()
        rows = parts.pop("rows").splitlines()[2:]
        found.append(Example(**parts, rows=tuple(map(row, rows))))
    return found


def row(line: str) -> tuple[str, str, str, str]:
    _, worst, code, item, confirmed, _ = (cell.strip() for cell in _CELLS.split(line))
    return worst, code, item.strip("`").replace("\\|", "|"), confirmed


def example_label(example: Example) -> str:
    return f"{example.packages}-{example.revision}"


def test_the_page_has_four_audits() -> None:
    assert len(examples()) == 4


def test_every_row_says_how_it_was_confirmed() -> None:
    for example in examples():
        with tables.case(example_label(example)):
            assert all(confirmed.endswith(".") for *_, confirmed in example.rows)
            assert len({row[:3] for row in example.rows}) == len(example.rows)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("example", examples(), ids=example_label)
def test_the_page_has_what_the_audit_finds(example: Example) -> None:
    python = python_with(example.packages)
    found = audit(find(example.sdk, str(python)), example.revision)
    changes = found.comparison.changes
    rows = [(str(change.worst), change.code, change.item) for change in changes]
    assert sorted(rows) == sorted(row[:3] for row in example.rows)
    assert found.summary == example.summary
    worst = Counter(change.worst for change in changes)
    counts = ", ".join(f"{worst[severity]} {severity}" for severity in Severity if worst[severity])
    assert example.counts == f"{len(changes)} findings: {counts}"
