"""`mcp-gen schema`: pin published schemas, verify snapshots, draft what people decide."""

from typing import Annotated

import typer

from mcp_protogen.cli.console import finish
from mcp_protogen.cli.options import SchemaFolder
from mcp_protogen.cli.usage import Command, Group
from mcp_protogen.config import Format
from mcp_protogen.findings.report import Report, Status

schema_app = typer.Typer(
    help="Pin published schemas, verify their snapshots, and draft what people decide about them.",
    cls=Group,
    rich_markup_mode=None,
)

_Form = Annotated[Format, typer.Option("--format", help="Form of the report.")]


@schema_app.command(cls=Command)
def add(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="Name of the revision, such as 2025-11-25.")
    ],
    source: Annotated[str, typer.Option("--from", metavar="FILE|URL", help="Published schema.")],
    commit: Annotated[
        str | None,
        typer.Option(metavar="SHA", help="Commit of the specification it was published in."),
    ] = None,
    spec_path: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Where it is in the specification's repository."),
    ] = None,
    date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="Day of its publication.")
    ] = None,
    note: Annotated[
        str, typer.Option(metavar="TEXT", help="What this publication changed, in a sentence.")
    ] = "",
    folder: SchemaFolder = None,
    form: _Form = Format.TEXT,
) -> None:
    """Pin a revision to a published schema and store its structural snapshot.

    If the revision is pinned already, the new publication takes its place; the pin remembers the
    one before.
    """
    from mcp_protogen.update.adoption import Origin, add
    from mcp_protogen.upstream.upstream import read_source, source_name

    def work() -> Report:
        origin = Origin(spec_path=spec_path, spec_commit=commit, date=date, note=note)
        pin = add(revision, read_source(source), origin, source_name(source), folder)
        digest = pin.published.sha256
        row = {"revision": revision, "sha256": digest, "changed": list(pin.published.changed)}
        summary = f"{revision} is pinned to {digest[:12]}"
        return Report("schema add", Status.FINE, summary, revisions=(row,))

    finish(work, "schema add", form)


@schema_app.command(cls=Command)
def verify(
    revision: Annotated[
        str | None,
        typer.Argument(metavar="REV", help="The revision to verify; all of them if left out."),
    ] = None,
    against: Annotated[
        str | None,
        typer.Option(metavar="FILE|URL", help="Published schema to compare the snapshot with."),
    ] = None,
    folder: SchemaFolder = None,
    form: _Form = Format.TEXT,
) -> None:
    """Verify that a snapshot is the pinned one: a published schema without its prose."""
    from mcp_protogen.update.adoption import verification
    from mcp_protogen.upstream.upstream import read_source, source_name

    def work() -> Report:
        given = (source_name(against), read_source(against)) if against else None
        return verification(revision, given, folder)

    finish(work, "schema verify", form)


@schema_app.command("draft-facts", cls=Command)
def draft_facts(
    revision: Annotated[
        str, typer.Argument(metavar="REV", help="A pinned revision, such as 2025-11-25.")
    ],
    only_check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write nothing; name what is left to decide, and fail if there is any."
        ),
    ] = False,
    folder: SchemaFolder = None,
    form: _Form = Format.TEXT,
) -> None:
    """Write what follows from the schema of a revision, and TODO where people have to decide.

    The files are those of facts, patches, translation rules and descriptions. Entries that they
    already have stay as they are.
    """
    from mcp_protogen.app.schemas import check, write

    work = check if only_check else write
    finish(lambda: work(revision, folder), "schema draft-facts", form)
