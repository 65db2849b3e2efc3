"""`mcp-gen audit`: compare an SDK with a revision."""

import json
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mcp_protogen.cli import completion
from mcp_protogen.cli.console import judge, show_problems
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.known import BaselineOptions, BaselineResult
from mcp_protogen.cli.options import BaselineFile, Ignore, LeastSeverity, Output, WriteBaseline
from mcp_protogen.pipeline.reports.change import Comparison, Reader, Severity
from mcp_protogen.pipeline.reports.pages import PageFormat

if TYPE_CHECKING:
    from mcp_protogen.instep.audit.run_audit import Audit

FORMAT = 1


class Written(StrEnum):
    """The members that an SDK leaves out when it writes a value."""

    NONE = "none"
    """Members that are None, which is what most SDKs do."""
    UNSET = "unset"
    """Members that nobody set."""
    ALL = "all"
    """Nothing is left out."""


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
            autocompletion=completion.revision,
        ),
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Extension to compare with, in place of the revision that it extends.",
            autocompletion=completion.one_extension,
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python that can import TARGET, if not this one."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Says which class stands for which type, if names do not."
        ),
    ] = None,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = False,
    ignore: Ignore = None,
    reader: Annotated[
        Reader | None, typer.Option("--for", help="Show the severities for this reader.")
    ] = None,
    only: Annotated[
        LeastSeverity | None, typer.Option(help="Leave out less severe findings.")
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
    from mcp_protogen.instep.audit.run_audit import AuditOptions, audit
    from mcp_protogen.instep.audit.severities import SEVERITIES
    from mcp_protogen.instep.audit.target import find
    from mcp_protogen.instep.vectors.outcome_changes import SEVERITIES as OF_VECTORS

    options = AuditOptions(extension or "", mapping, not no_vectors, written, timeout)
    known = BaselineOptions("finding", baseline, write_baseline, tuple(ignore or ()))

    def work() -> bool:
        known.check({*SEVERITIES, *OF_VECTORS})
        found = audit(find(target, python), revision, options)
        result = known.compared(found.comparison)
        if result.keep(found.summary):
            return False
        shown = result.new.narrowed(reader, Severity(only) if only else None)
        _show(found, result, shown, reader, Destination(format, output))
        return bool(shown.changes)

    judge(work, "audit", format)


def _show(
    found: "Audit",
    result: BaselineResult,
    shown: Comparison,
    reader: Reader | None,
    place: Destination,
) -> None:
    if place.form == PageFormat.TEXT:
        show_problems(shown.notes)
    page = place.page(shown, reader)
    if place.form == PageFormat.JSON:
        page = _document(found, json.loads(page), result)
    else:
        page = result.closed(page, PageFormat(place.form), found.summary)
    place.deliver(page)


def _document(found: "Audit", comparison: Any, result: BaselineResult) -> str:
    document = {
        "format": FORMAT,
        "target": found.comparison.after,
        "revision": found.revision,
        **({"extension": found.extension} if found.extension else {}),
        "summary": found.summary,
        "matched": [asdict(row) for row in found.matched],
        **result.as_json(),
        "comparison": comparison,
    }
    return json.dumps(document, indent=2) + "\n"
