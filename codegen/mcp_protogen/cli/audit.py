"""`mcp-gen audit`: compare an SDK with a revision."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mcp_protogen.cli import completion
from mcp_protogen.cli.destination import Destination
from mcp_protogen.cli.option_groups import with_groups
from mcp_protogen.cli.options import FindingChoice, FindingsFormat, Output
from mcp_protogen.cli.outcome import show
from mcp_protogen.pipeline.reports.pages import PageFormat


class LeftOutMembers(StrEnum):
    """Members that an SDK leaves out when it writes a value."""

    NONE = "none"
    """Members that are None, as in most SDKs."""
    UNSET = "unset"
    """Members that were not set."""
    ALL = "all"
    """Nothing is left out."""


@with_groups
def audit(
    sdk: Annotated[
        str,
        typer.Argument(
            metavar="SDK", help="An importable module or package, or a folder of Python sources."
        ),
    ],
    revision: Annotated[
        str | None,
        typer.Option(
            metavar="REVISION",
            help="Revision to compare with; the one the SDK claims if left out.",
            autocompletion=completion.revision,
        ),
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Extension to compare with, in place of the revision that it extends.",
            autocompletion=completion.single_extension,
        ),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="INTERPRETER", help="Python that can import SDK, if not this one."),
    ] = None,
    mapping: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Maps types to classes with other names."),
    ] = None,
    *,
    choice: FindingChoice,
    no_vectors: Annotated[
        bool, typer.Option("--no-vectors", help="Compare types only; try no messages.")
    ] = False,
    written: Annotated[
        LeftOutMembers,
        typer.Option(help="Members that the SDK writes: all but None, all but unset, or all."),
    ] = LeftOutMembers.NONE,
    timeout: Annotated[
        float,
        typer.Option(metavar="SECONDS", min=0.1, help="Time for the import, and each answer."),
    ] = 60.0,
    format: FindingsFormat = PageFormat.TEXT,
    output: Output = None,
) -> None:
    """Compare an SDK with a revision.

    The audit compares types, methods, codes, and the handling of messages. It imports the SDK in
    its own process. Exit code 1 means findings; with --baseline, new findings.
    """
    from mcp_protogen.instep.audit.audit_page import AuditRequest, audit_page
    from mcp_protogen.instep.audit.run_audit import AuditOptions

    request = AuditRequest(sdk, python, revision)
    options = AuditOptions(extension or "", mapping, not no_vectors, written, timeout)
    findings = choice.options("finding")
    show(
        lambda view: audit_page(request, options, findings, view),
        "audit",
        Destination(format, output),
    )
