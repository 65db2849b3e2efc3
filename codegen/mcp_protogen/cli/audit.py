"""`mcp-gen audit`: compare an SDK with a revision."""

import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.base.problems import ProblemError
from mcp_protogen.cli.console import fail, show_problems
from mcp_protogen.cli.known import (
    BaselineFile,
    BaselineOptions,
    BaselineResult,
    Ignore,
    WriteBaseline,
)
from mcp_protogen.cli.page import Output, coloured, columns, deliver
from mcp_protogen.compare.select import narrowed
from mcp_protogen.findings.change import Comparison, Reader, Severity
from mcp_protogen.findings.pages import PageFormat, render

if TYPE_CHECKING:
    from mcp_protogen.audit.engine import Audit

FORMAT = 1


class LeastSeverity(StrEnum):
    """The lowest severity of the findings that are shown."""

    BREAKING = "breaking"
    WARNING = "warning"
    INFO = "info"


class Written(StrEnum):
    """The members that an SDK leaves out when it writes a value."""

    NONE = "none"
    """Members that are None, which is what most SDKs do."""
    UNSET = "unset"
    """Members that nobody set."""
    ALL = "all"
    """Nothing is left out."""


@dataclass(frozen=True, slots=True)
class _Choice:
    """The choice of which findings are shown, and how."""

    reader: Reader | None
    only: LeastSeverity | None
    form: PageFormat
    output: Path | None


def audit(
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="An importable module or package, or a folder of Python sources."
        ),
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to compare with; the one the target claims if left out.",
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python that can import TARGET, if not this one."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Which class stands for which type, if names do not tell."
        ),
    ] = None,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = False,
    ignore: Ignore = None,
    reader: Annotated[
        Reader | None, typer.Option("--for", help="Judge for this reader alone.")
    ] = None,
    only: Annotated[
        LeastSeverity | None, typer.Option(help="Leave out findings below this.")
    ] = None,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Compare types only; try no messages.")
    ] = False,
    written: Annotated[
        Written, typer.Option(help="Which members are left out when values are written back.")
    ] = Written.NONE,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="Time for the import, and each answer."),
    ] = 60.0,
    format: Annotated[PageFormat, typer.Option(help="Form of the report.")] = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Compare an SDK with a revision: its types, methods and codes, and what it does with messages.

    The target is imported in its own process. Exit code 1 means that there are findings; with
    --baseline, that there are new ones.
    """
    from mcp_protogen.audit.engine import AuditOptions, audit
    from mcp_protogen.audit.severities import SEVERITIES
    from mcp_protogen.audit.target import find
    from mcp_protogen.vectors.findings import SEVERITIES as OF_VECTORS

    choice = _Choice(reader, only, format, output)
    options = AuditOptions(mapping, not no_vectors, written, timeout)
    known = BaselineOptions("finding", baseline, write_baseline, tuple(ignore or ()))
    try:
        known.check({*SEVERITIES, *OF_VECTORS})
        found = audit(find(target, python), revision, options)
        result = known.compared(found.comparison)
        if not result.keep(found.summary):
            _report(found, result, choice)
    except ProblemError as error:
        fail(error, "audit", format)


def _report(found: "Audit", result: BaselineResult, choice: _Choice) -> None:
    least = Severity(choice.only) if choice.only else None
    shown = narrowed(result.new, choice.reader, least)
    if choice.form is PageFormat.TEXT:
        show_problems(shown.notes)
    deliver(_rendered(found, shown, result, choice), choice.form, choice.output)
    raise SystemExit(1 if shown.changes else 0)


def _rendered(found: "Audit", shown: Comparison, result: BaselineResult, choice: _Choice) -> str:
    page = render(
        choice.form,
        shown,
        reader=choice.reader,
        colour=coloured(choice.output),
        width=columns(choice.output),
    )
    if choice.form is PageFormat.JSON:
        return _document(found, json.loads(page), result)
    return result.closed(page, choice.form, found.summary)


def _document(found: "Audit", comparison: Any, result: BaselineResult) -> str:
    document = {
        "format": FORMAT,
        "target": found.comparison.after,
        "revision": found.comparison.before,
        "summary": found.summary,
        "matched": [asdict(row) for row in found.matched],
        **result.as_json(),
        "comparison": comparison,
    }
    return json.dumps(document, indent=2) + "\n"
