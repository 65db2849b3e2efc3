"""Comparisons to render: a small, a large and a hostile one."""

from dataclasses import replace
from pathlib import Path

from mcp_protogen.base.problems import Level, Problem
from mcp_protogen.pipeline.reports.change import (
    PROTOCOL,
    Category,
    Comparison,
    Matrix,
    MatrixCell,
    MatrixRow,
    Reader,
    ReportedChange,
    Severity,
)
from mcp_protogen.pipeline.reports.pages import PageFormat, render

BREAKING, WARNING, INFO, NONE = Severity


def severities_of(
    client: Severity, server: Severity, sdk: Severity, gateway: Severity
) -> dict[Reader, Severity]:
    return dict(zip(PROTOCOL, (client, server, sdk, gateway), strict=True))


def everybody(severity: Severity) -> dict[Reader, Severity]:
    """Return the same severity for all readers."""
    return dict.fromkeys(PROTOCOL, severity)


REMOVED = ReportedChange(
    code="method-removed",
    category=Category.METHOD,
    item="ping",
    message="removed",
    severity=everybody(BREAKING),
    pointer="/$defs/PingRequest",
    why="Whoever still sends it is refused.",
)
REQUIRED = ReportedChange(
    code="field-required",
    category=Category.FIELD,
    item="CallToolRequest.params.name",
    message="required",
    severity=severities_of(BREAKING, INFO, BREAKING, WARNING),
    pointer="/$defs/CallToolRequestParams/properties/name",
    before="optional",
    after="required",
    why="A message without it is refused.",
)
RETYPED = ReportedChange(
    code="field-type",
    category=Category.FIELD,
    item="CallToolResult.content",
    message="type changed",
    severity=severities_of(WARNING, INFO, WARNING, WARNING),
    pointer="/$defs/CallToolResult/properties/content",
    before="[EmbeddedResource|ImageContent|TextContent]",
    after="[AudioContent|EmbeddedResource|ImageContent|ResourceLink|TextContent]",
    why="Readers meet kinds of content that they do not know.",
)
NEW = ReportedChange(
    code="type-added",
    category=Category.TYPE,
    item="AudioContent",
    message="added",
    severity=severities_of(INFO, INFO, INFO, NONE),
    pointer="/$defs/AudioContent",
    after="object, 4 members",
)
NOTE = Problem(
    "no-facts",
    "there are no facts about this method",
    "draft.json",
    "/$defs/Ask",
    "add",
    Level.WARNING,
)
# Not in display order.
SMALL = Comparison("2025-03-26", "2025-06-18", (NEW, RETYPED, REMOVED, REQUIRED), (NOTE,))
NOTHING = Comparison("2025-03-26", "2025-03-26", ())


def matrix(
    *rows: MatrixRow, revisions: tuple[str, ...] = ("2024-11-05", "2025-03-26", "2025-06-18")
) -> Matrix:
    """Rows of three revisions."""
    return Matrix(revisions, rows)


def there(detail: str, digest: str = "") -> MatrixCell:
    """A cell of a revision that has it."""
    return MatrixCell(True, detail, digest or detail)


ABSENT = MatrixCell(False)
PING = MatrixRow(Category.METHOD, "ping", (there("both"), there("both"), ABSENT))
CALL = MatrixRow(
    Category.METHOD,
    "tools/call",
    (there("client"), there("client", "other"), there("client", "other")),
)
AUDIO = MatrixRow(Category.TYPE, "AudioContent", (ABSENT, ABSENT, there("object, 4 members")))
TEXT = MatrixRow(Category.TYPE, "TextContent", (there("object, 3 members"),) * 3)
MATRIX = matrix(PING, CALL, AUDIO, TEXT)

HARM = (
    "</script></style><img src=x onerror=\"document.title='owned'\">'\"`x` ``y`` | *bold* [a](b)"
    " &amp;, @everyone #12\r\n::error::injected\n\x1b[31mred\x1b]0;owned\x07 \u202eesrever\u2028"
    "\x00\ud800 %0A {{ 7*7 }}"
)


def hostile() -> tuple[Comparison, Matrix]:
    """Return a comparison whose texts all try to be markup or commands."""
    change = ReportedChange(
        "x-y", Category.FIELD, HARM, HARM, everybody(WARNING), HARM, HARM, HARM, HARM
    )
    change = replace(change, feature=HARM)
    note = Problem("x-y", HARM, HARM, HARM, HARM, Level.WARNING)
    row = MatrixRow(Category.TYPE, HARM, (there(HARM), ABSENT, there(HARM)))
    comparison = Comparison(HARM, HARM, (change,), (note,), went=(HARM,))
    return comparison, matrix(row, revisions=(HARM, "b", "c"))


def large() -> tuple[Comparison, Matrix]:
    """About as much as between two far revisions: 200 changes, and 300 rows of five revisions."""
    changes = (
        replace(
            change,
            item=f"SubscriptionsAcknowledgedNotification{number}.params._meta",
            pointer=f"/$defs/SubscriptionsAcknowledgedNotification{number}/properties/params",
        )
        for number, change in enumerate(SMALL.changes * 50)
    )
    rows = (
        MatrixRow(
            row.category,
            f"notifications/subscriptions/acknowledged{number}",
            (*row.cells, *row.cells[1:]),
        )
        for number, row in enumerate((*(PING, CALL) * 20, *(AUDIO, TEXT) * 130))
    )
    revisions = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
    return Comparison(*revisions[-2:], tuple(changes)), Matrix(revisions, tuple(rows))


def page(
    folder: Path, comparison: Comparison, beside: Matrix | None, reader: Reader | None = None
) -> str:
    """The address of a page that has been written."""
    file = folder / "page.html"
    file.write_text(render(PageFormat.HTML, comparison, beside, reader=reader), encoding="utf-8")
    return file.as_uri()
