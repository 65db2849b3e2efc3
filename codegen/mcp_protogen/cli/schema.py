"""`mcp-gen schema`: pin published schemas, verify snapshots, and draft facts."""

from typing import Annotated

import typer

from mcp_protogen.base.option_constraints import conflict
from mcp_protogen.cli.options import ReportFormat, SchemaFolder
from mcp_protogen.cli.outcome import finish
from mcp_protogen.cli.usage import CliCommand, CliGroup
from mcp_protogen.pipeline.config import Format
from mcp_protogen.pipeline.reports.report import RunReport

schema_app = typer.Typer(
    help="Pin and verify published schemas, and draft their facts.",
    cls=CliGroup,
    rich_markup_mode=None,
)


@schema_app.command(cls=CliCommand)
def add(
    source: Annotated[str, typer.Option("--from", metavar="FILE|URL", help="Published schema.")],
    revision: Annotated[
        str | None, typer.Argument(metavar="REV", help="Name of the revision, such as 2025-11-25.")
    ] = None,
    extension: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name of an extension, such as tasks, in place of REV."),
    ] = None,
    commit: Annotated[
        str | None,
        typer.Option(metavar="SHA", help="Commit of the specification it was published in."),
    ] = None,
    spec_path: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Path in the specification's repository."),
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Day of its publication.")
    ] = None,
    repository: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The repository, if not the official one."),
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="A sentence about the changes of this publication.")
    ] = "",
    folder: SchemaFolder = None,
    format: ReportFormat = Format.TEXT,
) -> None:
    """Pin a revision or an extension to a published schema and store its structural snapshot.

    A new publication of a pinned revision replaces the old one; the pin remembers that.
    """
    from mcp_protogen.instep.schemas import pin
    from mcp_protogen.instep.update.adoption import Origin

    def work() -> RunReport:
        _refuse_both(revision, extension)
        origin = Origin(spec_path, commit, date, note, repository)
        return pin(revision, extension, source, origin, folder)

    finish(work, "schema add", format)


@schema_app.command(cls=CliCommand)
def verify(
    revision: Annotated[
        str | None,
        typer.Argument(metavar="REV", help="The revision to verify; default: everything."),
    ] = None,
    extension: Annotated[
        str | None, typer.Option(metavar="NAME", help="An extension to verify in place of REV.")
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Published schema to compare the snapshot with."),
    ] = None,
    folder: SchemaFolder = None,
    format: ReportFormat = Format.TEXT,
) -> None:
    """Verify that a snapshot is the pinned schema without its prose."""
    from mcp_protogen.instep.update.adoption import verification
    from mcp_protogen.pipeline.sources.upstream import read_source, source_name

    def work() -> RunReport:
        if extension is not None:
            _refuse_both(revision, extension)
        source = (source_name(against), read_source(against)) if against else None
        return verification(revision, source, folder, extension)

    finish(work, "schema verify", format)


def _refuse_both(revision: str | None, extension: str | None) -> None:
    if (revision is None) == (extension is None):
        raise conflict("give either REV or --extension NAME")


@schema_app.command("draft-facts", cls=CliCommand)
def draft_facts(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="A pinned revision, such as 2025-11-25.")
    ],
    only_check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; list open decisions, and fail if there are any."
        ),
    ] = False,
    folder: SchemaFolder = None,
    format: ReportFormat = Format.TEXT,
) -> None:
    """Draft the facts of a revision from its schema, with TODO for open decisions.

    It writes facts, patches, translation rules and descriptions. Existing entries stay.
    """
    from mcp_protogen.instep.schemas import check, write

    work = check if only_check else write
    finish(lambda: work(revision, folder), "schema draft-facts", format)
